#include "core/os/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>

#include "core/files/descriptor.h"
#include "core/os/raw_syscall.h"
#include "core/os/size_limit.h"

namespace iotune {
namespace {

bool maps_safely(int fd) noexcept {
  struct statfs status {};
  if (raw::call(SYS_fstatfs, fd, raw::word(&status)) != 0) return false;
  constexpr long kTmpfs = 0x01021994, kExt4 = 0xEF53, kXfs = 0x58465342;
  const auto type = static_cast<long>(status.f_type);
  return type == kTmpfs || type == kExt4 || type == kXfs;
}

void* allocate_and_map(int fd, std::uint64_t offset, std::size_t bytes,
                       MapFailure& failure) noexcept {
  if (!maps_safely(fd)) {
    failure = MapFailure::kFileSystem;
  } else if (!within_size_limit(offset + bytes)) {
    failure = MapFailure::kSizeLimit;
  } else if (raw::call(SYS_fallocate, fd, 0, static_cast<long>(offset), raw::word(bytes)) != 0) {
    failure = MapFailure::kNoSpace;
  } else {
    void* const memory =
        raw::mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<std::int64_t>(offset));
    failure = memory == nullptr ? MapFailure::kMap : MapFailure::kNone;
    return memory;
  }
  return nullptr;
}

}  // namespace

const char* describe(MapFailure failure) noexcept {
  switch (failure) {
    case MapFailure::kNone:
      return "nothing failed";
    case MapFailure::kOpen:
      return "the file cannot be created";
    case MapFailure::kFileSystem:
      return "the file system is not tmpfs, ext4 or xfs";
    case MapFailure::kSizeLimit:
      return "the file size limit (ulimit -f) is too small";
    case MapFailure::kNoSpace:
      return "no space can be allocated";
    case MapFailure::kMap:
      return "the file cannot be mapped";
    case MapFailure::kLimit:
      return "as large as it may grow (IOTUNE_BUFFER_LIMIT_MIB)";
  }
  return "";
}

void* create_mapped(const char* path, std::size_t bytes, MapFailure& failure) noexcept {
  int fd = raw::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    failure = MapFailure::kOpen;
    return nullptr;
  }
  fd = moved_high(fd);
  void* const memory = allocate_and_map(fd, 0, bytes, failure);
  raw::close(fd);
  if (memory == nullptr) raw::unlink(path);
  return memory;
}

bool make_private(void* memory, std::size_t bytes) noexcept {
  void* const copy = private_memory(bytes);
  if (copy == nullptr) return false;
  std::memcpy(copy, memory, bytes);
  const long moved = raw::call(SYS_mremap, raw::word(copy), raw::word(bytes), raw::word(bytes),
                               MREMAP_MAYMOVE | MREMAP_FIXED, raw::word(memory));
  if (moved == raw::word(memory)) return true;
  unmap(copy, bytes);
  return false;
}

void* extend_mapped(const char* path, std::uint64_t offset, std::size_t bytes,
                    MapFailure& failure) noexcept {
  // Another thread of the program may close all that is open, as daemons do: once more then.
  constexpr int kAttempts = 4;
  bool closed = true;
  void* memory = nullptr;
  for (int i = 0; i < kAttempts && closed && memory == nullptr; ++i) {
    int fd = raw::open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0) {
      failure = MapFailure::kOpen;
      return nullptr;
    }
    fd = moved_high(fd);
    memory = allocate_and_map(fd, offset, bytes, failure);
    closed = raw::close(fd) == -EBADF;
  }
  return memory;
}

}  // namespace iotune
