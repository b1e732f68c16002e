#include "patterns/loop_finder.h"

#include <bit>
#include <cstring>

#include "patterns/iteration_lengths.h"

namespace iotune::patterns {
namespace {

// Three equal iterations are the least that is called a loop: two of one atom always
// match.
constexpr std::uint32_t kLeastIterations = 3;

// Terms in the bodies that are looked for at any time.
constexpr std::uint32_t kQuietParts = 2;

struct Capacities {
  std::size_t bodies, parts, leaves, table;
};

// Every body takes at least two terms off the stack and at most n are ever
// pushed, so n/2 bodies would always do; a sequence that needs more than half of
// those compresses badly whatever is done, and its later tuples stay atoms. A
// body with l leaves replaces three times as many: n/2 leaves do.
Capacities capacities(std::size_t n) noexcept {
  const std::size_t bodies = n / 4 + 16;
  return {bodies, n / 2 + 16, n / 2 + 16, std::bit_ceil(bodies + bodies / 2)};
}

// Has the first tuple of a term made the same step twice, from the term `parts`
// and twice `parts` below it?
bool goes_on(const FoundTerm* term, std::uint32_t parts) noexcept {
  const FoundTerm* below = term - parts;
  return term->print - below->print == below->print - (below - parts)->print;
}

// So many entries below the bottom of the stack IterationLengths looks at.
constexpr std::size_t below_bottom(std::size_t n) noexcept {
  return (n < kMaxBodyTerms ? n : kMaxBodyTerms) + IterationLengths::kAtOnce;
}
// The same of an array of every second one, and what is above the bottom there.
constexpr std::size_t seconds(std::size_t n) noexcept {
  return n / 2 + 1 + below_bottom(n);
}

template <class T>
T* carve(std::byte*& at, std::size_t count) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  at += (0U - address) % alignof(T);
  T* array = reinterpret_cast<T*>(at);
  at += count * sizeof(T);
  return array;
}

}  // namespace

std::size_t LoopFinder::scratch_bytes(std::size_t n, unsigned dims) noexcept {
  if (n == 0 || n > kMaxTuples || dims == 0 || dims > kMaxDims) return 0;
  const Capacities room = capacities(n);
  return n * (sizeof(std::uint64_t) + sizeof(FoundTerm)) + room.bodies * sizeof(Body) +
         room.parts * sizeof(BodyPart) + (room.leaves + room.table) * sizeof(std::uint32_t) +
         2 * (n + below_bottom(n) + seconds(n)) * sizeof(std::uint16_t) + 10 * alignof(Body);
}

LoopFinder::LoopFinder(const std::uint64_t* values, std::size_t n, unsigned dims,
                       std::span<std::byte> scratch, unsigned max_body_terms) noexcept
    : values_(values),
      n_(static_cast<std::uint32_t>(n)),
      dims_(dims),
      max_parts_(max_body_terms < 1               ? 1
                 : max_body_terms > kMaxBodyTerms ? kMaxBodyTerms
                                                  : max_body_terms) {
  const Capacities room = capacities(n);
  std::byte* at = scratch.data();
  prints_ = carve<std::uint64_t>(at, n);
  terms_ = carve<FoundTerm>(at, n);
  bodies_ = carve<Body>(at, room.bodies);
  parts_ = carve<BodyPart>(at, room.parts);
  leaves_ = carve<std::uint32_t>(at, room.leaves);
  table_ = carve<std::uint32_t>(at, room.table);
  const std::size_t below = below_bottom(n);
  // What lies below the bottom may hold anything: how many terms there are is asked before.
  top_bits_ = carve<std::uint16_t>(at, n + below) + below;
  term_parts_ = carve<std::uint16_t>(at, n + below) + below;
  for (std::uint16_t*& bits : every_second_) bits = carve<std::uint16_t>(at, seconds(n)) + below;
  table_mask_ = static_cast<std::uint32_t>(room.table - 1);
  body_limit_ = static_cast<std::uint32_t>(room.bodies);
  part_limit_ = static_cast<std::uint32_t>(room.parts);
  leaf_limit_ = static_cast<std::uint32_t>(room.leaves);
  std::memset(table_, 0, room.table * sizeof(std::uint32_t));
  bodies_[0] = {};
  bodies_[0].leaves = 1;
  leaves_[0] = 0;
}

