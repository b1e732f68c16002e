#include "logstore/compact/new_log.h"

#include <algorithm>

namespace iotune::logstore {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{8} << 20U;
// Accesses that are folded into loops at a time.
constexpr std::size_t kBatch = std::size_t{1} << 16U;

class Copy {
 public:
  Copy(const Container& container, const WriteLog& write, analyzer::IndexBuilder& builder,
       std::uint32_t stream, std::int64_t time)
      : container_(container),
        write_(write),
        builder_(builder),
        stream_(stream),
        time_(time),
        buffer_(kBufferBytes) {}

  void take(const LogPiece& piece) {
    for (std::int64_t done = 0; done < piece.length && !wrong_;) {
      if (used_ == buffer_.size()) write_buffer();
      if (wrong_) return;
      const auto room = static_cast<std::int64_t>(buffer_.size() - used_);
      const std::int64_t some = std::min(room, piece.length - done);
      wrong_ = container_.read_log(
          piece.writer, piece.physical + done,
          std::span(buffer_).subspan(used_, static_cast<std::size_t>(some)));
      used_ += static_cast<std::size_t>(some);
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
    if (!write_(std::span(buffer_).first(used_), written_)) {
      wrong_ = file_error("", "cannot be written");
    }
    written_ += static_cast<std::int64_t>(used_);
    used_ = 0;
  }
  void add_batch() {
    if (auto wrong = builder_.add(stream_, batch_, analyzer::BatchTimes(time_, time_))) {
      wrong_ = wrong;
    }
    batch_.clear();
  }

  const Container& container_;
  const WriteLog& write_;
  analyzer::IndexBuilder& builder_;
  std::uint32_t stream_;
  std::int64_t time_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
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
