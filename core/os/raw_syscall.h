// System calls of the preload itself, made without libc: libc's names are wrapped by us, and a
// raw call leaves errno alone. Results are the kernel's: negative errno on failure.
#pragma once

#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace iotune::raw {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#endif
}

template <typename T>
long word(T value) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}

inline constexpr long kAtFdcwd = -100;

inline int open(const char* path, int flags, unsigned mode) noexcept {
  return static_cast<int>(call(SYS_openat, kAtFdcwd, word(path), flags, word(mode)));
}
inline int close(int fd) noexcept {
  return static_cast<int>(call(SYS_close, fd));
}
inline long read(int fd, void* to, std::size_t bytes) noexcept {
  return call(SYS_read, fd, word(to), word(bytes));
}
inline long write(int fd, const void* from, std::size_t bytes) noexcept {
  return call(SYS_write, fd, word(from), word(bytes));
}
inline long lseek(int fd, std::int64_t offset, int whence) noexcept {
  return call(SYS_lseek, fd, offset, whence);
}
inline long getpid() noexcept {
  return call(SYS_getpid);
}
inline long getppid() noexcept {
  return call(SYS_getppid);
}
inline long getuid() noexcept {
  return call(SYS_getuid);
}
inline int mkdir(const char* path, unsigned mode) noexcept {
  return static_cast<int>(call(SYS_mkdirat, kAtFdcwd, word(path), word(mode)));
}
inline int unlink(const char* path) noexcept {
  return static_cast<int>(call(SYS_unlinkat, kAtFdcwd, word(path), 0));
}
inline int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(call(SYS_renameat2, kAtFdcwd, word(from), kAtFdcwd, word(to), 0));
}
inline int symlink(const char* content, const char* path) noexcept {
  return static_cast<int>(call(SYS_symlinkat, word(content), kAtFdcwd, word(path)));
}
inline long readlink(const char* path, char* to, std::size_t bytes) noexcept {
  return call(SYS_readlinkat, kAtFdcwd, word(path), word(to), word(bytes));
}
inline long getcwd(char* to, std::size_t bytes) noexcept {
  return call(SYS_getcwd, word(to), word(bytes));  // bytes with the NUL, or negative
}

// nullptr on failure.
inline void* mmap(std::size_t bytes, int protection, int flags, int fd,
                  std::int64_t offset) noexcept {
  const long result = call(SYS_mmap, 0, word(bytes), protection, flags, fd, offset);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel answers with a number
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}

}  // namespace iotune::raw
