// What this process has written since the map was merged: extents that lie over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace iotune::logstore {

class Overlay {
 public:
  static constexpr std::int64_t kHole = -1;

  // Bytes that lie at `physical` of the own log; kHole: they are zero. length > 0.
  void put(std::int64_t offset, std::int64_t length, std::int64_t physical);
  void clear() noexcept { extents_.clear(); }
  std::size_t extents() const noexcept { return extents_.size(); }

  struct Piece {
    bool covered;           // else it is as the map has it
    std::int64_t end;       // INT64_MAX: nothing follows
    std::int64_t physical;  // of the byte that was asked for, or kHole
  };
  Piece at(std::int64_t offset) const;

 private:
  struct Extent {
    std::int64_t end;
    std::int64_t physical;
  };
  // Disjoint, by start; neighbours that continue each other are one.
  std::map<std::int64_t, Extent> extents_;
};

// What a writer's entries do to a file's size, whatever that was before.
class SizeChange {
 public:
  void write(std::int64_t end) noexcept {
    if (end > end_) end_ = end;
  }
  void truncate(std::int64_t size) noexcept {
    fixed_ = true;
    end_ = size;
  }
  std::int64_t apply(std::int64_t size) const noexcept {
    return fixed_ || end_ > size ? end_ : size;
  }

 private:
  bool fixed_ = false;
  std::int64_t end_ = 0;
};

}  // namespace iotune::logstore
