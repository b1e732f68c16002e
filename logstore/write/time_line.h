// Times of a writer's entries in as few numbers as their regularity allows, and exact where it
// matters: each entry has an interval (its begin excluded, its end included) and is given some
// moment in it. A line that passes through many intervals needs its two ends only.
#pragma once

#include <cstdint>
#include <span>

namespace iotune::logstore {

struct Knot {
  std::int64_t position;  // of the entry
  std::int64_t time;      // ns
};

// FORMAT.md says how times lie between knots. No allocation; the memory for knots is the caller's.
class TimeLine {
 public:
  // Room for three knots at least.
  explicit TimeLine(std::span<Knot> memory) noexcept : knots_(memory) {}

  // The next entry, from `begin` to `end` in ns since any moment. Clocks that went back are taken
  // to have stood still. Only while has_room().
  void add(std::int64_t begin, std::int64_t end) noexcept;
  // An entry may make two knots, and the end of the line another.
  bool has_room() const noexcept { return count_ + 3 <= knots_.size(); }

  // Ends the line at the latest entry, so that knots() tell of all entries; the next one begins a
  // new line there.
  void settle() noexcept;
  std::span<const Knot> knots() const noexcept { return knots_.first(count_); }
  // Forgets the knots that were written. The line goes on from the last of them.
  void drop_knots() noexcept { count_ = 0; }

  std::int64_t entries() const noexcept { return entries_; }

 private:
  // A slope in ns an entry: passed / entries.
  struct Slope {
    std::int64_t passed;
    std::int64_t entries;
  };
  static bool less(const Slope& a, const Slope& b) noexcept;
  bool narrow(std::int64_t from, std::int64_t to) noexcept;
  void end_line(std::int64_t position) noexcept;

  std::span<Knot> knots_;
  std::size_t count_ = 0;
  std::int64_t entries_ = 0;
  std::int64_t clock_ = 0;  // the end of the latest entry
  Knot anchor_{};           // where the line begins
  Slope least_{};           // of the lines that pass through all intervals behind the anchor
  Slope most_{};
};

}  // namespace iotune::logstore
