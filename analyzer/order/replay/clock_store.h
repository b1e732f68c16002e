// Vector clocks as rows of numbers, one a process, shared by all that know the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace iotune::analyzer {

// A row says of each process how many of its segments are over. What changes a shared row copies
// it first.
class ClockStore {
 public:
  using Row = std::uint32_t;
  static constexpr Row kNone = UINT32_MAX;

  explicit ClockStore(std::size_t width) : width_(width) {}

  // All zero, held once.
  Row make();
  Row hold(Row row) {
    ++holds_[row];
    return row;
  }
  void drop(Row row);

  const std::uint64_t* at(Row row) const {
    return blocks_[row / kBlockRows].get() + std::size_t{row % kBlockRows} * width_;
  }
  // `row` is the caller's hold, which moves to another row where the old one has other holders.
  void raise(Row& row, std::size_t process, std::uint64_t value);
  void raise(Row& row, Row other);

  // Rows that somebody holds.
  std::size_t held() const { return holds_.size() - free_.size(); }

 private:
  static constexpr std::size_t kBlockRows = 256;
  std::uint64_t* own(Row& row);
  Row take();

  std::size_t width_;
  std::vector<std::unique_ptr<std::uint64_t[]>> blocks_;
  std::vector<std::uint32_t> holds_;
  std::vector<Row> free_;
};

}  // namespace iotune::analyzer
