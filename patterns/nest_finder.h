// Finds the nested loops in a stream of extents as they come: what loop_finder.h does with a
// batch, in memory that does not grow with the stream. The algorithm is that of README.md; here
// terms own their values, and the open loop has a cursor (an odometer of its iterations), so that
// an access that goes on with it costs a comparison and the next access is known before it comes.
//
// No function allocates, throws or keeps anything but the memory that it was given. Arithmetic is
// modulo 2^64: every int64 value is legal in every place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {

// `count` iterations of a body, or one access (body 0, count 1). Its leaves, the accesses of the
// first iteration of each loop within, stand in NestFinder::leaves.
struct NestTerm {
  std::uint64_t count;
  std::uint32_t body;
  std::uint32_t first_leaf;
};

// A term of a body: an inner loop (body, count) or an access (0, 1).
struct NestPart {
  std::uint64_t count;
  std::uint32_t body;
  std::uint32_t first_leaf;  // counted from the body's first
};

// Bodies are unique: equal indices mean equal parts and equal strides.
struct NestBody {
  std::uint64_t rows;  // accesses in one iteration
  std::uint64_t stride_print;
  std::uint32_t first_part;
  std::uint32_t parts;
  std::uint32_t first_leaf;  // of its strides
  std::uint32_t leaves;
  std::uint32_t cut_leaves;  // the most that a part of an iteration has as terms
  std::uint32_t depth;
};

// Three equal iterations are the least that is called a loop.
inline constexpr std::uint32_t kLeastNestIterations = 3;
inline constexpr std::uint32_t kRecentNestSlots = 256;

class NestFinder {
 public:
  // Room for so many terms on the stack; 16 or more.
  static std::size_t memory_bytes(std::uint32_t capacity) noexcept;

  // `memory`: memory_bytes(capacity), aligned to 8; it must outlive the finder.
  NestFinder(std::span<std::byte> memory, std::uint32_t capacity) noexcept;

  // Goes on where `smaller` stands.
  void adopt(const NestFinder& smaller) noexcept;

  // The caller has a larger finder to move to: where a loop does not fit into this one, add() and
  // finish() stop short as if there were no room, rather than to go on without it.
  void set_may_grow(bool may_grow) noexcept { may_grow_ = may_grow; }

  // Takes accesses until all are taken or there is no room; returns how many. When it stops short,
  // the caller takes terms_due() terms from the front of terms() and calls drop(), or moves to a
  // larger finder; then it goes on.
  std::size_t add(const Extent* accesses, std::size_t count) noexcept;
  // Takes only what the open loop predicts; returns how many.
  std::size_t go_on(const Extent* accesses, std::size_t count) noexcept;
  // As add(), but stops also where a loop is open.
  std::size_t add_until_open(const Extent* accesses, std::size_t count) noexcept;
  std::uint32_t terms_due() const noexcept;
  void drop(std::uint32_t terms) noexcept;

  // Closes the open loop: terms() are then all that was taken and not dropped. False where there
  // is no room (as above; then again).
  bool finish() noexcept;

  // Is a loop open, and what comes next if it goes on?
  bool open() const noexcept { return left_ != 0; }
  bool expects(const Extent& access) const noexcept { return left_ != 0 && is(access, next_); }
  Extent expected() const noexcept {
    return {static_cast<std::int64_t>(next_.offset), static_cast<std::int64_t>(next_.length)};
  }
  // Accesses that the open loop has predicted.
  std::uint64_t predicted() const noexcept { return predicted_ + (run_ - left_); }

  std::span<const NestTerm> terms() const noexcept { return {terms_, size_}; }
  const Extent* leaves(const NestTerm& term) const noexcept {
    return reinterpret_cast<const Extent*>(leaves_ + term.first_leaf);
  }
  std::uint32_t leaf_count(const NestTerm& term) const noexcept {
    return bodies_[term.body].leaves;
  }
  const NestBody& body(std::uint32_t index) const noexcept { return bodies_[index]; }
  const NestPart* parts(const NestBody& body) const noexcept { return parts_ + body.first_part; }
  // What an iteration adds to each leaf of the body.
  const Extent* strides(const NestBody& body) const noexcept {
    return reinterpret_cast<const Extent*>(strides_ + body.first_leaf);
  }
  // Leaves of all terms().
  std::uint32_t leaves_held() const noexcept { return leaf_count_; }
  // Raised whenever all bodies are forgotten, to make room for others.
  std::uint32_t generation() const noexcept { return generation_; }

