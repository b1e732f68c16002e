// Calls on descriptors that move no data.
#include <aio.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <optional>

#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/standard_descriptors.h"
#include "logstore/preload/transfers.h"
#include "logstore/read/container_files.h"

namespace iotune::logstore {
namespace {

// A child of vfork has its parent's memory, but descriptors of its own.
bool is_guest() noexcept {
  return g_host->in_vfork_child();
}

off_t own_lseek(int fd, off_t offset, int whence) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return seek(fd, file, offset, whence); },
      [&] { return real.lseek(fd, offset, whence); });
}

// Others' writes are seen from here on, as after a lock.
std::int64_t synced(OpenDescription& file) noexcept {
  const int wrong = file.file->sync();
  return wrong != 0 ? wrong : file.file->refresh();
}
int own_fsync(int fd) noexcept {
  return on_logged(fd, synced, [&] { return real.fsync(fd); });
}
int own_fdatasync(int fd) noexcept {
  return on_logged(fd, synced, [&] { return real.fdatasync(fd); });
}
int own_sync_file_range(int fd, off_t offset, off_t size, unsigned flags) noexcept {
  return on_logged(
      fd, [](OpenDescription& file) { return std::int64_t{file.file->flush()}; },
      [&] { return real.sync_file_range(fd, offset, size, flags); });
}

int own_ftruncate(int fd, off_t size) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        if (!file.writes() || size < 0) return -EINVAL;
        take_in_past_writes(*file.file);
        const int cut = file.file->truncate(size);
        if (cut == 0) cut_past_writes(*file.file, size);
        return cut;
      },
      [&] { return real.ftruncate(fd, size); });
}

// A file grows by being cut where it would have ended. No room is kept: a log has none to keep.
std::int64_t grow(OpenDescription& file, std::int64_t size) noexcept {
  file.file->refresh();
  const std::int64_t before = file.file->size();
  if (before < 0 || before >= size) return before < 0 ? before : 0;
  return file.file->truncate(size);
}
std::int64_t allocate(OpenDescription& file, int mode, off_t offset, off_t size) noexcept {
  if (!file.writes()) return -EBADF;
  if (offset < 0 || size <= 0) return -EINVAL;
  off_t end = 0;
  if (__builtin_add_overflow(offset, size, &end)) return -EFBIG;
  const bool keeps = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  switch (mode & ~FALLOC_FL_KEEP_SIZE) {
    case 0:
      return keeps ? 0 : grow(file, end);
    case FALLOC_FL_PUNCH_HOLE:
      return keeps ? file.file->punch(offset, size) : -EOPNOTSUPP;
    case FALLOC_FL_ZERO_RANGE: {
      const int wrong = file.file->punch(offset, size);
      return wrong != 0 || keeps ? wrong : grow(file, end);
    }
    default:
      return -EOPNOTSUPP;
  }
}
int own_fallocate(int fd, int mode, off_t offset, off_t size) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return allocate(file, mode, offset, size); },
      [&] { return real.fallocate(fd, mode, offset, size); });
}
// Gives the error, and leaves errno alone.
int own_posix_fallocate(int fd, off_t offset, off_t size) noexcept {
  if (!is_logged(fd)) return real.posix_fallocate(fd, offset, size);
  const int kept = errno;
  const int wrong = own_fallocate(fd, 0, offset, size) == 0 ? 0 : errno;
  errno = kept;
  return wrong;
}

// As on NFS: who has a lock sees what was written before the last one was given back.
// A signal's handler that ends the process while it `waits` could flush nothing any more.
template <typename Lock>
std::int64_t locked(OpenDescription& file, bool waits, Lock lock) noexcept {
  const int flushed = file.file->flush();
  if (flushed != 0) return flushed;
  if (waits) LoggedFile::flush_all();
  const std::int64_t result = result_of(static_cast<std::int64_t>(lock()));
  if (result >= 0) file.file->refresh();
  return result;
}
int own_flock(int fd, int operation) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) {
        const bool waits = (operation & (LOCK_NB | LOCK_UN)) == 0;
        return locked(file, waits, [&] { return flock(fd, operation); });
      },
      [&] { return real.flock(fd, operation); });
}

bool is_lock(int command) noexcept {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}
bool is_copy(int command) noexcept {
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

int own_fcntl(int fd, int command, ...) noexcept {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        if (is_lock(command)) {
          const bool waits = command == F_SETLKW || command == F_OFD_SETLKW;
          return locked(file, waits, [&] { return fcntl(fd, command, argument); });
        }
        const int result = result_of(fcntl(fd, command, argument));
        if (result >= 0 && is_copy(command) && !is_guest()) copy_descriptor(fd, result);
        if (result == 0 && command == F_SETFL) {
          const auto flags = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
          file.appends.store((flags & O_APPEND) != 0, std::memory_order_relaxed);
        }
        return result;
      },
      [&] { return real.fcntl(fd, command, argument); });
}

int own_dup(int fd) noexcept {
  const int to = real.dup(fd);
  if (to >= 0 && is_logged(fd) && !is_guest()) copy_descriptor(fd, to);
  return to;
}
// stdin, stdout and stderr have streams that libc made itself (standard_descriptors.h). `source`:
// what takes the place of `fd`, which is then to be closed; -1: none.
int prepare_standard(int fd, int to) noexcept {
  const Held file(fd);
  if (!file || to > 2) return -1;
  if (to == 0 && !file->writes()) return copy_for_stdin(fd, *file);
  if (to > 0 && file->writes()) prepare_for_output(fd, *file);
  return -1;
}

