#include <cstdint>
#include <initializer_list>

#include "patterns/loop_finder.h"
#include "patterns/packed_columns.h"
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

void set_place(std::uint8_t* bits, unsigned place) noexcept {
  bits[place / 7] = static_cast<std::uint8_t>(bits[place / 7] | 1U << place % 7);
}

// The head of a terms encoding, tuple_bytes.h's read_head().
void write_first_tuple(const std::uint64_t* tuple, unsigned dims, const Columns& active,
                       ByteWriter& out) noexcept {
  std::uint8_t bits[kMaskGroups] = {};
  for (unsigned c = 0; c < active.count; ++c) set_place(bits, active.index[c]);
  write_mask(out, bits, dims);
  if (dims == 1) return out.svarint(difference(tuple[0], 0));
  std::uint8_t nonzero[kMaskGroups] = {};
  for (unsigned j = 0; j < dims; ++j) {
    if (tuple[j] != 0) set_place(nonzero, j);
  }
  write_mask(out, nonzero, dims);
  for (unsigned j = 0; j < dims; ++j) {
    if (tuple[j] != 0) out.svarint(difference(tuple[j], 0));
  }
}

// How many definitions of one body are compared with a term before it is defined
// once more.
constexpr unsigned kMostVariants = 8;

// Writes what a LoopFinder found. Vectors are read from the tuples themselves.
class TermWriter {
 public:
  TermWriter(const std::uint64_t* values, unsigned dims, LoopFinder& found,
             ByteWriter& out) noexcept
      : values_(values), dims_(dims), found_(found), active_(found.active()), out_(out) {}

  void write() noexcept {
    write_first_tuple(values_, dims_, active_, out_);
    const FoundTerm* terms = found_.terms();
    list([terms](std::uint32_t i) noexcept { return terms[i]; }, found_.term_count());
  }

 private:
  struct Definition {
    std::uint32_t start;
    std::uint32_t older;  // number of the definition of the same body before this one
  };

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
      atoms(next.start, run, i == 0, previous);
      previous = next.start + run - 1;
      i += run;
    }
  }

  void atoms(std::uint32_t row, std::uint32_t run, bool place_is_known,
             std::uint32_t previous) noexcept {
    out_.varint(atoms_head(run));
    if (place_is_known) {
      if (run != 1) vectors(row + 1, row, run - 1);
    } else {
      // The first difference is to `previous`, the others to the tuple before.
      vectors(row, previous, run);
    }
    own_strides(row, run);
  }

  void loop(const FoundTerm& term, bool place_is_known, std::uint32_t previous) noexcept {
    Body& body = found_.body(term.body);
    const std::uint32_t reference = find_definition(term);
    out_.varint(loop_head(reference));
    out_.varint(term.count);
    if (!place_is_known) vectors(term.start, previous, 1);
    if (reference != 0) return own_strides(term.start, 1);
    out_.varint(body_head(body.parts, body.one_stride));
    if (!body.one_stride) {
      out_.varint(body.rows);
      around_.rows[around_.count++] = body.rows;
    }
    const BodyPart* parts = found_.parts(body);
    const auto part = [parts, &term](std::uint32_t i) noexcept {
      return FoundTerm{0, term.start + parts[i].offset, parts[i].count, parts[i].body, 0};
    };
    list(part, body.parts);
    if (body.one_stride) {
      vectors(term.start + body.rows, term.start, 1);
    } else {
      --around_.count;
    }
    ++definitions_;
    window_[definitions_ % kDefinitionWindow] = {term.start, body.definition};
    body.definition = definitions_;
  }

  // How many definitions ago one was written that this term equals but for place
  // and count, and that may stand here; 0 if there is none.
  std::uint32_t find_definition(const FoundTerm& term) const noexcept {
    const Body& body = found_.body(term.body);
    if (body.definition == 0) return 0;
    for (unsigned k = 0; k < around_.count; ++k) {
      if (!moves_as_one(body, term.start, term.start + around_.rows[k])) return 0;
    }
    std::uint32_t number = body.definition;
    for (unsigned k = 0; k < kMostVariants; ++k) {
      if (number == 0 || definitions_ - number >= kDefinitionWindow) return 0;
      const Definition& definition = window_[number % kDefinitionWindow];
      if (moves_as_one(body, definition.start, term.start)) return definitions_ - number + 1;
      number = definition.older;
    }
    return 0;
  }

  bool moves_as_one(const Body& body, std::uint32_t from, std::uint32_t to) const noexcept {
    const std::uint32_t* leaf = found_.leaves(body);
    for (std::uint32_t l = 1; l < body.leaves; ++l) {
      if (!found_.same_step(to + leaf[l], from + leaf[l], to, from)) return false;
    }
    return true;
  }

  // What the next iteration of each loop around adds to these tuples, where the
  // loop does not have one stride for all.
  void own_strides(std::uint32_t row, std::uint32_t count) noexcept {
    for (unsigned k = 0; k < around_.count; ++k) {
      const std::uint32_t rows = around_.rows[k];
      write_vectors(count, [row, rows](std::uint32_t i) noexcept {
        return Step{row + i + rows, row + i};
      });
    }
  }

  // The tuples row, row + 1, … (`count` of them) as differences: the first to
  // tuple `previous`, each other one to the one before it.
  void vectors(std::uint32_t row, std::uint32_t previous, std::uint32_t count) noexcept {
    write_vectors(count, [row, previous](std::uint32_t i) noexcept {
      return Step{row + i, i == 0 ? previous : row + i - 1};
    });
  }

  struct Step {
    std::uint32_t to, from;
  };

  // `count` vectors under one mask.
  template <class StepAt>
  void write_vectors(std::uint32_t count, StepAt step) noexcept {
    std::uint8_t bits[kMaskGroups] = {};
    Columns changed;
    for (unsigned c = 0; c < active_.count; ++c) {
      const unsigned column = active_.index[c];
      bool differs = active_.count == 1;
      for (std::uint32_t i = 0; i < count && !differs; ++i) differs = change(step(i), column) != 0;
      if (!differs) continue;
      set_place(bits, c);
      changed.add(column);
    }
    if (active_.count > 1) write_mask(out_, bits, active_.count);
    for (std::uint32_t i = 0; i < count; ++i) {
      for (unsigned c = 0; c < changed.count; ++c) out_.svarint(change(step(i), changed.index[c]));
    }
  }

  std::int64_t change(Step step, unsigned column) const noexcept {
    return difference(values_[std::size_t{step.to} * dims_ + column],
                      values_[std::size_t{step.from} * dims_ + column]);
  }

  const std::uint64_t* values_;
  unsigned dims_;
  LoopFinder& found_;
  const Columns& active_;
  ByteWriter& out_;
  std::uint32_t definitions_ = 0;
  Definition window_[kDefinitionWindow];
  LoopsAround around_;
};

