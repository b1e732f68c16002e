// Numbers in as few bits as their range needs, each still readable at once: what an index holds
// per stream (names, times, permutations) must not cost eight bytes a number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace iotune::analyzer {

// value[i] = base + slope * i + k[i], k in `width` bits; modulo 2^64.
class PackedArray {
 public:
  PackedArray() = default;
  explicit PackedArray(std::span<const std::int64_t> values) : size_(values.size()) {
    if (values.empty()) return;
    const auto first = static_cast<std::uint64_t>(values.front());
    std::uint64_t slope = 0;
    if (values.size() > 1) slope = static_cast<std::uint64_t>(values[1]) - first;
    measure(values, 0);
    const unsigned flat_width = width_;
    const std::uint64_t flat_base = base_;
    measure(values, slope);
    if (width_ >= flat_width) {
      width_ = flat_width;
      base_ = flat_base;
      slope_ = 0;
    }
    store(values);
  }

  std::int64_t operator[](std::size_t i) const noexcept {
    std::uint64_t k = 0;
    if (width_ != 0) {
      const std::size_t bit = i * width_;
      const std::size_t word = bit / 64;
      const unsigned shift = bit % 64;
      k = words_[word] >> shift;
      if (shift + width_ > 64) k |= words_[word + 1] << (64 - shift);
      if (width_ < 64) k &= (std::uint64_t{1} << width_) - 1;
    }
    return static_cast<std::int64_t>(base_ + slope_ * i + k);
  }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // Beside the object itself.
  std::size_t memory_bytes() const noexcept { return words_.capacity() * sizeof(std::uint64_t); }

  std::vector<std::int64_t> unpacked() const {
    std::vector<std::int64_t> values(size_);
    for (std::size_t i = 0; i < size_; ++i) values[i] = (*this)[i];
    return values;
  }

 private:
  // Ranges are taken as of signed numbers: what wraps only takes more bits.
  void measure(std::span<const std::int64_t> values, std::uint64_t slope) {
    slope_ = slope;
    std::int64_t least = INT64_MAX;
    std::int64_t most = INT64_MIN;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto rest =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(values[i]) - slope * i);
      least = rest < least ? rest : least;
      most = rest > most ? rest : most;
    }
    base_ = static_cast<std::uint64_t>(least);
    width_ = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(most) - base_));
  }

  void store(std::span<const std::int64_t> values) {
    if (width_ == 0) return;
    words_.assign((size_ * width_ + 63) / 64, 0);
    for (std::size_t i = 0; i < size_; ++i) {
      const std::uint64_t k = static_cast<std::uint64_t>(values[i]) - base_ - slope_ * i;
      const std::size_t bit = i * width_;
      const unsigned shift = bit % 64;
      words_[bit / 64] |= k << shift;
      if (shift + width_ > 64) words_[bit / 64 + 1] |= k >> (64 - shift);
    }
  }

  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t slope_ = 0;
  unsigned width_ = 0;
};

}  // namespace iotune::analyzer