void LoopFinder::run() noexcept {
  fingerprint();
  while (row_ < n_) {
    push(0, 1, row_);
    ++row_;
    reduce();
  }
}

// The fingerprint of a tuple is linear in its values, so that steps between
// tuples can be compared, added and multiplied in one word: only what agrees
// there is compared value by value. It is taken of the difference to the first
// tuple, which is zero in a column until that column changes for the first time:
// so one pass over a few rows at a time, while they are in the cache, is enough to find the
// changing columns and to leave out the others.
void LoopFinder::fingerprint() noexcept {
  constexpr std::uint32_t kRowsAtOnce = 32;
  std::uint64_t changed[kMaxDims];
  std::uint64_t factors[kMaxDims] = {};
  for (unsigned j = 0; j < dims_; ++j) changed[j] = 0;
  for (std::uint32_t begin = 0; begin < n_; begin += kRowsAtOnce) {
    const std::uint32_t end = n_ - begin < kRowsAtOnce ? n_ : begin + kRowsAtOnce;
    if (active_.count < dims_) {
      const std::uint64_t* row = at(begin);
      for (std::uint32_t i = begin; i < end; ++i, row += dims_) {
        for (unsigned j = 0; j < dims_; ++j) changed[j] |= row[j] ^ values_[j];
      }
      active_.count = 0;
      for (unsigned j = 0; j < dims_; ++j) {
        if (changed[j] == 0) continue;
        factors[active_.count] = column_factor(j);
        active_.add(j);
      }
    }
    std::uint64_t first = 0;
    for (unsigned c = 0; c < active_.count; ++c) first += factors[c] * values_[active_.index[c]];
    const std::uint64_t* row = at(begin);
    for (std::uint32_t i = begin; i < end; ++i, row += dims_) {
      std::uint64_t print = 0U - first;
      for (unsigned c = 0; c < active_.count; ++c) print += factors[c] * row[active_.index[c]];
      prints_[i] = print;
    }
  }
}

void LoopFinder::push(std::uint32_t body, std::uint32_t count, std::uint32_t start) noexcept {
  const auto top_bits = static_cast<std::uint16_t>(prints_[start] >> 48U);
  top_bits_[size_] = top_bits;
  every_second_[size_ % 2][size_ / 2] = top_bits;
  term_parts_[size_] = static_cast<std::uint16_t>(bodies_[body].parts);
  terms_[size_++] = {prints_[start], start, count, body, bodies_[body].parts};
}

// The first `rows` tuples of an iteration as terms. What is too short to be a
// loop is taken apart, as if it had been found alone: equal sequences should
// end as equal terms.
void LoopFinder::push_cut_iteration(const Body& body, std::uint32_t start,
                                    std::uint32_t rows) noexcept {
  const BodyPart* part = parts(body);
  for (; rows != 0; ++part) {
    const Body& inner = bodies_[part->body];
    const std::uint32_t inner_rows = part->body == 0 ? 1 : inner.rows;
    std::uint32_t count = part->count;
    if (inner_rows * count > rows) count = rows / inner_rows;
    const bool whole = count == part->count;
    if (whole || count >= kLeastIterations) {
      push(part->body, count, start);
    } else {
      for (std::uint32_t k = 0; k < count; ++k) {
        push_cut_iteration(inner, start + k * inner_rows, inner_rows);
      }
    }
    start += count * inner_rows;
    rows -= count * inner_rows;
    if (!whole) return push_cut_iteration(inner, start, rows);
  }
}

void LoopFinder::reduce() noexcept {
  ++fruitless_;
  while (reduce_once(is_alert() || max_parts_ < kQuietParts ? max_parts_ : kQuietParts)) {
    fruitless_ = 0;
    read_on();
  }
}

// Where nothing has repeated for long, long bodies are looked for now and then only: they are found
// a little later, and noise costs a tenth.
bool LoopFinder::is_alert() const noexcept {
  constexpr std::uint32_t kPatience = 256, kQuiet = 2048;
  const std::uint32_t spell = 4 * max_parts_;
  return fruitless_ < kPatience + spell || fruitless_ % kQuiet < spell;
}

