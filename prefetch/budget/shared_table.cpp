#include "prefetch/budget/shared_table.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/size_limit.h"

namespace iotune::prefetch {
namespace {

constexpr long kTmpfs = 0x01021994, kExt4 = 0xEF53, kXfs = 0x58465342;

bool is_fit(long file_system, TableStorage storage) noexcept {
  return file_system == kTmpfs ||
         (storage == TableStorage::kLocal && (file_system == kExt4 || file_system == kXfs));
}

// Who has the table mapped shares a lock on it (flock). It belongs to the open file, which a
// mapping holds after its descriptor is closed: it ends with the last process that has the mapping,
// however that ends, or with an exec. Nobody waits for a process that was stopped in between.
bool share(int fd) noexcept {
  constexpr int kAttempts = 200;
  constexpr timespec kMoment = {0, 1'000'000};
  long locked = -EAGAIN;
  for (int i = 0; i < kAttempts && locked == -EAGAIN; ++i) {
    if (i > 0) raw::call(SYS_nanosleep, raw::word(&kMoment), 0);
    locked = raw::call(SYS_flock, fd, LOCK_SH | LOCK_NB);
  }
  return locked == 0;
}

// `alone`: nobody has it mapped, and nobody maps it before share().
bool lock(int fd, bool& alone) noexcept {
  alone = raw::call(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0;
  return alone || share(fd);
}

// A store into a hole of a full file system would be a SIGBUS: all of it is allocated first.
const char* prepare(int fd, std::size_t bytes, TableStorage storage,
                    bool (*is_spent)(const void*) noexcept, SharedTable& table) noexcept {
  struct statx status {};
  struct statfs system {};
  constexpr long kEmptyPathAsKnown = 0x1000 | 0x4000;  // AT_EMPTY_PATH, AT_STATX_DONT_SYNC
  if (raw::call(SYS_statx, fd, raw::word(""), kEmptyPathAsKnown, STATX_BASIC_STATS,
                raw::word(&status)) != 0) {
    return "this kernel has no statx";
  }
  if (!S_ISREG(status.stx_mode) || status.stx_uid != raw::getuid() ||
      (status.stx_mode & 077) != 0) {
    return "its table is not this user's own";
  }
  if (raw::call(SYS_fstatfs, fd, raw::word(&system)) != 0 ||
      !is_fit(static_cast<long>(system.f_type), storage)) {
    return "its table would not be in memory (tmpfs)";
  }
  if (!within_size_limit(bytes)) {  // a file that grows past it is a SIGXFSZ
    return "the file size limit (ulimit -f) is too small for its table";
  }
  if (raw::call(SYS_fallocate, fd, 0, 0, static_cast<long>(bytes)) != 0)
    return "there is no room for its table";
  bool alone = false;
  if (!lock(fd, alone)) return "its table cannot be locked";
  table.device = device_number(status.stx_dev_major, status.stx_dev_minor);
  table.inode = status.stx_ino;
  table.memory = raw::mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (table.memory == nullptr) return "its table cannot be mapped";
  if (!alone) return nullptr;
  if (is_spent(table.memory)) std::memset(table.memory, 0, bytes);
  if (share(fd)) return nullptr;
  unmap(table.memory, bytes);
  table.memory = nullptr;
  return "its table cannot be locked";
}

}  // namespace

SharedTable map_shared_table(const char* path, std::size_t bytes, TableStorage storage,
                             bool (*is_spent)(const void*) noexcept) noexcept {
  SharedTable table;
  const int fd = raw::open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    table.fault = "its table cannot be opened";
    return table;
  }
  table.fault = prepare(fd, bytes, storage, is_spent, table);
  raw::close(fd);
  return table;
}

}  // namespace iotune::prefetch