bool in_range(std::span<const std::int64_t> values, std::size_t n, unsigned dims) noexcept {
  return n <= kMaxTuples && dims <= kMaxDims && values.size() >= n * dims;
}

// Looks for loops in two samples of a long sequence: where neither has any, looking through
// all of it would only take time.
bool has_loops(const std::uint64_t* words, std::size_t n, unsigned dims,
               std::span<std::byte> scratch, unsigned max_body_terms) noexcept {
  // A loop shows in three iterations of its body.
  constexpr std::size_t kLeastTerms = 32;
  std::size_t sample = max_body_terms < kMaxBodyTerms ? max_body_terms : kMaxBodyTerms;
  sample = 4 * (sample < kLeastTerms ? kLeastTerms : sample);
  if (n < 16 * sample) return true;
  for (const std::size_t begin : {std::size_t{0}, n / 2}) {
    LoopFinder found(words + begin * dims, sample, dims, scratch, max_body_terms);
    found.run();
    if (found.term_count() < sample - sample / 8) return true;
  }
  return false;
}

void write_plain(const std::int64_t* values, std::size_t n, unsigned dims,
                 ByteWriter& out) noexcept {
  for (std::size_t i = 0; i < n * dims; ++i) {
    const std::uint64_t before = i < dims ? 0 : static_cast<std::uint64_t>(values[i - dims]);
    out.svarint(difference(static_cast<std::uint64_t>(values[i]), before));
  }
}

// A tuple alone, as most streams of a file that is written once have: its plain form has all of its
// zeros, the terms' form two masks and a head instead. (Packed it takes more than plain.)
void write_alone(const std::int64_t* tuple, unsigned dims, ByteWriter& out) noexcept {
  unsigned zeros = 0, last = 0;
  for (unsigned j = 0; j < dims; ++j) {
    if (tuple[j] == 0) {
      ++zeros;
    } else {
      last = j;
    }
  }
  if (dims == 1 || zeros <= 3 + last / 7) {
    out.u8(kModePlain);
    return write_plain(tuple, 1, dims, out);
  }
  out.u8(kModeTerms);
  write_first_tuple(reinterpret_cast<const std::uint64_t*>(tuple), dims, Columns{}, out);
  out.varint(atoms_head(1));
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
  if (n == 0 || dims == 0) {
    out.u8(kModePlain);
    return !out.overflowed();
  }
  const ByteWriter::Mark start = out.mark();
  if (n == 1) {
    write_alone(values.data(), dims, out);
    if (!out.overflowed()) return true;
    out.rewind(start);
    return false;
  }
  const std::size_t used = out.bytes_used();
  const auto* words = reinterpret_cast<const std::uint64_t*>(values.data());
  std::size_t best_bytes = SIZE_MAX;
  if (has_loops(words, n, dims, scratch, options.max_body_terms)) {
    LoopFinder found(words, n, dims, scratch, options.max_body_terms);
    found.run();
    out.u8(kModeTerms);
    TermWriter(words, dims, found, out).write();
    const unsigned active_columns = found.active().count;
    if (!out.overflowed()) {
      best_bytes = out.bytes_used() - used - 1;
      // Where much was found the other forms need not be measured.
      if (best_bytes <= n * dims && best_bytes <= least_packed_bytes(n, dims, active_columns)) {
        return true;
      }
    }
  }
  PackedColumn columns[kMaxDims];
  const std::size_t packed = packed_bytes(values.data(), n, dims, columns);
  // A value takes a byte at least there.
  const std::size_t plain = packed <= n * dims ? SIZE_MAX : plain_bytes(values, n, dims);
  if (best_bytes <= packed && best_bytes <= plain) return true;
  out.rewind(start);
  if (packed < plain) {
    out.u8(kModePacked);
    write_packed(values.data(), n, dims, columns, out);
  } else {
    out.u8(kModePlain);
    write_plain(values.data(), n, dims, out);
  }
  if (!out.overflowed()) return true;
  out.rewind(start);
  return false;
}

}  // namespace iotune::patterns