bool LoopFinder::reduce_once(std::uint32_t most_parts) noexcept {
  const std::uint32_t longest = size_ - 1 < most_parts ? size_ - 1 : most_parts;
  const std::uint32_t place = size_ - 1;
  IterationLengths lengths(top_bits_ + place, every_second_[place % 2] + place / 2,
                           term_parts_ + place);
  for (std::uint32_t b = 1; b <= longest; b += IterationLengths::kAtOnce, lengths.next()) {
    for (IterationLengths::Lanes maybe = lengths.maybe(); maybe.any();) {
      const std::uint32_t parts = b + maybe.take_lowest();
      if (parts <= longest && reduce_by(parts)) return true;
    }
  }
  return false;
}

bool LoopFinder::reduce_by(std::uint32_t parts) noexcept {
  const FoundTerm* const top = terms_ + size_ - 1;
  if ((top - parts)->parts == parts && next_iteration(parts)) {
    size_ -= parts;
    ++terms_[size_ - 1].count;
    return true;
  }
  // Is there room for three? Two terms of each iteration are compared before the call: with few
  // different tuples, one agrees by chance too often.
  const std::uint32_t also = parts == 1 ? 0 : 1;
  return parts <= size_ / 3 && goes_on(top, parts) && goes_on(top - also, parts) &&
         three_iterations(parts);
}

// Are the top terms one more iteration of the loop below them?
bool LoopFinder::next_iteration(std::uint32_t parts) const noexcept {
  const FoundTerm* iteration = terms_ + size_ - parts;
  const FoundTerm& loop = iteration[-1];
  const Body& body = bodies_[loop.body];
  if (iteration->print - loop.print != loop.count * body.stride_print) return false;
  const BodyPart* part = parts_ + body.first_part;
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (iteration[i].body != part[i].body || iteration[i].count != part[i].count) return false;
  }
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (!leaves_go_on(iteration[i], body.rows)) return false;
  }
  return true;
}

// Are the top terms three iterations of one shape, each leaf in equal steps?
// Then they become a loop.
bool LoopFinder::three_iterations(std::uint32_t parts) noexcept {
  const FoundTerm* third = terms_ + size_ - parts;
  const FoundTerm* second = third - parts;
  const FoundTerm* first = second - parts;
  std::uint8_t depth = 0;
  for (std::uint32_t i = parts; i-- > 0;) {
    const FoundTerm& a = first[i];
    const FoundTerm& b = second[i];
    const FoundTerm& c = third[i];
    if (!goes_on(&c, parts) || a.body != b.body || b.body != c.body || a.count != b.count ||
        b.count != c.count) {
      return false;
    }
    const std::uint8_t inner = bodies_[a.body].depth;
    if (inner > depth) depth = inner;
  }
  if (depth >= kMaxLoopDepth) return false;
  const std::uint32_t rows = second->start - first->start;
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (!leaves_go_on(third[i], rows)) return false;
  }
  const std::uint32_t body = intern(first, parts, rows);
  if (body == 0) return false;
  bodies_[body].depth = static_cast<std::uint8_t>(depth + 1);
  size_ -= 3 * parts;
  push(body, kLeastIterations, first->start);
  return true;
}

// Has each leaf of the term made the same step twice since it was met `rows` and
// twice `rows` tuples before?
bool LoopFinder::leaves_go_on(const FoundTerm& term, std::uint32_t rows) const noexcept {
  const Body& body = bodies_[term.body];
  const std::uint32_t* leaf = leaves_ + body.first_leaf;
  for (std::uint32_t l = 0; l < body.leaves; ++l) {
    const std::uint64_t* now = prints_ + term.start + leaf[l];
    if (now[0] - *(now - rows) != *(now - rows) - *(now - 2 * std::size_t{rows})) return false;
  }
  for (std::uint32_t l = 0; l < body.leaves; ++l) {
    const std::uint32_t now = term.start + leaf[l];
    if (!same_step(now, now - rows, now - rows, now - 2 * rows)) return false;
  }
  return true;
}