 private:
  // An extent, or a difference of two.
  struct Step {
    std::uint64_t offset;
    std::uint64_t length;
    friend bool operator==(const Step&, const Step&) noexcept = default;
  };
  static Step plus(Step a, Step b) noexcept { return {a.offset + b.offset, a.length + b.length}; }
  static Step minus(Step a, Step b) noexcept { return {a.offset - b.offset, a.length - b.length}; }
  static Step times(Step a, std::uint64_t n) noexcept { return {a.offset * n, a.length * n}; }
  static std::uint64_t print(Step a) noexcept {
    return a.offset * 0x9e3779b97f4a7c15U + a.length * 0xd1342543de82ef95U;
  }

  // A loop that the cursor is in: the open one outermost.
  struct Level {
    std::uint32_t body;
    std::uint32_t part;
    std::uint32_t leaf;  // of the loop, counted from the open loop's first
    std::uint64_t iteration;
    std::uint64_t count;
  };

  const Step* leaves_of(const NestTerm& term) const noexcept { return leaves_ + term.first_leaf; }
  static bool is(const Extent& access, Step expected) noexcept {
    return static_cast<std::uint64_t>(access.offset) == expected.offset &&
           static_cast<std::uint64_t>(access.length) == expected.length;
  }
  std::size_t follow(const Extent* accesses, std::size_t count) noexcept;
  bool has_room() const noexcept;
  void push_access(Step access) noexcept;
  void pop(std::uint32_t terms) noexcept;
  bool settle(Step access) noexcept;
  void close() noexcept;
  Step value(std::uint32_t levels, std::uint32_t leaf) const noexcept;
  bool reduce() noexcept;
  bool next_iteration(std::uint32_t parts) noexcept;
  bool three_iterations(std::uint32_t parts) noexcept;
  std::uint32_t far_period() noexcept;
  std::uint64_t hash_of(const NestBody& body) const noexcept;
  bool same_body(const NestBody& a, const NestBody& b) const noexcept;
  void forget_bodies() noexcept;
  std::uint32_t intern(const NestTerm* iteration, std::uint32_t parts) noexcept;
  void reopen() noexcept;
  void descend() noexcept;
  void advance() noexcept;

  std::uint32_t capacity_;
  std::uint32_t leaf_capacity_;
  NestTerm* terms_;
  std::uint64_t* prints_;
  Step* leaves_;
  NestBody* bodies_;  // [0] is the access
  NestPart* parts_;
  Step* strides_;
  std::uint32_t* table_;  // hash of a body -> its index, 0 = free
  std::uint32_t table_mask_;
  std::uint32_t* recent_;  // hash of a term and its step -> where it was met last

  std::uint32_t size_ = 0;
  std::uint32_t leaf_count_ = 0;  // on the stack
  std::uint32_t dropped_ = 0;     // terms
  std::uint32_t body_count_ = 1;
  std::uint32_t part_count_ = 0;
  std::uint32_t stride_count_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t barren_ = 0;  // accesses since a loop was found
  bool bodies_full_ = false;
  bool may_grow_ = false, cramped_ = false;

  // The cursor stands in a run of `run_` accesses, `left_` of which are to come, the first of them
  // next_: the iterations of a loop that has accesses only, `period_` of them, or one access. Zero:
  // no loop is open.
  std::uint64_t left_ = 0;
  std::uint64_t run_ = 0;
  std::uint32_t period_ = 1;
  std::uint32_t leaf_ = 0;        // period_ > 1: the place of next_ in flat_
  std::uint32_t run_stride_ = 0;  // and of the strides
  Step next_{};
  Step step_{};  // period_ == 1
  Step* flat_;   // period_ > 1: what the accesses of an iteration are next
  std::uint64_t predicted_ = 0;
  std::uint32_t depth_ = 0;  // levels in use
  Level levels_[kMaxLoopDepth];
};

}  // namespace iotune::patterns
