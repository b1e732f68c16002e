#include "patterns/loop_finder.h"

#include <bit>
#include <cstring>

namespace iotune::patterns {
namespace {

// Three equal blocks are the least that is called a loop: two of one atom always
// match.
constexpr std::uint32_t kLeastIterations = 3;

constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30U;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27U;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

struct Capacities {
  std::size_t bodies, parts, table;
};

// Every body takes at least two terms off the stack and at most n are ever
// pushed, so n/2 bodies would always do; a sequence that needs more than half of
// those compresses badly whatever is done, and its later tuples stay atoms.
Capacities capacities(std::size_t n) noexcept {
  const std::size_t bodies = n / 4 + 16;
  return {bodies, n / 2 + 16, std::bit_ceil(bodies + bodies / 2)};
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
         room.parts * sizeof(BodyPart) + room.table * sizeof(std::uint32_t) + 5 * alignof(Body);
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
  table_ = carve<std::uint32_t>(at, room.table);
  table_mask_ = static_cast<std::uint32_t>(room.table - 1);
  body_limit_ = static_cast<std::uint32_t>(room.bodies);
  part_limit_ = static_cast<std::uint32_t>(room.parts);
  std::memset(table_, 0, room.table * sizeof(std::uint32_t));
  bodies_[0] = {};
}

void LoopFinder::run() noexcept {
  find_active();
  fingerprint();
  while (row_ < n_) {
    push(0, 1, row_);
    ++row_;
    reduce();
  }
}

void LoopFinder::find_active() noexcept {
  std::uint64_t seen[kMaxDims] = {};
  const std::uint64_t* row = values_ + dims_;
  for (std::uint32_t i = 1; i < n_; ++i, row += dims_) {
    for (unsigned j = 0; j < dims_; ++j) seen[j] |= row[j] ^ values_[j];
  }
  for (unsigned j = 0; j < dims_; ++j) {
    if (seen[j] != 0) active_.add(j);
  }
}

// The fingerprint of a tuple is linear in its values, so that steps between
// tuples can be compared, added and multiplied in one word: only what agrees
// there is compared value by value.
void LoopFinder::fingerprint() noexcept {
  std::uint64_t factors[kMaxDims];
  for (unsigned c = 0; c < active_.count; ++c) factors[c] = mix(c + 0x9e3779b97f4a7c15U) | 1U;
  const std::uint64_t* row = values_;
  for (std::uint32_t i = 0; i < n_; ++i, row += dims_) {
    std::uint64_t print = 0;
    for (unsigned c = 0; c < active_.count; ++c) print += factors[c] * row[active_.index[c]];
    prints_[i] = print;
  }
}

void LoopFinder::push(std::uint32_t body, std::uint32_t count, std::uint32_t start) noexcept {
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
  while (reduce_once()) read_on();
}

bool LoopFinder::reduce_once() noexcept {
  const FoundTerm* top = terms_ + size_ - 1;
  const std::uint64_t print = top->print;
  const std::uint32_t longest = size_ - 1 < max_parts_ ? size_ - 1 : max_parts_;
  for (std::uint32_t b = 1; b <= longest; ++b) {
    const FoundTerm* below = top - b;
    if (below->parts == b && next_iteration(b)) {
      size_ -= b;
      ++terms_[size_ - 1].count;
      return true;
    }
    if (3 * b <= size_ && print - below->print == below->print - (below - b)->print &&
        three_blocks(b)) {
      return true;
    }
  }
  return false;
}

// Are the top terms one more iteration of the loop below them?
bool LoopFinder::next_iteration(std::uint32_t parts) const noexcept {
  const FoundTerm* block = terms_ + size_ - parts;
  const FoundTerm& loop = block[-1];
  const Body& body = bodies_[loop.body];
  if (block->print - loop.print != loop.count * body.stride_print) return false;
  const BodyPart* part = parts_ + body.first_part;
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (block[i].body != part[i].body || block[i].count != part[i].count) return false;
  }
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint32_t at = block[i].start;
    if (block[i].print - prints_[at - body.rows] != body.stride_print) return false;
    if (!same_step(at, at - body.rows, loop.start + body.rows, loop.start)) return false;
  }
  return true;
}

