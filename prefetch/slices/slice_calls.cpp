// The calls of libc that a slice makes on the program's descriptors (include/iotune.h). They stand
// behind the recorder's wrappers from the first slice on; every other thread's pass through.
#include "prefetch/slices/slice_calls.h"

#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "prefetch/slices/slice.h"

namespace iotune::prefetch {
namespace {

// As they are without this library. Names of one meaning (pread and pread64) are one function on
// 64-bit systems.
struct RealCalls {
  ssize_t (*read)(int fd, void* to, std::size_t size);
  ssize_t (*read_chk)(int fd, void* to, std::size_t size, std::size_t room);
  ssize_t (*pread)(int fd, void* to, std::size_t size, off_t offset);
  ssize_t (*pread_chk)(int fd, void* to, std::size_t size, off_t offset, std::size_t room);
  ssize_t (*write)(int fd, const void* from, std::size_t size);
  ssize_t (*pwrite)(int fd, const void* from, std::size_t size, off_t offset);
  off_t (*lseek)(int fd, off_t offset, int whence);
};
constinit RealCalls g_real = {};
std::uint32_t (*g_file_of_descriptor)(int fd) = nullptr;
// The thread that runs a slice; there is one at a time. Not by thread-local memory, of which a
// library that is loaded late may get none.
constinit std::atomic<void*> g_slice_thread{nullptr};

// 0: the call is made as it is.
std::uint32_t file_in_slice(int fd) noexcept {
  const bool is_slice =
      g_slice_thread.load(std::memory_order_relaxed) == __builtin_thread_pointer();
  return is_slice ? g_file_of_descriptor(fd) : 0;
}

std::int64_t answer(std::int64_t result) noexcept {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

ssize_t read_ahead(int fd, std::uint32_t file, std::size_t size) noexcept {
  return answer(make_slice_transfer({fd, file, true, -1, static_cast<std::int64_t>(size)}));
}
ssize_t own_read(int fd, void* to, std::size_t size) noexcept {
  const std::uint32_t file = file_in_slice(fd);
  return file == 0 ? g_real.read(fd, to, size) : read_ahead(fd, file, size);
}
ssize_t own_read_chk(int fd, void* to, std::size_t size, std::size_t room) noexcept {
  const std::uint32_t file = file_in_slice(fd);
  return file == 0 ? g_real.read_chk(fd, to, size, room) : read_ahead(fd, file, size);
}

ssize_t read_ahead_at(int fd, std::uint32_t file, std::size_t size, off_t offset) noexcept {
  if (offset < 0) return answer(-EINVAL);
  return answer(make_slice_transfer({fd, file, true, offset, static_cast<std::int64_t>(size)}));
}
ssize_t own_pread(int fd, void* to, std::size_t size, off_t offset) noexcept {
  const std::uint32_t file = file_in_slice(fd);
  return file == 0 ? g_real.pread(fd, to, size, offset) : read_ahead_at(fd, file, size, offset);
}
ssize_t own_pread_chk(int fd, void* to, std::size_t size, off_t offset, std::size_t room) noexcept {
  const std::uint32_t file = file_in_slice(fd);
  return file == 0 ? g_real.pread_chk(fd, to, size, offset, room)
                   : read_ahead_at(fd, file, size, offset);
}

ssize_t own_write(int fd, const void* from, std::size_t size) noexcept {
  const std::uint32_t file = file_in_slice(fd);
  if (file == 0) return g_real.write(fd, from, size);
  return answer(make_slice_transfer({fd, file, false, -1, static_cast<std::int64_t>(size)}));
}
ssize_t own_pwrite(int fd, const void* from, std::size_t size, off_t offset) noexcept {
  const std::uint32_t file = file_in_slice(fd);
  if (file == 0) return g_real.pwrite(fd, from, size, offset);
  if (offset < 0) return answer(-EINVAL);
  return answer(make_slice_transfer({fd, file, false, offset, static_cast<std::int64_t>(size)}));
}

off_t own_lseek(int fd, off_t offset, int whence) noexcept {
  const std::uint32_t file = file_in_slice(fd);
  return file == 0 ? g_real.lseek(fd, offset, whence)
                   : answer(make_slice_seek(fd, file, offset, whence));
}

struct Replacement {
  const char* name;
  void** real;
  void* own;
};
template <typename Function, typename Own>
Replacement replacement(const char* name, Function*& real, Own* own) noexcept {
  static_assert(sizeof real == sizeof(void*));
  return {name, reinterpret_cast<void**>(&real), reinterpret_cast<void*>(own)};
}

void* replace(const char* name, void* real) noexcept {
  const Replacement list[] = {
      replacement("read", g_real.read, own_read),
      replacement("__read_chk", g_real.read_chk, own_read_chk),
      replacement("pread", g_real.pread, own_pread),
      replacement("pread64", g_real.pread, own_pread),
      replacement("__pread64", g_real.pread, own_pread),
      replacement("__pread_chk", g_real.pread_chk, own_pread_chk),
      replacement("__pread64_chk", g_real.pread_chk, own_pread_chk),
      replacement("write", g_real.write, own_write),
      replacement("pwrite", g_real.pwrite, own_pwrite),
      replacement("pwrite64", g_real.pwrite, own_pwrite),
      replacement("__pwrite64", g_real.pwrite, own_pwrite),
      replacement("lseek", g_real.lseek, own_lseek),
      replacement("lseek64", g_real.lseek, own_lseek),
  };
  for (const Replacement& at : list) {
    if (std::strcmp(at.name, name) != 0) continue;
    *at.real = real;
    return at.own;
  }
  return real;
}

}  // namespace

void watch_slice_calls(const PrefetchHost& host) noexcept {
  g_file_of_descriptor = host.file_of_descriptor;
  host.interpose(replace);
}

void enter_slice() noexcept {
  g_slice_thread.store(__builtin_thread_pointer(), std::memory_order_relaxed);
}

void leave_slice() noexcept {
  g_slice_thread.store(nullptr, std::memory_order_relaxed);
}

}  // namespace iotune::prefetch
