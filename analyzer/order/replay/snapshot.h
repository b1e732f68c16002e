// What a process knew at the start of one of its events.
#pragma once

#include <cstdint>

#include "analyzer/order/replay/clock_store.h"

namespace iotune::analyzer {

struct Snapshot {
  ClockStore::Row row = ClockStore::kNone;  // held; kNone: there is none
  std::uint32_t process = 0;
  std::uint64_t over = 0;  // of the process's own segments

  explicit operator bool() const { return row != ClockStore::kNone; }
  void drop(ClockStore& clocks) {
    if (row != ClockStore::kNone) clocks.drop(row);
    row = ClockStore::kNone;
  }
  void raise_in(ClockStore& clocks, ClockStore::Row& other) const {
    clocks.raise(other, row);
    clocks.raise(other, process, over);
  }
};

}  // namespace iotune::analyzer