// Are the top terms three blocks of one shape, in equal steps? Then they become
// a loop.
bool LoopFinder::three_blocks(std::uint32_t parts) noexcept {
  const FoundTerm* third = terms_ + size_ - parts;
  const FoundTerm* second = third - parts;
  const FoundTerm* first = second - parts;
  std::uint32_t depth = 0;
  for (std::uint32_t i = parts; i-- > 0;) {
    const FoundTerm& a = first[i];
    const FoundTerm& b = second[i];
    const FoundTerm& c = third[i];
    if (a.body != b.body || b.body != c.body || a.count != b.count || b.count != c.count) {
      return false;
    }
    const std::uint32_t inner = bodies_[a.body].depth;
    if (inner > depth) depth = inner;
  }
  if (depth >= kMaxLoopDepth) return false;
  const std::uint64_t stride_print = second->print - first->print;
  const std::uint32_t rows = second->start - first->start;
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (third[i].print - second[i].print != stride_print ||
        second[i].print - first[i].print != stride_print) {
      return false;
    }
  }
  for (std::uint32_t i = 0; i < 2 * parts; ++i) {
    const std::uint32_t at = second[i].start;
    if (!same_step(at, at - rows, second->start, first->start)) return false;
  }
  const std::uint32_t body = intern(first, parts, rows);
  if (body == 0) return false;
  bodies_[body].depth = depth + 1;
  size_ -= 3 * parts;
  push(body, kLeastIterations, first->start);
  return true;
}

// The loop on top of the stack is open: tuples that go on with it need no terms.
// Ends at the first that does not.
void LoopFinder::read_on() noexcept {
  FoundTerm& loop = terms_[size_ - 1];
  const Body& body = bodies_[loop.body];
  const std::uint64_t stride_print = body.stride_print;
  const std::uint64_t* now = prints_ + row_;
  const std::uint64_t* before = now - body.rows;
  std::uint32_t end = row_;
  while (end < n_ && *now++ - *before++ == stride_print) ++end;
  for (std::uint32_t i = row_; i < end; ++i) {
    if (!same_step(i, i - body.rows, loop.start + body.rows, loop.start)) end = i;
  }
  const std::uint32_t cut = (end - row_) % body.rows;
  loop.count += (end - row_) / body.rows;
  row_ = end;
  push_cut_iteration(body, end - cut, cut);
}

std::uint32_t LoopFinder::intern(const FoundTerm* block, std::uint32_t parts,
                                 std::uint32_t rows) noexcept {
  const std::uint64_t stride_print = block[parts].print - block->print;
  std::uint64_t hash = mix(stride_print ^ rows) + parts;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint64_t shape = std::uint64_t{block[i].body} << 32U | block[i].count;
    hash = mix(hash ^ shape) + (block[i].print - block->print);
  }
  auto slot = static_cast<std::uint32_t>(mix(hash)) & table_mask_;
  for (; table_[slot] != 0; slot = (slot + 1) & table_mask_) {
    if (same_body(bodies_[table_[slot]], block, parts, rows)) return table_[slot];
  }
  if (body_count_ == body_limit_ || part_limit_ - part_count_ < parts) return 0;
  const std::uint32_t index = body_count_++;
  bodies_[index] = {stride_print, block->start, rows, part_count_, parts, 0};
  for (std::uint32_t i = 0; i < parts; ++i) {
    parts_[part_count_++] = {block[i].body, block[i].count, block[i].start - block->start};
  }
  table_[slot] = index;
  return index;
}

bool LoopFinder::same_body(const Body& body, const FoundTerm* block, std::uint32_t parts,
                           std::uint32_t rows) const noexcept {
  if (body.parts != parts || body.rows != rows) return false;
  const BodyPart* part = parts_ + body.first_part;
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (part[i].body != block[i].body || part[i].count != block[i].count) return false;
  }
  const std::uint32_t start = block->start;
  if (!same_step(start + rows, start, body.start + rows, body.start)) return false;
  for (std::uint32_t i = 1; i < parts; ++i) {
    if (!same_step(block[i].start, start, body.start + part[i].offset, body.start)) return false;
  }
  return true;
}

bool LoopFinder::same_step(std::uint32_t to, std::uint32_t from, std::uint32_t ref_to,
                           std::uint32_t ref_from) const noexcept {
  const std::uint64_t* a = values_ + std::size_t{to} * dims_;
  const std::uint64_t* b = values_ + std::size_t{from} * dims_;
  const std::uint64_t* c = values_ + std::size_t{ref_to} * dims_;
  const std::uint64_t* d = values_ + std::size_t{ref_from} * dims_;
  for (unsigned k = 0; k < active_.count; ++k) {
    const unsigned j = active_.index[k];
    if (a[j] - b[j] != c[j] - d[j]) return false;
  }
  return true;
}

}  // namespace iotune::patterns