// The loop on top of the stack is open: tuples that go on with it need no terms.
// Ends at the first that does not.
void LoopFinder::read_on() noexcept {
  FoundTerm& loop = terms_[size_ - 1];
  const Body& body = bodies_[loop.body];
  const std::uint64_t* now = prints_ + row_;
  const std::uint64_t* before = now - body.rows;
  const std::uint64_t* still_before = before - body.rows;
  std::uint32_t end = row_;
  for (; end < n_; ++end, ++before) {
    if (*now++ - *before != *before - *still_before++) break;
  }
  for (std::uint32_t i = row_; i < end; ++i) {
    if (!same_step(i, i - body.rows, i - body.rows, i - 2 * body.rows)) end = i;
  }
  const std::uint32_t cut = (end - row_) % body.rows;
  loop.count += (end - row_) / body.rows;
  row_ = end;
  push_cut_iteration(body, end - cut, cut);
}

// The body of which this is one iteration, the next one being `rows` tuples
// on; 0 if there is no room for a new one.
std::uint32_t LoopFinder::intern(const FoundTerm* iteration, std::uint32_t parts,
                                 std::uint32_t rows) noexcept {
  const std::uint64_t* prints = prints_ + iteration->start;
  const std::uint64_t stride_print = prints[rows] - prints[0];
  std::uint64_t hash = mix(stride_print ^ rows) + parts;
  std::uint32_t leaves = 0;
  for (std::uint32_t i = 0; i < parts; ++i) {
    hash = mix(hash ^ (std::uint64_t{iteration[i].body} << 32U | iteration[i].count));
    const Body& inner = bodies_[iteration[i].body];
    for (std::uint32_t l = 0; l < inner.leaves; ++l) {
      const std::uint64_t* leaf = prints_ + iteration[i].start + leaves_[inner.first_leaf + l];
      hash = mix(hash ^ (leaf[rows] - leaf[0]));
    }
    leaves += inner.leaves;
  }
  auto slot = static_cast<std::uint32_t>(hash) & table_mask_;
  for (; table_[slot] != 0; slot = (slot + 1) & table_mask_) {
    if (same_body(bodies_[table_[slot]], iteration, parts, rows)) return table_[slot];
  }
  if (body_count_ == body_limit_ || part_limit_ - part_count_ < parts ||
      leaf_limit_ - leaf_count_ < leaves) {
    return 0;
  }
  const std::uint32_t index = body_count_++;
  const std::uint32_t start = iteration->start;
  bool one_stride = true;
  Body& body = bodies_[index];
  body = {stride_print, start, rows, part_count_, parts, leaf_count_, leaves, 0, false};
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint32_t offset = iteration[i].start - start;
    parts_[part_count_++] = {iteration[i].body, iteration[i].count, offset};
    const Body& inner = bodies_[iteration[i].body];
    for (std::uint32_t l = 0; l < inner.leaves; ++l) {
      const std::uint32_t leaf = offset + leaves_[inner.first_leaf + l];
      leaves_[leaf_count_++] = leaf;
      one_stride = one_stride && same_step(start + leaf + rows, start + leaf, start + rows, start);
    }
  }
  body.one_stride = one_stride;
  table_[slot] = index;
  return index;
}

bool LoopFinder::same_body(const Body& body, const FoundTerm* iteration, std::uint32_t parts,
                           std::uint32_t rows) const noexcept {
  if (body.parts != parts || body.rows != rows) return false;
  const BodyPart* part = parts_ + body.first_part;
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (part[i].body != iteration[i].body || part[i].count != iteration[i].count) return false;
  }
  for (std::uint32_t l = 0; l < body.leaves; ++l) {
    const std::uint32_t leaf = leaves_[body.first_leaf + l];
    const std::uint32_t here = iteration->start + leaf;
    const std::uint32_t there = body.start + leaf;
    if (!same_step(here + rows, here, there + rows, there)) return false;
  }
  return true;
}

bool LoopFinder::same_step(std::uint32_t to, std::uint32_t from, std::uint32_t ref_to,
                           std::uint32_t ref_from) const noexcept {
  const std::uint64_t* a = at(to);
  const std::uint64_t* b = at(from);
  const std::uint64_t* c = at(ref_to);
  const std::uint64_t* d = at(ref_from);
  for (unsigned k = 0; k < active_.count; ++k) {
    const unsigned j = active_.index[k];
    if (a[j] - b[j] != c[j] - d[j]) return false;
  }
  return true;
}

}  // namespace iotune::patterns
