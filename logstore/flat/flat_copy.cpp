#include "logstore/flat/flat_copy.h"

#include <algorithm>
#include <vector>

#include "logstore/read/piece_buffer.h"
#include "patterns/extent.h"

namespace iotune::logstore {
namespace {

// A hole without a whole block in it takes room all the same, and cuts a write in two.
constexpr std::int64_t kLeastHole = 4096;

class FlatCopy {
 public:
  FlatCopy(const Container& container, int to, std::int64_t length, Holes holes)
      : container_(container),
        to_(to),
        holes_(holes),
        buffer_(container, std::max<std::int64_t>(length, 0)) {}

  void take(const LogPiece& piece) {
    if (wrong_) return;
    switch (piece.kind) {
      case LogPiece::Kind::kMissing:
        wrong_ = container_.lost_bytes(piece);
        return;
      case LogPiece::Kind::kHole:
        if (holes_ == Holes::kSmallFilled && piece.length < kLeastHole && follows(piece.offset) &&
            piece.length <= buffer_.room()) {
          extents_.back().length += piece.length;
          wrong_ = buffer_.add_zeros(piece.length);
        }
        return;
      case LogPiece::Kind::kData:
        add(piece);
    }
  }
  std::optional<Error> finish() {
    if (!wrong_) write();
    return wrong_;
  }
  std::int64_t written() const { return written_; }

 private:
  bool follows(std::int64_t offset) const {
    return !extents_.empty() && extents_.back().offset + extents_.back().length == offset;
  }

  void add(const LogPiece& piece) {
    for (std::int64_t done = 0; done < piece.length && !wrong_;) {
      if (buffer_.room() == 0) write();
      if (wrong_) return;
      const std::int64_t some = std::min(buffer_.room(), piece.length - done);
      if (!follows(piece.offset + done)) extents_.push_back({piece.offset + done, 0});
      extents_.back().length += some;
      wrong_ = buffer_.add_data(piece.writer, piece.physical + done, some);
      done += some;
    }
  }

  void write() {
    const auto bytes = buffer_.take();
    if (!bytes) wrong_ = bytes.error();
    std::size_t at = 0;
    for (const patterns::Extent& extent : extents_) {
      const auto length = static_cast<std::size_t>(extent.length);
      if (!wrong_ && !write_at(to_, bytes->subspan(at, length), extent.offset)) {
        wrong_ = file_error("", "cannot be written");
      }
      at += length;
    }
    written_ += static_cast<std::int64_t>(at);
    extents_.clear();
  }

  const Container& container_;
  int to_;
  Holes holes_;
  PieceBuffer buffer_;
  std::vector<patterns::Extent> extents_;  // where in the file the buffer's bytes belong
  std::int64_t written_ = 0;
  std::optional<Error> wrong_;
};

}  // namespace

Result<std::int64_t> copy_flat(const Container& container, int to, std::int64_t offset,
                               std::int64_t length, Holes holes) {
  FlatCopy copy(container, to, length, holes);
  container.map().for_each_piece(offset, length, [&](const LogPiece& piece) { copy.take(piece); });
  if (auto wrong = copy.finish()) return *wrong;
  return copy.written();
}

}  // namespace iotune::logstore
