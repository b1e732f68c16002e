#include "logstore/preload/standard_descriptors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "core/os/raw_syscall.h"
#include "logstore/preload/host.h"
#include "logstore/preload/transfers.h"

namespace iotune::logstore {
namespace {

constexpr std::size_t kChunkBytes = 65536;

// Smaller files are copied into memory, larger ones beside the container's logs.
constexpr std::int64_t kCopiedInMemoryBytes = std::int64_t{64} << 20;

int make_copy(OpenDescription& file, std::int64_t size) noexcept {
  if (size <= kCopiedInMemoryBytes) {
    const long fd = raw::call(SYS_memfd_create, raw::word("iotune-stdin"), 0);
    if (fd >= 0) return static_cast<int>(fd);
  }
  return result_of(openat(file.file->directory(), ".", O_TMPFILE | O_RDWR, 0600));
}

}  // namespace

int copy_for_stdin(int fd, OpenDescription& file) noexcept {
  const std::int64_t size = file.file->size();
  if (size < 0) return static_cast<int>(size);
  const int copy = make_copy(file, size);
  if (copy < 0) return copy;
  std::array<char, kChunkBytes> chunk;
  std::int64_t at = 0;
  std::int64_t got = 0;
  while ((got = file.file->read(at, chunk.data(), chunk.size())) > 0) {
    if (pwrite(copy, chunk.data(), static_cast<std::size_t>(got), at) != got) {
      got = -EIO;
      break;
    }
    at += got;
  }
  if (got >= 0) {
    lseek(copy, std::max<std::int64_t>(lseek(fd, 0, SEEK_CUR), 0), SEEK_SET);
    return copy;
  }
  close(copy);
  return static_cast<int>(got);
}

void prepare_for_output(int fd, OpenDescription& file) noexcept {
  if (!file.appends.load(std::memory_order_relaxed)) return;
  file.file->refresh();
  const std::int64_t size = file.file->size();
  if (size < 0) return;
  file.appends.store(false, std::memory_order_relaxed);
  fcntl(fd, F_SETFL, reinterpret_cast<void*>(std::intptr_t{fcntl(fd, F_GETFL) & ~O_APPEND}));
  lseek(fd, size, SEEK_SET);
}

}  // namespace iotune::logstore
