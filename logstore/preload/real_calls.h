// The functions of libc that this library stands in front of, as they are without it. Names of one
// meaning (open and open64) are one function on 64-bit systems.
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdarg>

struct statx;
struct utimbuf;
struct timeval;

namespace iotune::logstore {

struct RealCalls {
  // Of names whose own function is never called here: another one does what it does.
  void (*unused)();
  int (*open)(const char* path, int flags, ...);
  int (*openat)(int at, const char* path, int flags, ...);
  int (*creat)(const char* path, mode_t mode);
  FILE* (*fopen)(const char* path, const char* mode);
  FILE* (*freopen)(const char* path, const char* mode, FILE* stream);
  FILE* (*fdopen)(int fd, const char* mode);
  int (*fseek)(FILE* stream, long offset, int whence);
  int (*fseeko)(FILE* stream, off_t offset, int whence);

  int (*stat)(const char* path, struct stat* to);
  int (*lstat)(const char* path, struct stat* to);
  int (*fstat)(int fd, struct stat* to);
  int (*fstatat)(int at, const char* path, struct stat* to, int flags);
  int (*xstat)(int version, const char* path, struct stat* to);
  int (*lxstat)(int version, const char* path, struct stat* to);
  int (*fxstat)(int version, int fd, struct stat* to);
  int (*fxstatat)(int version, int at, const char* path, struct stat* to, int flags);
  int (*statx)(int at, const char* path, int flags, unsigned mask, struct statx* to);
  int (*access)(const char* path, int mode);
  int (*faccessat)(int at, const char* path, int mode, int flags);

  int (*unlink)(const char* path);
  int (*unlinkat)(int at, const char* path, int flags);
  int (*remove)(const char* path);
  int (*rmdir)(const char* path);
  int (*rename)(const char* from, const char* to);
  int (*renameat)(int from_at, const char* from, int to_at, const char* to);
  int (*renameat2)(int from_at, const char* from, int to_at, const char* to, unsigned flags);
  int (*link)(const char* from, const char* to);
  int (*linkat)(int from_at, const char* from, int to_at, const char* to, int flags);
  int (*truncate)(const char* path, off_t size);
  int (*chmod)(const char* path, mode_t mode);
  int (*fchmodat)(int at, const char* path, mode_t mode, int flags);
  int (*fchmod)(int fd, mode_t mode);
  int (*fchown)(int fd, uid_t user, gid_t group);
  int (*chown)(const char* path, uid_t user, gid_t group);
  int (*lchown)(const char* path, uid_t user, gid_t group);
  int (*fchownat)(int at, const char* path, uid_t user, gid_t group, int flags);
  int (*utime)(const char* path, const utimbuf* times);
  int (*utimes)(const char* path, const timeval* times);
  int (*futimens)(int fd, const timespec* times);
  int (*utimensat)(int at, const char* path, const timespec* times, int flags);
  DIR* (*opendir)(const char* path);
  dirent* (*readdir)(DIR* directory);
  int (*chdir)(const char* path);

  ssize_t (*read)(int fd, void* to, size_t size);
  ssize_t (*read_chk)(int fd, void* to, size_t size, size_t room);
  ssize_t (*write)(int fd, const void* from, size_t size);
  ssize_t (*pread)(int fd, void* to, size_t size, off_t offset);
  ssize_t (*pread_chk)(int fd, void* to, size_t size, off_t offset, size_t room);
  ssize_t (*pwrite)(int fd, const void* from, size_t size, off_t offset);
  ssize_t (*readv)(int fd, const iovec* parts, int count);
  ssize_t (*writev)(int fd, const iovec* parts, int count);
  ssize_t (*preadv)(int fd, const iovec* parts, int count, off_t offset);
  ssize_t (*pwritev)(int fd, const iovec* parts, int count, off_t offset);
  ssize_t (*preadv2)(int fd, const iovec* parts, int count, off_t offset, int flags);
  ssize_t (*pwritev2)(int fd, const iovec* parts, int count, off_t offset, int flags);
  ssize_t (*sendfile)(int to, int from, off_t* offset, size_t size);
  ssize_t (*copy_file_range)(int from, off_t* from_offset, int to, off_t* to_offset, size_t size,
                             unsigned flags);
  ssize_t (*splice)(int from, off_t* from_offset, int to, off_t* to_offset, size_t size,
                    unsigned flags);
  int (*vdprintf)(int fd, const char* format, va_list list);
  int (*vdprintf_chk)(int fd, int flag, const char* format, va_list list);

  off_t (*lseek)(int fd, off_t offset, int whence);
  int (*fsync)(int fd);
  int (*fdatasync)(int fd);
  int (*sync_file_range)(int fd, off_t offset, off_t size, unsigned flags);
  int (*ftruncate)(int fd, off_t size);
  int (*fallocate)(int fd, int mode, off_t offset, off_t size);
  int (*posix_fallocate)(int fd, off_t offset, off_t size);
  int (*flock)(int fd, int operation);
  int (*fcntl)(int fd, int command, ...);
  int (*dup)(int fd);
  int (*dup2)(int fd, int to);
  int (*dup3)(int fd, int to, int flags);
  int (*close)(int fd);
  int (*close_range)(unsigned first, unsigned last, int flags);
  void (*closefrom)(int first);
  void* (*mmap)(void* address, size_t size, int protection, int flags, int fd, off_t offset);
  int (*aio_read)(void* request);
  int (*aio_write)(void* request);
  int (*aio_fsync)(int operation, void* request);
  int (*lio_listio)(int mode, void* const* list, int count, void* event);
};

extern RealCalls real;

// A name of libc, where its own function is kept, and what is called instead. Names of files are
// replaced at once, what is done to a descriptor with the first file that is logged: until then
// reads and writes of the program cost nothing.
enum class When : unsigned char { kAtOnce, kFirstFile };
struct Replacement {
  const char* name;
  void** real;
  void* function;
  When when;
};

// One list a source.
struct Replacements {
  const Replacement* list;
  unsigned count;
};
Replacements replaced_opens() noexcept;
Replacements replaced_names() noexcept;
Replacements replaced_questions() noexcept;
Replacements replaced_transfers() noexcept;
Replacements replaced_descriptors() noexcept;
Replacements replaced_kernel_calls() noexcept;
Replacements replaced_streams() noexcept;

template <typename Function, typename Own>
constexpr Replacement replacement(const char* name, Function*& real_one, Own* own,
                                  When when) noexcept {
  static_assert(sizeof real_one == sizeof(void*));
  return {name, reinterpret_cast<void**>(&real_one), reinterpret_cast<void*>(own), when};
}

// The first file is logged: descriptors are looked at from now on.
void watch_descriptors() noexcept;

}  // namespace iotune::logstore
