// Calls whose work is done in the kernel, or by libc's threads, on the descriptor itself: of a
// logged file that would be the handle. Here they are made of reads and writes.
#include <aio.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/transfers.h"

namespace iotune::logstore {
namespace {

// A call may move less than it was asked for.
constexpr std::size_t kCopiedBytes = 65536;

// One side of a copy: at `*offset`, which moves, or without one at the descriptor's position.
struct Side {
  int fd;
  off_t* offset;

  std::int64_t read(char* to, std::size_t size) const noexcept {
    const Held file(fd);
    if (file && offset == nullptr) return read_at_position(fd, *file, to, size);
    if (file) return read_file(*file, *offset, to, size);
    return result_of(offset == nullptr ? real.read(fd, to, size)
                                       : real.pread(fd, to, size, *offset));
  }
  std::int64_t write(const char* from, std::size_t size) const noexcept {
    const Held file(fd);
    if (file && offset == nullptr) return write_at_position(fd, *file, from, size);
    if (file) return write_file(*file, *offset, from, size);
    return result_of(offset == nullptr ? real.write(fd, from, size)
                                       : real.pwrite(fd, from, size, *offset));
  }
  // Bytes that were read and could not be written are given back.
  void give_back(std::int64_t bytes) const noexcept {
    const Held file(fd);
    if (offset == nullptr && file) {
      seek(fd, *file, -bytes, SEEK_CUR);
    } else if (offset == nullptr) {
      real.lseek(fd, -bytes, SEEK_CUR);
    }
  }
};

std::int64_t copy(const Side& from, const Side& to, std::size_t size) noexcept {
  std::array<char, kCopiedBytes> buffer;
  const std::int64_t got = from.read(buffer.data(), std::min(size, buffer.size()));
  if (got <= 0) return got;
  std::int64_t done = 0;
  while (done < got) {
    const std::int64_t some = to.write(buffer.data() + done, static_cast<std::size_t>(got - done));
    if (some <= 0) {
      from.give_back(got - done);
      if (done == 0) return some;
      break;
    }
    done += some;
    if (to.offset != nullptr) *to.offset += some;
  }
  if (from.offset != nullptr) *from.offset += done;
  return done;
}

bool can_read(const off_t* offset) noexcept {
  // As the kernel tests a pointer: by a call that reads from it.
  return offset == nullptr || reinterpret_cast<std::uintptr_t>(offset) >= 4096;
}

template <typename Call>
ssize_t copied(const Side& from, const Side& to, std::size_t size, Call call) noexcept {
  if (!is_logged(from.fd) && !is_logged(to.fd)) return call();
  const Inside inside;
  if (inside.nested()) return answer(ssize_t{-EDEADLK});
  if (!can_read(from.offset) || !can_read(to.offset)) return answer(ssize_t{-EFAULT});
  const int kept = errno;
  const auto result = static_cast<ssize_t>(copy(from, to, size));
  errno = kept;
  return answer(result);
}

ssize_t own_sendfile(int to, int from, off_t* offset, size_t size) noexcept {
  return copied({from, offset}, {to, nullptr}, size,
                [&] { return real.sendfile(to, from, offset, size); });
}
ssize_t own_copy_file_range(int from, off_t* from_offset, int to, off_t* to_offset, size_t size,
                            unsigned flags) noexcept {
  return copied({from, from_offset}, {to, to_offset}, size, [&] {
    return real.copy_file_range(from, from_offset, to, to_offset, size, flags);
  });
}
ssize_t own_splice(int from, off_t* from_offset, int to, off_t* to_offset, size_t size,
                   unsigned flags) noexcept {
  return copied({from, from_offset}, {to, to_offset}, size,
                [&] { return real.splice(from, from_offset, to, to_offset, size, flags); });
}

struct MapCall {
  void* address;
  std::size_t size;
  int protection, flags;
  off_t offset;
};

// May the map be a copy, as of now? What is private may, and what is only read by who can only
// read: others' writes are seen after an open, as by read(2). Who maps and writes wants to see his
// writes.
bool may_be_copy(const OpenDescription& file, int protection, int flags) noexcept {
  return (flags & MAP_TYPE) == MAP_PRIVATE || (!file.writes() && (protection & PROT_WRITE) == 0);
}

void* map_copy(OpenDescription& file, const MapCall& asked) noexcept {
  const int flags = (asked.flags & ~MAP_TYPE) | MAP_PRIVATE | MAP_ANONYMOUS;
  void* const memory = real.mmap(asked.address, asked.size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return memory;
  std::size_t done = 0;
  while (done < asked.size) {
    const std::int64_t some = read_file(file, asked.offset + static_cast<std::int64_t>(done),
                                        static_cast<char*>(memory) + done, asked.size - done);
    if (some < 0) {  // bytes that are lost are no zeros
      munmap(memory, asked.size);
      errno = static_cast<int>(-some);
      return MAP_FAILED;
    }
    if (some == 0) break;
    done += static_cast<std::size_t>(some);
  }
  mprotect(memory, asked.size, asked.protection);
  return memory;
}
void* own_mmap(void* address, size_t size, int protection, int flags, int fd,
               off_t offset) noexcept {
  if ((flags & MAP_ANONYMOUS) != 0 || !is_logged(fd)) {
    return real.mmap(address, size, protection, flags, fd, offset);
  }
  const Inside inside;
  const Held file(fd);
  if (file && !file->reads()) {
    errno = EACCES;
    return MAP_FAILED;
  }
  if (file && may_be_copy(*file, protection, flags)) {
    return map_copy(*file, {address, size, protection, flags, offset});
  }
  errno = ENODEV;
  return MAP_FAILED;
}

// Asynchronous requests are made at once: they are ended when the call returns.
int fd_of(const aiocb* request) noexcept {
  return request == nullptr ? -1 : request->aio_fildes;
}
// A thread that would have to be told.
bool can_tell(const sigevent* event) noexcept {
  return event == nullptr || event->sigev_notify == SIGEV_NONE ||
         event->sigev_notify == SIGEV_SIGNAL;
}
void tell(const sigevent* event) noexcept {
  if (event == nullptr || event->sigev_notify != SIGEV_SIGNAL || event->sigev_signo == 0) return;
  sigqueue(getpid(), event->sigev_signo, event->sigev_value);
}

int make_request(aiocb& request, int operation) noexcept {
  if (!can_tell(&request.aio_sigevent)) return -ENOSYS;
  const Inside inside;
  if (inside.nested()) return -EAGAIN;
  const Held file(request.aio_fildes);
  if (!file) return -EBADF;
  std::int64_t result = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): aio_buf is declared volatile
  void* const memory = const_cast<void*>(request.aio_buf);
  if (operation == LIO_READ) {
    result = read_file(*file, request.aio_offset, memory, request.aio_nbytes);
  } else if (operation == LIO_WRITE) {
    result = write_file(*file, request.aio_offset, memory, request.aio_nbytes);
  } else {
    result = file->file->sync();
  }
  // What aio_error() and aio_return() give.
  request.__return_value = result < 0 ? -1 : static_cast<ssize_t>(result);
  request.__error_code = result < 0 ? static_cast<int>(-result) : 0;
  tell(&request.aio_sigevent);
  return 0;
}

int own_aio_read(void* memory) noexcept {
  auto* const request = static_cast<aiocb*>(memory);
  if (!is_logged(fd_of(request))) return real.aio_read(memory);
  return answer(make_request(*request, LIO_READ));
}
int own_aio_write(void* memory) noexcept {
  auto* const request = static_cast<aiocb*>(memory);
  if (!is_logged(fd_of(request))) return real.aio_write(memory);
  return answer(make_request(*request, LIO_WRITE));
}
int own_aio_fsync(int operation, void* memory) noexcept {
  auto* const request = static_cast<aiocb*>(memory);
  if (!is_logged(fd_of(request))) return real.aio_fsync(operation, memory);
  return answer(make_request(*request, LIO_NOP));
}

// Those of other files are made as one list, with gaps.
int own_lio_listio(int mode, void* const* list, int count, void* event) noexcept {
  constexpr int kMostRequests = 1024;
  bool any_logged = false;
  for (int i = 0; list != nullptr && i < count; ++i) {
    any_logged = any_logged || is_logged(fd_of(static_cast<aiocb*>(list[i])));
  }
  if (!any_logged) return real.lio_listio(mode, list, count, event);
  if (count > kMostRequests || !can_tell(static_cast<sigevent*>(event))) return answer(-ENOSYS);
  std::array<void*, kMostRequests> others{};
  bool any_other = false;
  bool failed = false;
  for (int i = 0; i < count; ++i) {
    auto* const request = static_cast<aiocb*>(list[i]);
    if (request == nullptr || request->aio_lio_opcode == LIO_NOP) continue;
    if (is_logged(request->aio_fildes)) {
      failed = make_request(*request, request->aio_lio_opcode) != 0 || request->__error_code != 0 ||
               failed;
    } else {
      others[static_cast<std::size_t>(i)] = list[i];
      any_other = true;
    }
  }
  if (any_other) {
    const int result = real.lio_listio(mode, others.data(), count, event);
    if (result != 0) return result;
  } else if (mode == LIO_NOWAIT) {
    tell(static_cast<sigevent*>(event));
  }
  return failed && mode == LIO_WAIT ? answer(-EIO) : 0;
}

}  // namespace

Replacements replaced_kernel_calls() noexcept {
  static const Replacement kList[] = {
      replacement("sendfile", real.sendfile, own_sendfile, When::kFirstFile),
      replacement("sendfile64", real.sendfile, own_sendfile, When::kFirstFile),
      replacement("copy_file_range", real.copy_file_range, own_copy_file_range, When::kFirstFile),
      replacement("splice", real.splice, own_splice, When::kFirstFile),
      replacement("mmap", real.mmap, own_mmap, When::kFirstFile),
      replacement("mmap64", real.mmap, own_mmap, When::kFirstFile),
      replacement("aio_read", real.aio_read, own_aio_read, When::kFirstFile),
      replacement("aio_read64", real.aio_read, own_aio_read, When::kFirstFile),
      replacement("aio_write", real.aio_write, own_aio_write, When::kFirstFile),
      replacement("aio_write64", real.aio_write, own_aio_write, When::kFirstFile),
      replacement("aio_fsync", real.aio_fsync, own_aio_fsync, When::kFirstFile),
      replacement("aio_fsync64", real.aio_fsync, own_aio_fsync, When::kFirstFile),
      replacement("lio_listio", real.lio_listio, own_lio_listio, When::kFirstFile),
      replacement("lio_listio64", real.lio_listio, own_lio_listio, When::kFirstFile),
  };
  return {kList, std::size(kList)};
}

}  // namespace iotune::logstore
