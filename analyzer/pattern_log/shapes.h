// Terms as a pattern log holds them: loops by shape and place. A shape (what is repeated, how often
// within, in which steps) exists once, however many streams have it.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "patterns/extent.h"

namespace iotune::analyzer::pattern_log {

using patterns::Extent;

struct ShapePart {
  std::uint64_t count;
  std::uint32_t shape;  // 0: one access, count 1
  std::uint32_t first_leaf;
  friend bool operator==(const ShapePart&, const ShapePart&) = default;
};

// The body of a loop. A leaf is an access in it, in the first iteration of the loops within; each
// has a stride of its own, which an iteration of this loop adds to it.
struct Shape {
  std::vector<ShapePart> parts;
  std::vector<Extent> strides;  // one a leaf
  std::uint64_t rows = 1;       // accesses in an iteration, modulo 2^64
  std::uint32_t leaves = 1;
  std::uint32_t depth = 0;
  std::uint32_t form = 0;  // equal for shapes that differ in numbers only
};

// The shapes of one section. Index 0 is the access.
class Shapes {
 public:
  Shapes();
  const Shape& operator[](std::uint32_t index) const noexcept { return shapes_[index]; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(shapes_.size()); }
  // Fills in first_leaf, rows, leaves, depth and form.
  std::uint32_t intern(std::vector<ShapePart> parts, std::vector<Extent> strides);
  void clear();

 private:
  std::vector<Shape> shapes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> form_of_;
};

// `count` iterations of a shape, or one access. Its leaves follow those of the term before.
struct ShapeTerm {
  std::uint64_t count;
  std::uint32_t shape;
  friend bool operator==(const ShapeTerm&, const ShapeTerm&) = default;
};

// Most are short and there may be one a rank: who makes many gives them memory that is freed at
// once.
struct TermList {
  std::pmr::vector<ShapeTerm> terms;
  std::pmr::vector<Extent> leaves;
};

// What a number of a list is.
enum class Role : std::uint8_t {
  kRank,
  kName,
  kCount,
  kOffsetStride,
  kLengthStride,
  kOffset,
  kLength,
  kStream
};
inline constexpr unsigned kRoles = 8;

// All numbers of a list in a fixed order: for lists of one form, columns of a table.
void append_numbers(const Shapes& shapes, const TermList& list,
                    std::vector<std::uint64_t>& numbers);
void append_roles(const Shapes& shapes, const TermList& list, std::vector<Role>& roles);
// The list of the form of `like` with these numbers.
TermList list_of_numbers(Shapes& shapes, const TermList& like, const std::uint64_t* numbers);
// The same list with its shapes interned in `to`, in the order in which the list needs them.
// `numbers`: for each of `from` that was met so far the one of `to`, else 0.
TermList renumbered(const Shapes& from, const TermList& list, Shapes& to,
                    std::vector<std::uint32_t>& numbers);
std::uint64_t form_hash(const Shapes& shapes, const TermList& list) noexcept;
bool same_form(const Shapes& shapes, const TermList& a, const TermList& b) noexcept;

// Reads the accesses of a list one by one, in bounded memory.
class ListCursor {
 public:
  ListCursor(const Shapes& shapes, const TermList& list) noexcept
      : shapes_(&shapes), list_(&list) {}
  // False at the end.
  bool next(Extent& access);

 private:
  struct Level {
    std::uint32_t shape, part, leaf;
    std::uint64_t iteration, count;
  };
  void descend();
  const Shapes* shapes_;
  const TermList* list_;
  std::size_t term_ = 0;
  std::size_t first_leaf_ = 0;
  std::vector<Level> levels_;
};

// Modulo 2^64.
constexpr std::uint64_t unsigned_of(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value);
}
constexpr std::int64_t signed_of(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(value);
}
constexpr Extent moved(Extent at, Extent stride, std::uint64_t times) noexcept {
  return {signed_of(unsigned_of(at.offset) + unsigned_of(stride.offset) * times),
          signed_of(unsigned_of(at.length) + unsigned_of(stride.length) * times)};
}

}  // namespace iotune::analyzer::pattern_log
