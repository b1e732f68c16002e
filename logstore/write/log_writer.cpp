#include "logstore/write/log_writer.h"

#include <cerrno>

namespace iotune::logstore {
namespace {

constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}
std::size_t finder_bytes(const LogWriterSizes& sizes) noexcept {
  return aligned(patterns::NestFinder::memory_bytes(sizes.terms));
}
constexpr std::size_t line_bytes(const LogWriterSizes& sizes) noexcept {
  return sizes.knots * sizeof(Knot);
}

}  // namespace

std::size_t LogWriter::arena_bytes(const LogWriterSizes& sizes) noexcept {
  return finder_bytes(sizes) + line_bytes(sizes) +
         BlockEncoder::memory_bytes(sizes.terms, kMostHoles, sizes.knots);
}

LogWriter::LogWriter(const LogFile& log, const LogFile& index, const LogClock& clock,
                     std::span<std::byte> arena, const LogWriterSizes& sizes) noexcept
    : log_(log),
      index_(index),
      clock_(clock),
      finder_(arena, sizes.terms),
      line_({reinterpret_cast<Knot*>(arena.data() + finder_bytes(sizes)), sizes.knots}),
      encoder_(arena.subspan(finder_bytes(sizes) + line_bytes(sizes)), sizes.terms, kMostHoles,
               sizes.knots) {}

int LogWriter::begin(std::uint64_t container_id, std::int64_t shift_ns,
                     std::int64_t error_ns) noexcept {
  begin_ns_ = clock_.now_ns(clock_.context);
  std::byte head[kHeadBytes];
  write_index_head({container_id, begin_ns_, shift_ns, error_ns}, head);
  return write_index(head);
}

std::int64_t LogWriter::append(std::int64_t offset, const void* bytes, std::size_t size) noexcept {
  if (offset < 0) return -EINVAL;
  if (size == 0) return 0;
  if (offset >= kLargestFile || log_bytes_ >= kLargestFile) return -EFBIG;
  const std::int64_t room = kLargestFile - (offset > log_bytes_ ? offset : log_bytes_);
  if (size > static_cast<std::uint64_t>(room)) size = static_cast<std::size_t>(room);
  if (const int wrong = make_room(); wrong != 0) return wrong;
  const auto* from = static_cast<const char*>(bytes);
  const std::int64_t start = now();
  std::int64_t written = 0;
  while (written < static_cast<std::int64_t>(size)) {
    const std::int64_t some =
        log_.write_at(log_.context, from + written, size - static_cast<std::size_t>(written),
                      log_bytes_ + written);
    if (some > 0) {
      written += some;
      continue;
    }
    // As the kernel does: what was written is reported, and the error by the next call.
    if (written == 0) return some == 0 ? -EIO : some;
    break;
  }
  log_bytes_ += written;
  pending_ = {offset, written};
  has_pending_ = finder_.add(&pending_, 1) == 0;
  // As late as may be: the wider its interval, the fewer knots a line needs.
  line_.add(start, now());
  // Where no block can be written now, the write stays pending; later ones then fail.
  if (has_pending_) take_pending();
  return written;
}

int LogWriter::punch(std::int64_t offset, std::int64_t length) noexcept {
  return length > 0 ? make_hole(offset, length) : -EINVAL;
}

int LogWriter::make_hole(std::int64_t start, std::int64_t length) noexcept {
  if (start < 0) return -EINVAL;
  if (start > kLargestFile) return -EFBIG;
  if (length > kLargestFile - start) length = kLargestFile - start;
  if (start == kLargestFile) return 0;
  if (const int wrong = take_pending(); wrong != 0) return wrong;
  if (hole_count_ == kMostHoles || !line_.has_room()) {
    if (const int wrong = write_all(0); wrong != 0) return wrong;
  }
  const std::int64_t moment = now();
  line_.add(moment, moment);
  holes_[hole_count_++] = {start, length};
  return 0;
}

// For one more write, whatever it makes necessary.
int LogWriter::make_room() noexcept {
  if (hole_count_ != 0) return write_all(0);
  if (has_pending_) {
    if (const int wrong = take_pending(); wrong != 0) return wrong;
  }
  // The open loop is left alone: knots may be ahead of their entries.
  return line_.has_room() ? 0 : write_block(0, 0);
}

int LogWriter::take_pending() noexcept {
  while (has_pending_) {
    if (finder_.add(&pending_, 1) == 1) {
      has_pending_ = false;
    } else if (const int wrong = write_block(finder_.terms_due(), 0); wrong != 0) {
      return wrong;
    }
  }
  return 0;
}

int LogWriter::write_all(std::uint32_t flags) noexcept {
  if (const int wrong = take_pending(); wrong != 0) return wrong;
  while (!finder_.finish()) {
    if (const int wrong = write_block(finder_.terms_due(), 0); wrong != 0) return wrong;
  }
  const auto terms = static_cast<std::uint32_t>(finder_.terms().size());
  line_.settle();
  if (terms == 0 && hole_count_ == 0 && line_.knots().empty() && flags == 0) return 0;
  return write_block(terms, flags);
}

// Holes go with all of the terms, which are then before them.
int LogWriter::write_block(std::uint32_t terms, std::uint32_t flags) noexcept {
  line_.settle();
  const bool all = terms == finder_.terms().size();
  const std::size_t holes = all ? hole_count_ : 0;
  const TermTotals totals = totals_of(finder_, terms);
  const std::span<const std::byte> block = encoder_.encode(
      finder_, terms, {holes_, holes}, line_.knots(), {flags, position_, physical_, log_bytes_});
  if (block.empty()) return -EIO;
  if (const int wrong = write_index(block); wrong != 0) return wrong;
  position_ += totals.entries + static_cast<std::int64_t>(holes);
  physical_ += totals.bytes;
  if (holes != 0) hole_count_ = 0;
  if (terms != 0) finder_.drop(terms);
  line_.drop_knots();
  return 0;
}

// All of it, or again from the same place: a reader passes over a block that is not whole.
int LogWriter::write_index(std::span<const std::byte> bytes) noexcept {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const std::int64_t some =
        index_.write_at(index_.context, bytes.data() + written, bytes.size() - written,
                        index_bytes_ + static_cast<std::int64_t>(written));
    if (some == -EINTR) continue;
    if (some <= 0) return some == 0 ? -EIO : static_cast<int>(some);
    written += static_cast<std::size_t>(some);
  }
  index_bytes_ += static_cast<std::int64_t>(written);
  return 0;
}

int LogWriter::sync() noexcept {
  if (sync_error_ != 0) return sync_error_;
  if (durable_entries_ == entries()) return 0;
  if (const int wrong = log_.sync(log_.context); wrong != 0) return sync_error_ = wrong;
  if (const int wrong = write_all(kDurable); wrong != 0) return wrong;
  const int wrong = index_.sync(index_.context);
  if (wrong == 0) {
    durable_entries_ = entries();
  } else {
    sync_error_ = wrong;
  }
  return wrong;
}

}  // namespace iotune::logstore
