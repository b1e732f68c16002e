#include <cstdint>

#include "patterns/loop_finder.h"
#include "patterns/tuple_bytes.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {
namespace {

// Atoms in a row share one mask of changed columns. Short runs waste heads, long
// ones let one odd tuple widen the mask of many.
constexpr std::uint32_t kLongestRun = 64;

constexpr std::int64_t difference(std::uint64_t to, std::uint64_t from) noexcept {
  return static_cast<std::int64_t>(to - from);
}

// Writes what a LoopFinder found. Vectors are read from the tuples themselves.
class TermWriter {
 public:
  TermWriter(const std::uint64_t* values, unsigned dims, LoopFinder& found,
             ByteWriter& out) noexcept
      : values_(values), dims_(dims), found_(found), active_(found.active()), out_(out) {}

  void write() noexcept {
    write_first_tuple();
    const FoundTerm* terms = found_.terms();
    list([terms](std::uint32_t i) noexcept { return terms[i]; }, found_.term_count());
  }

 private:
  void write_first_tuple() noexcept {
    std::uint8_t bits[kMaskGroups] = {};
    for (unsigned c = 0; c < active_.count; ++c) set(bits, active_.index[c]);
    write_mask(out_, bits, dims_);
    if (dims_ == 1) return out_.svarint(difference(values_[0], 0));
    std::uint8_t nonzero[kMaskGroups] = {};
    for (unsigned j = 0; j < dims_; ++j) {
      if (values_[j] != 0) set(nonzero, j);
    }
    write_mask(out_, nonzero, dims_);
    for (unsigned j = 0; j < dims_; ++j) {
      if (values_[j] != 0) out_.svarint(difference(values_[j], 0));
    }
  }

  // Terms that follow each other. `term(i)` yields the i-th; the place of the
  // first one is known from outside.
  template <class TermAt>
  void list(TermAt term, std::uint32_t count) noexcept {
    std::uint32_t i = 0;
    std::uint32_t previous = 0;
    while (i < count && !out_.overflowed()) {
      const FoundTerm next = term(i);
      if (next.body != 0) {
        loop(next, i == 0, previous);
        previous = next.start;
        ++i;
        continue;
      }
      std::uint32_t run = 1;
      while (run < kLongestRun && i + run < count && term(i + run).body == 0) ++run;
      out_.varint(atoms_head(run));
      const std::uint32_t first = i == 0 ? 1 : 0;
      if (first != run) steps(next.start + first, run - first, i == 0 ? next.start : previous);
      previous = next.start + run - 1;
      i += run;
    }
  }

  void loop(const FoundTerm& term, bool place_is_known, std::uint32_t previous) noexcept {
    Body& body = found_.body(term.body);
    const std::uint32_t distance = definitions_ - body.definition + 1;
    const bool known = body.definition != 0 && distance <= kDefinitionWindow;
    out_.varint(loop_head(known ? distance : 0));
    out_.varint(term.count);
    if (!place_is_known) steps(term.start, 1, previous);
    if (known) return;
    out_.varint(body.parts);
    const BodyPart* parts = found_.parts(body);
    const auto part = [parts, &term](std::uint32_t i) noexcept {
      return FoundTerm{0, term.start + parts[i].offset, parts[i].count, parts[i].body, 0};
    };
    list(part, body.parts);
    steps(term.start + body.rows, 1, term.start);
    body.definition = ++definitions_;
  }

  // The tuples row, row + 1, … (`count` of them) as differences: the first to
  // tuple `previous`, each other one to the one before it.
  void steps(std::uint32_t row, std::uint32_t count, std::uint32_t previous) noexcept {
    std::uint8_t bits[kMaskGroups] = {};
    Columns changed;
    for (unsigned c = 0; c < active_.count; ++c) {
      const unsigned column = active_.index[c];
      bool differs = active_.count == 1 || at(row, column) != at(previous, column);
      for (std::uint32_t k = 1; k < count && !differs; ++k) {
        differs = at(row + k, column) != at(row + k - 1, column);
      }
      if (!differs) continue;
      set(bits, c);
      changed.add(column);
    }
    if (active_.count > 1) write_mask(out_, bits, active_.count);
    for (std::uint32_t k = 0; k < count; ++k, previous = row++) {
      for (unsigned c = 0; c < changed.count; ++c) {
        const unsigned column = changed.index[c];
        out_.svarint(difference(at(row, column), at(previous, column)));
      }
    }
  }

  std::uint64_t at(std::uint32_t row, unsigned column) const noexcept {
    return values_[std::size_t{row} * dims_ + column];
  }
  static void set(std::uint8_t* bits, unsigned place) noexcept {
    bits[place / 7] = static_cast<std::uint8_t>(bits[place / 7] | 1U << place % 7);
  }

  const std::uint64_t* values_;
  unsigned dims_;
  LoopFinder& found_;
  const Columns& active_;
  ByteWriter& out_;
  std::uint32_t definitions_ = 0;
};

bool in_range(std::span<const std::int64_t> values, std::size_t n, unsigned dims) noexcept {
  return n <= kMaxTuples && dims <= kMaxDims && values.size() >= n * dims;
}

void write_plain(const std::int64_t* values, std::size_t n, unsigned dims,
                 ByteWriter& out) noexcept {
  for (std::size_t i = 0; i < n * dims; ++i) {
    const std::uint64_t before = i < dims ? 0 : static_cast<std::uint64_t>(values[i - dims]);
    out.svarint(difference(static_cast<std::uint64_t>(values[i]), before));
  }
}

}  // namespace

std::size_t scratch_bytes(std::size_t n, unsigned dims) noexcept {
  return LoopFinder::scratch_bytes(n, dims);
}

std::size_t plain_bytes(std::span<const std::int64_t> values, std::size_t n,
                        unsigned dims) noexcept {
  if (!in_range(values, n, dims)) return 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < n * dims; ++i) {
    const std::uint64_t before = i < dims ? 0 : static_cast<std::uint64_t>(values[i - dims]);
    bytes += varint_bytes(zigzag(difference(static_cast<std::uint64_t>(values[i]), before)));
  }
  return bytes;
}

bool encode_tuples(std::span<const std::int64_t> values, std::size_t n, unsigned dims,
                   std::span<std::byte> scratch, ByteWriter& out,
                   const EncodeOptions& options) noexcept {
  if (!in_range(values, n, dims) || out.overflowed()) return false;
  if (scratch.size() < scratch_bytes(n, dims)) return false;
  const ByteWriter::Mark start = out.mark();
  const std::size_t used = out.bytes_used();
  if (n != 0 && dims != 0) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(values.data());
    LoopFinder found(words, n, dims, scratch, options.max_body_terms);
    found.run();
    out.u8(kModeTerms);
    TermWriter(words, dims, found, out).write();
    // The plain form has a byte or more per value, so that it need not be
    // measured where something was found.
    if (!out.overflowed()) {
      const std::size_t bytes = out.bytes_used() - used;
      if (bytes <= n * dims || bytes <= 1 + plain_bytes(values, n, dims)) return true;
    }
    out.rewind(start);
  }
  out.u8(kModePlain);
  write_plain(values.data(), n, dims, out);
  if (!out.overflowed()) return true;
  out.rewind(start);
  return false;
}

}  // namespace iotune::patterns
