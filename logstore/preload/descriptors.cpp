// Calls on descriptors that move no data, and those that end one.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>

#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/real_calls.h"

namespace iotune::logstore {
namespace {

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

// One rank does it for all, who may ask for the size as soon as it has answered them.
int own_ftruncate(int fd, off_t size) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        if (!file.writes() || size < 0) return -EINVAL;
        const int cut = file.file->truncate(size);
        return cut != 0 ? cut : file.file->flush();
      },
      [&] { return real.ftruncate(fd, size); });
}

int own_fstat(int fd, struct stat* to) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        file.file->refresh();
        return file.file->status(*to);
      },
      [&] { return real.fstat(fd, to); });
}
int own_fxstat(int version, int fd, struct stat* to) noexcept {
  if (!is_logged(fd)) return real.fxstat(version, fd, to);
  return own_fstat(fd, to);
}

// As on NFS: who has a lock sees what was written before the last one was given back. While it
// waits a signal's handler that ends the process could flush nothing: all is flushed before.
std::int64_t locked(int fd, OpenDescription& file, int command, void* lock) noexcept {
  const bool waits = command == F_SETLKW || command == F_OFD_SETLKW;
  if (const int flushed = file.file->flush(); flushed != 0) return flushed;
  if (waits) LoggedFile::flush_all();
  const std::int64_t result = result_of(std::int64_t{fcntl(fd, command, lock)});
  if (result >= 0) file.file->refresh();
  return result;
}

bool is_lock(int command) noexcept {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

// All but locks is the kernel's, on the descriptor.
int own_fcntl(int fd, int command, ...) noexcept {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  if (!is_lock(command)) return real.fcntl(fd, command, argument);
  return on_logged(
      fd, [&](OpenDescription& file) { return locked(fd, file, command, argument); },
      [&] { return real.fcntl(fd, command, argument); });
}

// A child of vfork has its parent's memory, but descriptors of its own.
bool is_guest() noexcept {
  return g_host->in_vfork_child();
}

int own_close(int fd) noexcept {
  if (!is_logged(fd) || is_guest()) return real.close(fd);
  const Inside inside;
  if (inside.nested()) return answer(-EDEADLK);
  const int wrong = leave_descriptor(fd);
  const int closed = real.close(fd);
  return wrong != 0 ? answer(wrong) : closed;
}

// Other ways to close one: the number may be another file's from then on.
void leave(unsigned first, unsigned last) noexcept {
  if (is_guest()) return;
  const Inside inside;
  if (!inside.nested()) leave_descriptors(first, last);
}
int own_dup2(int fd, int to) noexcept {
  if (fd != to && is_logged(to) && fcntl(fd, F_GETFD) >= 0) {
    leave(static_cast<unsigned>(to), static_cast<unsigned>(to));
  }
  return real.dup2(fd, to);
}
int own_dup3(int fd, int to, int flags) noexcept {
  const bool is_right = fd != to && (flags & ~O_CLOEXEC) == 0;
  if (is_right && is_logged(to) && fcntl(fd, F_GETFD) >= 0) {
    leave(static_cast<unsigned>(to), static_cast<unsigned>(to));
  }
  return real.dup3(fd, to, flags);
}
int own_close_range(unsigned first, unsigned last, int flags) noexcept {
  if (flags == 0 && first <= last) leave(first, last);
  return real.close_range(first, last, flags);
}
void own_closefrom(int first) noexcept {
  leave(static_cast<unsigned>(std::max(first, 0)), ~0U);
  real.closefrom(first);
}

}  // namespace

Replacements replaced_descriptors() noexcept {
  static const Replacement kList[] = {
      replacement("fsync", real.fsync, own_fsync),
      replacement("fdatasync", real.fdatasync, own_fdatasync),
      replacement("ftruncate", real.ftruncate, own_ftruncate),
      replacement("ftruncate64", real.ftruncate, own_ftruncate),
      replacement("fstat", real.fstat, own_fstat),
      replacement("fstat64", real.fstat, own_fstat),
      replacement("__fxstat", real.fxstat, own_fxstat),
      replacement("__fxstat64", real.fxstat, own_fxstat),
      replacement("fcntl", real.fcntl, own_fcntl),
      replacement("fcntl64", real.fcntl, own_fcntl),
      replacement("close", real.close, own_close),
      replacement("dup2", real.dup2, own_dup2),
      replacement("dup3", real.dup3, own_dup3),
      replacement("close_range", real.close_range, own_close_range),
      replacement("closefrom", real.closefrom, own_closefrom),
  };
  return kList;
}

}  // namespace iotune::logstore
