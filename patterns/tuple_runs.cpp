#include <cstring>

#include "patterns/tuple_bytes.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {
namespace {

// Reads terms that stand in no loop and have no loop in them (README.md).
class RunReader {
 public:
  RunReader(ByteReader& in, unsigned dims, std::span<std::int64_t> runs) noexcept
      : in_(in), dims_(dims), runs_(runs), room_(runs.size() / width()) {}

  std::size_t read(std::uint64_t n) noexcept {
    std::uint64_t first[kMaxDims] = {};
    if (in_.u8() != kModeTerms || !read_head(in_, dims_, active_, first)) return 0;
    std::memcpy(place_, first, sizeof place_);
    for (std::uint64_t left = n; left > 0;) {
      const std::uint64_t head = in_.varint();
      const std::uint64_t rows = is_loop_head(head) ? loop(head >> 1U) : atoms((head >> 1U) + 1);
      if (in_.failed() || rows == 0 || rows > left) return 0;
      left -= rows;
    }
    return count_;
  }

 private:
  std::size_t width() const noexcept { return 2 * std::size_t{dims_} + 1; }
  std::int64_t* run(std::size_t index) const noexcept { return runs_.data() + index * width(); }

  std::uint64_t atoms(std::uint64_t count) noexcept {
    if (count > room_ - count_) return 0;
    Columns changed;
    const bool moves = count_ > 0 || count > 1;
    if (moves) read_changed(in_, active_, changed);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (count_ > 0) step(place_, changed);
      append(1);
    }
    return count;
  }

  std::uint64_t loop(std::uint64_t reference) noexcept {
    const std::uint64_t count = in_.varint();
    if (count < 2 || count_ == room_) return 0;
    Columns changed;
    if (count_ > 0) {
      read_changed(in_, active_, changed);
      step(place_, changed);
    }
    std::int64_t* const to = append(count);
    if (reference == 0) {
      if (in_.varint() != body_head(1, true) || in_.varint() != atoms_head(1)) return 0;
      std::uint64_t stride[kMaxDims] = {};
      read_changed(in_, active_, changed);
      step(stride, changed);
      std::memcpy(to + 1 + dims_, stride, dims_ * sizeof(std::uint64_t));
      definitions_[defined_++ % kDefinitionWindow] = static_cast<std::uint32_t>(count_ - 1);
    } else {
      if (reference > defined_ || reference > kDefinitionWindow) return 0;
      const auto back = static_cast<std::uint32_t>(reference);
      const std::int64_t* const like = run(definitions_[(defined_ - back) % kDefinitionWindow]);
      std::memcpy(to + 1 + dims_, like + 1 + dims_, dims_ * sizeof(std::uint64_t));
    }
    return count;
  }

  // A run from `place_` on, without strides.
  std::int64_t* append(std::uint64_t count) noexcept {
    std::int64_t* const to = run(count_++);
    std::memset(to, 0, width() * sizeof(std::uint64_t));
    to[0] = static_cast<std::int64_t>(count);
    std::memcpy(to + 1, place_, dims_ * sizeof(std::uint64_t));
    return to;
  }

  void step(std::uint64_t* values, const Columns& changed) noexcept {
    for (unsigned c = 0; c < changed.count; ++c) {
      values[changed.index[c]] += static_cast<std::uint64_t>(in_.svarint());
    }
  }

  ByteReader& in_;
  unsigned dims_;
  std::span<std::int64_t> runs_;
  std::size_t room_, count_ = 0;
  std::uint64_t place_[kMaxDims];  // of the newest term
  Columns active_;
  std::uint32_t definitions_[kDefinitionWindow];  // runs
  std::uint32_t defined_ = 0;
};

}  // namespace

std::size_t decode_tuple_runs(ByteReader& in, std::size_t n, unsigned dims,
                              std::span<std::int64_t> runs) noexcept {
  if (n == 0 || n > kMaxTuples || dims == 0 || dims > kMaxDims) return 0;
  ByteReader read = in;
  const std::size_t count = RunReader(read, dims, runs).read(n);
  if (count > 0) in = read;
  return count;
}

}  // namespace iotune::patterns
