// Finds the nested loops in a sequence of tuples. Internal to patterns/; the
// algorithm and its source are in README.md.
//
// The tuples stay where the caller has them: a term is a place in the sequence
// and a shape, and every vector of the algorithm (stride, relative base) is the
// difference of two tuples. Memory is therefore independent of dims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/tuple_bytes.h"

namespace iotune::patterns {

// Spreads a change of any bit over all bits (the finalizer of splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30U;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27U;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// What the fingerprint of a tuple multiplies column j with. Odd, so that no
// change of one column alone is lost.
constexpr std::uint64_t column_factor(unsigned j) noexcept {
  return mix(j + 0x9e3779b97f4a7c15U) | 1U;
}

// `count` iterations of a body, the first of which begins at tuple `start`.
// An atom is body 0 with count 1.
struct FoundTerm {
  std::uint64_t print;  // fingerprint of tuple `start`
  std::uint32_t start;
  std::uint32_t count;
  std::uint32_t body;
  std::uint32_t parts;  // terms in the body, 0 for an atom
};

struct BodyPart {
  std::uint32_t body;
  std::uint32_t count;
  std::uint32_t offset;  // tuples from the start of the iteration
};

// The body of a loop: its parts, and the stride of each of its leaves (atoms at
// any depth, in the first iteration of every loop within). Bodies are unique:
// equal indices mean equal parts and strides. How the leaves lie relative to each
// other is not said, so that a loop around may move each by a stride of its own.
struct Body {
  std::uint64_t stride_print;  // of the first leaf
  std::uint32_t start;         // where it was found first; its strides can be read there
  std::uint32_t rows;          // tuples in one iteration
  std::uint32_t first_part;
  std::uint32_t parts;
  std::uint32_t first_leaf;
  std::uint32_t leaves;
  std::uint8_t depth;
  bool one_stride;               // all leaves have the same
  std::uint32_t definition = 0;  // for the writer: its latest number in the bytes, 0 = none yet
};

class LoopFinder {
 public:
  static std::size_t scratch_bytes(std::size_t n, unsigned dims) noexcept;

  // values[n][dims] and scratch must outlive the finder; 0 < n <= kMaxTuples,
  // 0 < dims <= kMaxDims, scratch.size() >= scratch_bytes().
  LoopFinder(const std::uint64_t* values, std::size_t n, unsigned dims,
             std::span<std::byte> scratch, unsigned max_body_terms) noexcept;

  void run() noexcept;

  const FoundTerm* terms() const noexcept { return terms_; }
  std::uint32_t term_count() const noexcept { return size_; }
  Body& body(std::uint32_t index) noexcept { return bodies_[index]; }
  const BodyPart* parts(const Body& body) const noexcept { return parts_ + body.first_part; }
  // body.leaves offsets in tuples from the start of the iteration, ascending.
  const std::uint32_t* leaves(const Body& body) const noexcept { return leaves_ + body.first_leaf; }
  // The columns that are not the same in all tuples.
  const Columns& active() const noexcept { return active_; }
  // Is the step from tuple `from` to tuple `to` the one from ref_from to ref_to?
  bool same_step(std::uint32_t to, std::uint32_t from, std::uint32_t ref_to,
                 std::uint32_t ref_from) const noexcept;

 private:
  void fingerprint() noexcept;
  void push(std::uint32_t body, std::uint32_t count, std::uint32_t start) noexcept;
  void push_cut_iteration(const Body& body, std::uint32_t start, std::uint32_t rows) noexcept;
  void reduce() noexcept;
  bool reduce_once(std::uint32_t most_parts) noexcept;
  bool reduce_by(std::uint32_t parts) noexcept;
  bool is_alert() const noexcept;
  bool next_iteration(std::uint32_t parts) const noexcept;
  bool three_iterations(std::uint32_t parts) noexcept;
  void read_on() noexcept;
  std::uint32_t intern(const FoundTerm* iteration, std::uint32_t parts,
                       std::uint32_t rows) noexcept;
  bool same_body(const Body& body, const FoundTerm* iteration, std::uint32_t parts,
                 std::uint32_t rows) const noexcept;
  bool leaves_go_on(const FoundTerm& term, std::uint32_t rows) const noexcept;
  const std::uint64_t* at(std::uint32_t row) const noexcept {
    return values_ + std::size_t{row} * dims_;
  }

  const std::uint64_t* values_;
  std::uint32_t n_;
  unsigned dims_;
  std::uint32_t max_parts_;
  Columns active_;

  std::uint64_t* prints_ = nullptr;
  FoundTerm* terms_ = nullptr;  // the stack, bottom first
  // Of each term the top 16 bits of its fingerprint and its parts, side by side; and of the terms
  // at even and at odd places these bits by themselves.
  std::uint16_t* top_bits_ = nullptr;
  std::uint16_t* term_parts_ = nullptr;
  std::uint16_t* every_second_[2] = {};
  Body* bodies_ = nullptr;  // [0] is the atom
  BodyPart* parts_ = nullptr;
  std::uint32_t* leaves_ = nullptr;
  std::uint32_t* table_ = nullptr;  // hash of a body -> its index, 0 = free
  std::uint32_t table_mask_ = 0;
  std::uint32_t body_limit_ = 0;
  std::uint32_t part_limit_ = 0;
  std::uint32_t leaf_limit_ = 0;

  std::uint32_t row_ = 0;  // tuples taken so far
  std::uint32_t size_ = 0;
  std::uint32_t fruitless_ = 0;  // tuples since the last loop
  std::uint32_t body_count_ = 1;
  std::uint32_t part_count_ = 0;
  std::uint32_t leaf_count_ = 1;
};

}  // namespace iotune::patterns
