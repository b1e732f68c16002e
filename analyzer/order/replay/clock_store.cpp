#include "analyzer/order/replay/clock_store.h"

#include <algorithm>

namespace iotune::analyzer {

ClockStore::Row ClockStore::take() {
  if (!free_.empty()) {
    const Row row = free_.back();
    free_.pop_back();
    holds_[row] = 1;
    return row;
  }
  const auto row = static_cast<Row>(holds_.size());
  if (row % kBlockRows == 0) {
    blocks_.push_back(std::make_unique<std::uint64_t[]>(kBlockRows * width_));
  }
  holds_.push_back(1);
  return row;
}

ClockStore::Row ClockStore::make() {
  Row row = take();
  std::uint64_t* const values = own(row);
  std::fill(values, values + width_, 0);
  return row;
}

void ClockStore::drop(Row row) {
  if (--holds_[row] == 0) free_.push_back(row);
}

std::uint64_t* ClockStore::own(Row& row) {
  const auto values = [&](Row of) {
    return blocks_[of / kBlockRows].get() + std::size_t{of % kBlockRows} * width_;
  };
  if (holds_[row] > 1) {
    const Row copy = take();
    std::copy(values(row), values(row) + width_, values(copy));
    --holds_[row];
    row = copy;
  }
  return values(row);
}

void ClockStore::raise(Row& row, std::size_t process, std::uint64_t value) {
  if (at(row)[process] < value) own(row)[process] = value;
}

void ClockStore::raise(Row& row, Row other) {
  if (row == other) return;
  const std::uint64_t* const mine = at(row);
  const std::uint64_t* const theirs = at(other);
  bool less = false, more = false;
  for (std::size_t i = 0; i < width_; ++i) {
    less |= mine[i] < theirs[i];
    more |= mine[i] > theirs[i];
  }
  if (!less) return;
  if (!more) {
    hold(other);
    drop(row);
    row = other;
    return;
  }
  std::uint64_t* const values = own(row);
  const std::uint64_t* const others = at(other);  // a new block does not move old ones
  for (std::size_t i = 0; i < width_; ++i) values[i] = std::max(values[i], others[i]);
}

}  // namespace iotune::analyzer
