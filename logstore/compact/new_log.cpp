#include "logstore/compact/new_log.h"

#include <algorithm>

#include "logstore/read/piece_buffer.h"

namespace iotune::logstore {
namespace {

// Accesses that are folded into loops at a time.
constexpr std::size_t kBatch = std::size_t{1} << 16U;

class Copy {
 public:
  Copy(const Container& container, const WriteLog& write, analyzer::IndexBuilder& builder,
       std::uint32_t stream, std::int64_t time)
      : write_(write), builder_(builder), stream_(stream), time_(time), buffer_(container) {}

  void take(const LogPiece& piece) {
    for (std::int64_t done = 0; done < piece.length && !wrong_;) {
      if (buffer_.room() == 0) write_buffer();
      if (wrong_) return;
      const std::int64_t some = std::min(buffer_.room(), piece.length - done);
      wrong_ = buffer_.add_data(piece.writer, piece.physical + done, some);
      done += some;
    }
    if (!batch_.empty() && batch_.back().offset + batch_.back().length == piece.offset) {
      batch_.back().length += piece.length;
      return;
    }
    if (batch_.size() == kBatch) add_batch();
    batch_.push_back({piece.offset, piece.length});
  }
  std::optional<Error> finish() {
    if (!wrong_) write_buffer();
    if (!wrong_) add_batch();
    return wrong_;
  }
  bool failed() const { return wrong_.has_value(); }
  std::int64_t written() const { return written_; }

 private:
  void write_buffer() {
    const auto bytes = buffer_.take();
    if (!bytes) {
      wrong_ = bytes.error();
      return;
    }
    if (!write_(*bytes, written_)) wrong_ = file_error("", "cannot be written");
    written_ += std::ssize(*bytes);
  }
  void add_batch() {
    if (auto wrong = builder_.add(stream_, batch_, analyzer::BatchTimes(time_, time_))) {
      wrong_ = wrong;
    }
    batch_.clear();
  }

  const WriteLog& write_;
  analyzer::IndexBuilder& builder_;
  std::uint32_t stream_;
  std::int64_t time_;
  PieceBuffer buffer_;
  std::int64_t written_ = 0;
  std::vector<patterns::Extent> batch_;
  std::optional<Error> wrong_;
};

}  // namespace

Result<std::int64_t> copy_live(const Container& container, const std::vector<bool>& from,
                               const WriteLog& write, analyzer::IndexBuilder& builder,
                               std::uint32_t stream, std::int64_t time) {
  Copy copy(container, write, builder, stream, time);
  const LogMap& map = container.map();
  constexpr std::int64_t kStep = std::int64_t{1} << 30U;
  for (std::int64_t at = 0; at < map.size() && !copy.failed(); at += kStep) {
    map.for_each_piece(at, kStep, [&](const LogPiece& piece) {
      if (piece.kind == LogPiece::Kind::kData && from[piece.writer] && !copy.failed()) {
        copy.take(piece);
      }
    });
  }
  if (auto wrong = copy.finish()) return *wrong;
  return copy.written();
}

}  // namespace iotune::logstore
