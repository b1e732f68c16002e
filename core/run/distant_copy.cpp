#include "core/run/distant_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstdint>

#include "core/files/descriptor.h"
#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/size_limit.h"
#include "core/os/ticks.h"
#include "core/run/answering_place.h"
#include "core/run/left_process.h"

namespace iotune {
namespace {

constexpr std::uint64_t kLongestNs = 10'000'000'000;
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
// A copy is memory of the job.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

struct Head {
  std::int64_t bytes;  // negative: errno
  std::uint32_t mode, owner;
};

bool write_whole(int pipe, const char* from, std::size_t bytes) {
  while (bytes > 0) {
    const long done = raw::write(pipe, from, bytes);
    if (done <= 0) return false;
    from += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

// In the process.
void send_file(int pipe, const void* argument) {
  Head head{};
  struct stat status;
  const int fd = raw::open(static_cast<const char*>(argument), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) {
    head.bytes = fd;
  } else if (raw::call(SYS_newfstatat, fd, raw::word(""), raw::word(&status), 0x1000) != 0) {
    head.bytes = -EIO;
  } else {
    head = {status.st_size, status.st_mode, status.st_uid};
  }
  void* const room =
      raw::mmap(kPieceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == nullptr) return;
  char* const piece = static_cast<char*>(room);
  if (!write_whole(pipe, reinterpret_cast<const char*>(&head), sizeof head)) return;
  for (long bytes; fd >= 0 && (bytes = raw::read(fd, piece, kPieceBytes)) > 0;) {
    if (!write_whole(pipe, piece, static_cast<std::size_t>(bytes))) return;
  }
}

// `memory` becomes the file; false where that did not come whole.
bool receive(LeftProcess& process, const Head& head, int memory, std::uint64_t until_ns) noexcept {
  char* const piece = static_cast<char*>(private_memory(kPieceBytes));
  if (piece == nullptr) return false;
  std::int64_t left = head.bytes;
  while (left > 0) {
    const long bytes = process.read(piece, kPieceBytes, until_ns);
    if (bytes <= 0 || bytes > left ||
        raw::write(memory, piece, static_cast<std::size_t>(bytes)) != bytes) {
      break;
    }
    left -= bytes;
  }
  unmap(piece, kPieceBytes);
  return left == 0;
}

// Who may write it decides whether it is trusted, so that the copy says the same.
bool keeps_owner_and_mode(const Head& head, int memory) noexcept {
  constexpr unsigned kRegular = 0100000, kKind = 0170000;
  const bool own = head.owner == static_cast<std::uint32_t>(raw::call(SYS_geteuid));
  return (head.mode & kKind) == kRegular && own &&
         raw::call(SYS_fchmod, memory, head.mode & 0777u) == 0;
}

}  // namespace

DistantCopy distant_copy(const char* file) noexcept {
  static constinit ShortText<32> path;
  static constinit DistantCopy known = {Copy::kNotNeeded, nullptr};
  static constinit bool asked = false;
  if (asked) return known;
  asked = true;
  if (!is_distant(file)) return known;
  const std::uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kLongestNs;
  known.state = Copy::kNone;
  LeftProcess process(send_file, file);
  Head head{};
  if (!process.started() || process.read(&head, sizeof head, until_ns) != sizeof head) return known;
  // What is wrong with it is found out, and said, where it is opened.
  known.state = Copy::kNotNeeded;
  if (head.bytes < 0 || head.bytes > kMostBytes) return known;
  if (!within_size_limit(static_cast<std::uint64_t>(head.bytes))) return known;
  const long made = raw::call(SYS_memfd_create, raw::word("iotune-copy"), MFD_CLOEXEC);
  if (made < 0) return known;
  const int memory = moved_high(static_cast<int>(made));
  if (!keeps_owner_and_mode(head, memory)) {
    raw::close(memory);
    return known;
  }
  if (!receive(process, head, memory, until_ns)) {
    raw::close(memory);
    known.state = Copy::kNone;
    return known;
  }
  process.wait_for_end();
  path << "/proc/self/fd/" << memory;
  known = {Copy::kMade, path.c_str()};
  return known;
}

}  // namespace iotune
