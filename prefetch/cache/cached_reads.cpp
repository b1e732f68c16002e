#include "prefetch/cache/cached_reads.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "core/os/raw_syscall.h"
#include "prefetch/cache/piece_fillers.h"
#include "prefetch/cache/read_cache.h"
#include "prefetch/preload/stream_slots.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;
using recorder::kMakeTheCall;
using recorder::Transfer;

// Of a vector; longer ones are the kernel's.
constexpr std::int64_t kMostParts = 16;
// A read of 64 MiB has so many pieces.
constexpr unsigned kMostFound = 64;

// Where the program wants its bytes.
struct Target {
  iovec parts[kMostParts];
  std::int64_t count = 0, bytes = 0;
};

// By the kernel, from us to us: an address that is none is an error then, and no signal. Fewer than
// asked for, or below 0, where it is.
std::int64_t copy(long call, const iovec* ours, std::int64_t our_count, const iovec* theirs,
                  std::int64_t their_count) noexcept {
  return raw::call(call, raw::getpid(), raw::word(ours), our_count, raw::word(theirs), their_count,
                   0);
}

bool target_of(const Transfer& read, const void* memory, std::int64_t parts,
               Target& target) noexcept {
  if (read.bytes >= 0) {
    target.parts[0] = {const_cast<void*>(memory), static_cast<std::size_t>(read.bytes)};
    target.count = 1;
    target.bytes = read.bytes;
    return read.bytes > 0;
  }
  if (parts < 1 || parts > kMostParts) return false;
  const std::size_t bytes = static_cast<std::size_t>(parts) * sizeof(iovec);
  const iovec ours{target.parts, bytes}, theirs{const_cast<void*>(memory), bytes};
  if (copy(SYS_process_vm_readv, &ours, 1, &theirs, 1) != static_cast<std::int64_t>(bytes)) {
    return false;
  }
  target.count = parts;
  for (std::int64_t i = 0; i < parts; ++i) {
    if (target.parts[i].iov_len > static_cast<std::size_t>(INT_MAX)) return false;
    target.bytes += static_cast<std::int64_t>(target.parts[i].iov_len);
  }
  return target.bytes > 0;
}

// The first `bytes` of the file's from `offset` on, which are there in the cache or under way.
bool fetch(const CachedStream& stream, const Extent& extent, const FileStamp& stamp,
           const Target& target) noexcept {
  FoundPart found[kMostFound];
  unsigned count = 0;
  for (;;) {
    const std::uint32_t seen = filled_count();
    // Nobody may write while the word is what it was: until here the bytes are the file's.
    const std::uint64_t word = file_word(stamp);
    if (may_be_written(word)) {
      drop_stream(stream.slot, false);
      return false;
    }
    const Found is = find_pieces(stream, stamp, word, extent, found, kMostFound, count);
    if (is == Found::kWhole) break;
    if (is == Found::kNothing) return false;
    wait_for_filled(seen);
  }
  iovec ours[kMostFound];
  for (unsigned i = 0; i < count; ++i) {
    ours[i] = {const_cast<std::byte*>(found[i].bytes), found[i].length};
  }
  const std::int64_t copied = copy(SYS_process_vm_writev, ours, count, target.parts, target.count);
  if (copied == -ENOSYS || copied == -EPERM) end_caching("process_vm_writev is not allowed here");
  // What was copied may have been another piece's by then: looked at afterwards.
  return copied == extent.length && used_pieces(found, count);
}

// Another thread or process has moved the position, which it shares, in between: what has been
// reserved since then is read where it is.
std::int64_t read_reserved(const Transfer& read, const Target& target, std::int64_t at,
                           std::int64_t reserved) noexcept {
  const std::int64_t bytes =
      raw::call(SYS_preadv, read.fd, raw::word(target.parts), target.count, at, 0);
  const std::int64_t moved = bytes < 0 ? 0 : bytes;
  if (moved != reserved) raw::lseek(read.fd, moved - reserved, SEEK_CUR);
  return bytes < 0 ? kMakeTheCall : bytes;
}

}  // namespace

std::int64_t serve_read(Transfer& read, const void* memory, std::int64_t parts) noexcept {
  const StreamSlot* const slot = slot_of(read.fd);
  if (slot == nullptr || !is_any_cached(slot->number) ||
      !g_caches.load(std::memory_order_relaxed)) {
    return kMakeTheCall;
  }
  Target target;
  if (!target_of(read, memory, parts, target)) return kMakeTheCall;
  const bool at_position = read.offset == -1;
  const std::int64_t at = at_position ? raw::lseek(read.fd, 0, SEEK_CUR) : read.offset;
  FileStamp stamp;
  // No end of a read lies past the largest offset, wherever the file's own does.
  if (at < 0 || at > INT64_MAX - target.bytes || !stamp_of(read.fd, stamp)) return kMakeTheCall;
  if (!table_stands()) {
    end_caching("its table was removed");
    return kMakeTheCall;
  }
  const auto file_bytes = static_cast<std::int64_t>(stamp.bytes);
  if (at >= file_bytes) return kMakeTheCall;
  const Extent extent{at, std::min(target.bytes, file_bytes - at)};
  if (!fetch({slot->number, read.fd, read.file}, extent, stamp, target)) return kMakeTheCall;
  count_served(slot->number);
  read.served = true;
  read.offset = at;
  if (!at_position) return extent.length;
  // Moves on from wherever it is now, as a read does.
  const std::int64_t before = raw::lseek(read.fd, extent.length, SEEK_CUR) - extent.length;
  if (before == at) return extent.length;
  read.offset = before;
  const std::int64_t bytes =
      before < 0 ? kMakeTheCall : read_reserved(read, target, before, extent.length);
  read.served = bytes != kMakeTheCall;
  if (!read.served) read.offset = -1;
  return bytes;
}

void synchronised(int fd) noexcept {
  const StreamSlot* const slot = slot_of(fd);
  if (slot != nullptr && is_any_cached(slot->number)) drop_stream(slot->number, false);
}

}  // namespace iotune::prefetch
