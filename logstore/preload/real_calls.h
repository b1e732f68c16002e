// The functions of libc that this library stands in front of, as they are without it. Names of one
// meaning (open and open64) are one function on 64-bit systems.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/link/replacement.h"

namespace iotune::logstore {

struct RealCalls {
  // Of names whose own function is never called here: another one does what it does.
  void (*unused)();
  int (*open)(const char* path, int flags, ...);
  int (*stat)(const char* path, struct stat* to);
  int (*lstat)(const char* path, struct stat* to);
  int (*xstat)(int version, const char* path, struct stat* to);
  int (*lxstat)(int version, const char* path, struct stat* to);
  int (*access)(const char* path, int mode);
  int (*unlink)(const char* path);
  int (*rename)(const char* from, const char* to);

  int (*fstat)(int fd, struct stat* to);
  int (*fxstat)(int version, int fd, struct stat* to);
  ssize_t (*read)(int fd, void* to, size_t size);
  ssize_t (*read_chk)(int fd, void* to, size_t size, size_t room);
  ssize_t (*write)(int fd, const void* from, size_t size);
  ssize_t (*pread)(int fd, void* to, size_t size, off_t offset);
  ssize_t (*pread_chk)(int fd, void* to, size_t size, off_t offset, size_t room);
  ssize_t (*pwrite)(int fd, const void* from, size_t size, off_t offset);
  ssize_t (*preadv)(int fd, const iovec* parts, int count, off_t offset);
  ssize_t (*pwritev)(int fd, const iovec* parts, int count, off_t offset);
  off_t (*lseek)(int fd, off_t offset, int whence);
  int (*fsync)(int fd);
  int (*fdatasync)(int fd);
  int (*ftruncate)(int fd, off_t size);
  int (*fcntl)(int fd, int command, ...);
  int (*close)(int fd);
  int (*dup2)(int fd, int to);
  int (*dup3)(int fd, int to, int flags);
  int (*close_range)(unsigned first, unsigned last, int flags);
  void (*closefrom)(int first);
  int (*aio_read)(void* request);
  int (*aio_write)(void* request);
  int (*aio_fsync)(int operation, void* request);
};

extern RealCalls real;

// What is called instead, one list a source. Names of files are replaced at once, what is done to a
// descriptor with the first file that is logged: until then reads and writes of the program cost
// nothing.
Replacements replaced_names() noexcept;
Replacements replaced_transfers() noexcept;
Replacements replaced_descriptors() noexcept;
Replacements replaced_requests() noexcept;

// The first file is logged: descriptors are looked at from now on.
void watch_descriptors() noexcept;

}  // namespace iotune::logstore
