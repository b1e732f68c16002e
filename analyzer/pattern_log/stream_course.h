// Ranks are mostly alike but for where they access. A stream that takes the course of one before
// has its terms, at other places: none has to be found, which is most of what a short stream costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/pattern_log/section.h"

namespace iotune::analyzer::pattern_log {

// How a stream went: each access as a displacement from a leaf of its terms.
class StreamCourse {
 public:
  // Longer streams have time to find their terms.
  static constexpr std::uint64_t kMostAccesses = 2048;

  // Of a stream with so many accesses, of which these are the pieces. Nothing where it is long, or
  // has hardly fewer leaves than accesses: terms of others may then be fewer.
  static std::shared_ptr<const StreamCourse> of(const Shapes& shapes, std::span<const Piece> pieces,
                                                std::uint64_t accesses);

 private:
  friend class CourseFollower;

  // So many accesses that move evenly away from a leaf. Leaves are numbered as they are met, each
  // by a run that begins there.
  struct Run {
    std::uint32_t leaf;
    std::uint32_t count;
    Extent from, stride;
  };
  struct List {
    std::uint32_t channel;
    TermList list;
    std::vector<std::uint32_t> leaves;  // their numbers; empty: they stay what they are in `list`
  };
  // Where these hold, other terms would be found: c - b = b - a.
  struct EvenLeaves {
    std::uint32_t a, b, c;
  };
  // b - a = step
  struct JoinedLeaves {
    std::uint32_t a, b;
    Extent step;
  };
  class Maker;

  std::vector<Run> runs_;
  std::vector<List> lists_;
  std::vector<EvenLeaves> not_even_;
  std::vector<JoinedLeaves> not_joined_;
  std::uint64_t accesses_ = 0;
  std::uint32_t leaves_ = 0;
};

// A stream as long as it takes a course.
class CourseFollower {
 public:
  void begin(std::shared_ptr<const StreamCourse> course);
  void stop() noexcept { course_.reset(); }
  bool follows() const noexcept { return course_ != nullptr; }

  // Takes accesses as long as they go on so; returns how many. Less than all: it is another course.
  std::size_t take(std::span<const Extent> accesses);
  // Appends what was taken.
  void append_taken(std::vector<Extent>& accesses) const;
  // Was the whole course taken, and are its terms what would be found here?
  bool complete() const noexcept;
  // If complete: appends the stream's pieces, whose lists lie in `memory`. Returns how many leaves
  // they have.
  std::size_t append_pieces(std::uint32_t stream, std::vector<Piece>& pieces,
                            std::pmr::memory_resource& memory) const;

 private:
  std::shared_ptr<const StreamCourse> course_;
  std::vector<Extent> leaves_;
  std::uint32_t met_ = 0;  // of them, the first ones
  std::size_t run_ = 0;
  std::uint32_t in_run_ = 0;  // accesses taken of it
  std::uint64_t taken_ = 0;
};

}  // namespace iotune::analyzer::pattern_log
