#include "logstore/write/block_encoder.h"

#include "logstore/format.h"
#include "patterns/crc32c.h"
#include "patterns/tuple_loops.h"

namespace iotune::logstore {
namespace {

using patterns::ByteWriter;
using patterns::Extent;
using patterns::NestBody;
using patterns::NestFinder;
using patterns::NestPart;
using patterns::NestTerm;

// Of a finder of that capacity (nest_finder.cpp); body 0 included.
constexpr std::size_t most_bodies(std::uint32_t capacity) noexcept {
  return capacity / 2 + 16;
}
constexpr std::size_t most_leaves(std::uint32_t capacity) noexcept {
  return 2 * std::size_t{capacity};
}
constexpr std::size_t most_rows(std::uint32_t capacity, std::size_t holes,
                                std::size_t knots) noexcept {
  const std::size_t rows = most_leaves(capacity) + 16;
  const std::size_t other = holes > knots ? holes : knots;
  return rows > other ? rows : other;
}
constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

// A list of n rows takes its number, a byte for the mode and ten a value, at most.
constexpr std::size_t list_bytes(std::size_t rows) noexcept {
  return patterns::kMaxVarintBytes + 1 + rows * 2 * patterns::kMaxVarintBytes;
}
constexpr std::size_t block_bytes(std::uint32_t capacity, std::size_t holes,
                                  std::size_t knots) noexcept {
  return kBlockHeadBytes + list_bytes(most_bodies(capacity)) + list_bytes(capacity) +
         3 * list_bytes(most_leaves(capacity)) + list_bytes(holes) + list_bytes(knots);
}

// A loop around what is added up; the outermost has no `outer`.
struct Around {
  const Around* outer;
  std::uint64_t count;
  const Extent* strides;  // of the loop's first leaf
  std::uint32_t leaf;     // of the loop, counted from the term's first
};

class Totals {
 public:
  Totals(const NestFinder& finder, const NestTerm& term) noexcept
      : finder_(finder), leaves_(finder.leaves(term)) {
    add(term.body, term.count, 0, nullptr);
  }
  std::uint64_t entries() const noexcept { return entries_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void add(std::uint32_t body, std::uint64_t count, std::uint32_t leaf,
           const Around* outer) noexcept {
    if (body == 0) return add_leaf(leaf, outer);
    const NestBody& loop = finder_.body(body);
    const Around around{outer, count, finder_.strides(loop), leaf};
    const NestPart* part = finder_.parts(loop);
    for (std::uint32_t i = 0; i < loop.parts; ++i, ++part) {
      add(part->body, part->count, leaf + part->first_leaf, &around);
    }
  }

  // A length that grows evenly is on average what it is in the middle.
  void add_leaf(std::uint32_t leaf, const Around* innermost) noexcept {
    std::uint64_t iterations = 1;
    for (const Around* at = innermost; at != nullptr; at = at->outer) iterations *= at->count;
    std::uint64_t bytes = static_cast<std::uint64_t>(leaves_[leaf].length) * iterations;
    for (const Around* at = innermost; at != nullptr; at = at->outer) {
      const auto step = static_cast<std::uint64_t>(at->strides[leaf - at->leaf].length);
      if (step != 0) bytes += step * (at->count * (at->count - 1) / 2) * (iterations / at->count);
    }
    entries_ += iterations;
    bytes_ += bytes;
  }

  const NestFinder& finder_;
  const Extent* leaves_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

TermTotals totals_of(const NestFinder& finder, std::uint32_t terms) noexcept {
  TermTotals sum;
  for (const NestTerm& term : finder.terms().first(terms)) {
    const Totals one(finder, term);
    sum.entries += static_cast<std::int64_t>(one.entries());
    sum.bytes += static_cast<std::int64_t>(one.bytes());
  }
  return sum;
}

std::size_t BlockEncoder::memory_bytes(std::uint32_t capacity, std::size_t holes,
                                       std::size_t knots) noexcept {
  const std::size_t rows = most_rows(capacity, holes, knots);
  return aligned(most_bodies(capacity) * sizeof(std::uint32_t)) + rows * 2 * sizeof(std::int64_t) +
         aligned(patterns::scratch_bytes(rows, 2)) + aligned(block_bytes(capacity, holes, knots));
}

BlockEncoder::BlockEncoder(std::span<std::byte> memory, std::uint32_t capacity, std::size_t holes,
                           std::size_t knots) noexcept {
  const std::size_t rows = most_rows(capacity, holes, knots);
  std::byte* at = memory.data();
  names_ = {reinterpret_cast<std::uint32_t*>(at), most_bodies(capacity)};
  at += aligned(most_bodies(capacity) * sizeof(std::uint32_t));
  values_ = {reinterpret_cast<std::int64_t*>(at), rows * 2};
  at += rows * 2 * sizeof(std::int64_t);
  scratch_ = {at, patterns::scratch_bytes(rows, 2)};
  at += aligned(scratch_.size());
  block_ = {at, block_bytes(capacity, holes, knots)};
}

// Numbers the bodies that the terms are made of, in the finder's order: what a body is made of was
// found before it. Returns one more than the largest of them in the finder.
std::uint32_t BlockEncoder::name_bodies(const NestFinder& finder, std::uint32_t terms) noexcept {
  for (std::uint32_t& name : names_) name = 0;
  std::uint32_t end = 1;
  for (const NestTerm& term : finder.terms().first(terms)) {
    if (term.body == 0) continue;
    names_[term.body] = 1;
    if (term.body >= end) end = term.body + 1;
  }
  for (std::uint32_t body = end; body-- > 1;) {
    if (names_[body] == 0) continue;
    const NestBody& loop = finder.body(body);
    const NestPart* part = finder.parts(loop);
    for (std::uint32_t i = 0; i < loop.parts; ++i, ++part) {
      if (part->body != 0) names_[part->body] = 1;
    }
  }
  std::uint32_t named = 0;
  for (std::uint32_t body = 1; body < end; ++body) {
    if (names_[body] != 0) names_[body] = ++named;
  }
  return end;
}

bool BlockEncoder::end_list(ByteWriter& to) noexcept {
  to.varint(rows_);
  if (rows_ == 0) return !to.overflowed();
  return patterns::encode_tuples(values_.first(2 * rows_), rows_, 2, scratch_, to);
}

std::span<const std::byte> BlockEncoder::encode(const NestFinder& finder, std::uint32_t terms,
                                                std::span<const Hole> holes,
                                                std::span<const Knot> knots,
                                                const BlockFacts& facts) noexcept {
  const std::uint32_t end = name_bodies(finder, terms);
  const auto each_body = [&](auto&& use) noexcept {
    for (std::uint32_t body = 1; body < end; ++body) {
      if (names_[body] != 0) use(finder.body(body));
    }
  };
  ByteWriter payload(block_.subspan(kBlockHeadBytes));
  begin_list();
  each_body([&](const NestBody& body) noexcept { row(body.parts, body.leaves); });
  bool whole = end_list(payload);
  begin_list();
  each_body([&](const NestBody& body) noexcept {
    const NestPart* part = finder.parts(body);
    for (std::uint32_t i = 0; i < body.parts; ++i, ++part) {
      row(part->body == 0 ? 0 : names_[part->body], static_cast<std::int64_t>(part->count));
    }
  });
  whole = end_list(payload) && whole;
  begin_list();
  each_body([&](const NestBody& body) noexcept {
    const Extent* stride = finder.strides(body);
    for (std::uint32_t i = 0; i < body.leaves; ++i) row(stride[i].offset, stride[i].length);
  });
  whole = end_list(payload) && whole;
  begin_list();
  for (const NestTerm& term : finder.terms().first(terms)) {
    row(term.body == 0 ? 0 : names_[term.body], static_cast<std::int64_t>(term.count));
  }
  whole = end_list(payload) && whole;
  begin_list();
  for (const NestTerm& term : finder.terms().first(terms)) {
    const Extent* leaf = finder.leaves(term);
    for (std::uint32_t i = 0; i < finder.leaf_count(term); ++i) row(leaf[i].offset, leaf[i].length);
  }
  whole = end_list(payload) && whole;
  begin_list();
  for (const Hole& hole : holes) row(hole.start, hole.length);
  whole = end_list(payload) && whole;
  begin_list();
  for (const Knot& knot : knots) row(knot.position - facts.position, knot.time);
  whole = end_list(payload) && whole;
  if (!whole || payload.overflowed()) return {};

  ByteWriter head(block_.first(kBlockHeadBytes));
  head.u32le(kBlockMagic);
  head.u32le(0);
  head.u32le(static_cast<std::uint32_t>(payload.bytes_used()));
  head.u32le(facts.flags);
  head.u64le(static_cast<std::uint64_t>(facts.position));
  head.u64le(static_cast<std::uint64_t>(facts.physical));
  head.u64le(static_cast<std::uint64_t>(facts.log_bytes));
  const std::size_t size = kBlockHeadBytes + payload.bytes_used();
  ByteWriter(block_.subspan(4))
      .u32le(patterns::crc32c(block_.data() + kBlockChecked, size - kBlockChecked));
  return block_.first(size);
}

}  // namespace iotune::logstore