// What `to` stood for is closed by the call itself.
template <typename Call>
int duplicated(int fd, int to, Call call) noexcept {
  const bool is_own = is_moved_high(to);
  if ((!is_logged(fd) && !is_logged(to) && !is_own) || fd == to || is_guest()) return call(fd);
  if (is_own) return answer(-EBUSY);
  const Inside inside;
  if (inside.nested()) return answer(-EDEADLK);
  if (fcntl(fd, F_GETFD) < 0) return call(fd);
  leave_descriptor(to);
  const int standard = prepare_standard(fd, to);
  const int result = call(standard >= 0 ? standard : fd);
  if (standard >= 0) {
    real.close(standard);
  } else if (result >= 0) {
    copy_descriptor(fd, result);
  }
  return result;
}
int own_dup2(int fd, int to) noexcept {
  return duplicated(fd, to, [=](int from) { return real.dup2(from, to); });
}
int own_dup3(int fd, int to, int flags) noexcept {
  if ((flags & ~O_CLOEXEC) != 0) return real.dup3(fd, to, flags);  // refused: `to` stays open
  return duplicated(fd, to, [=](int from) { return real.dup3(from, to, flags); });
}

int own_close(int fd) noexcept {
  // Programs that close all that they may have have no such descriptor.
  if (is_moved_high(fd) && !is_guest()) return answer(-EBADF);
  if (!is_logged(fd) || is_guest()) return real.close(fd);
  const Inside inside;
  if (inside.nested()) return answer(-EDEADLK);
  const int wrong = leave_descriptor(fd);
  const int closed = real.close(fd);
  return wrong != 0 ? answer(wrong) : closed;
}

// The first descriptor of the log store's own from there on, or `end`.
unsigned next_own(unsigned from, unsigned end) noexcept {
  constexpr unsigned kAllOwn = 1024;
  for (; from < end && from < kAllOwn; ++from) {
    if (is_moved_high(static_cast<int>(from))) return from;
  }
  return end;
}
int own_close_range(unsigned first, unsigned last, int flags) noexcept {
  if ((flags & ~2) != 0 || first > last || is_guest()) {  // CLOSE_RANGE_CLOEXEC: they all have that
    return real.close_range(first, last, flags);
  }
  const Inside inside;
  if (inside.nested()) return answer(-EDEADLK);
  leave_descriptors(first, last);
  for (unsigned own = 0; (own = next_own(first, last)) != last; first = own + 1) {
    if (own > first && real.close_range(first, own - 1, flags) != 0) return -1;
  }
  const bool keeps_last = is_moved_high(static_cast<int>(last));
  if (keeps_last && first == last) return 0;
  return real.close_range(first, keeps_last ? last - 1 : last, flags);
}
void own_closefrom(int first) noexcept {
  if (is_guest()) return real.closefrom(first);
  auto from = static_cast<unsigned>(std::max(first, 0));
  const Inside inside;
  if (inside.nested()) return;
  leave_descriptors(from, ~0U);
  for (unsigned own = 0; (own = next_own(from, ~0U)) != ~0U; from = own + 1) {
    for (; from < own; ++from) real.close(static_cast<int>(from));
  }
  real.closefrom(static_cast<int>(from));
}

}  // namespace

Replacements replaced_descriptors() noexcept {
  static const Replacement kList[] = {
      replacement("lseek", real.lseek, own_lseek, When::kFirstFile),
      replacement("lseek64", real.lseek, own_lseek, When::kFirstFile),
      replacement("fsync", real.fsync, own_fsync, When::kFirstFile),
      replacement("fdatasync", real.fdatasync, own_fdatasync, When::kFirstFile),
      replacement("sync_file_range", real.sync_file_range, own_sync_file_range, When::kFirstFile),
      replacement("ftruncate", real.ftruncate, own_ftruncate, When::kFirstFile),
      replacement("ftruncate64", real.ftruncate, own_ftruncate, When::kFirstFile),
      replacement("fallocate", real.fallocate, own_fallocate, When::kFirstFile),
      replacement("fallocate64", real.fallocate, own_fallocate, When::kFirstFile),
      replacement("posix_fallocate", real.posix_fallocate, own_posix_fallocate, When::kFirstFile),
      replacement("posix_fallocate64", real.posix_fallocate, own_posix_fallocate, When::kFirstFile),
      replacement("flock", real.flock, own_flock, When::kFirstFile),
      replacement("fcntl", real.fcntl, own_fcntl, When::kFirstFile),
      replacement("fcntl64", real.fcntl, own_fcntl, When::kFirstFile),
      replacement("dup", real.dup, own_dup, When::kFirstFile),
      replacement("dup2", real.dup2, own_dup2, When::kFirstFile),
      replacement("dup3", real.dup3, own_dup3, When::kFirstFile),
      replacement("close", real.close, own_close, When::kFirstFile),
      replacement("close_range", real.close_range, own_close_range, When::kFirstFile),
      replacement("closefrom", real.closefrom, own_closefrom, When::kFirstFile),
  };
  return {kList, std::size(kList)};
}

}  // namespace iotune::logstore
