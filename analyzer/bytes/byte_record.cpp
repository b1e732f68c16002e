#include "analyzer/bytes/byte_record.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

// Runs of a header that are tried.
constexpr std::size_t kMaxHeaderRuns = 4;
// Of one rank, to look for a header before them.
constexpr std::size_t kMaxHeaderedPieces = 4096;
// An array has so many times the bytes of what several ranks moved before it.
constexpr std::uint64_t kLeastOfTables = 8;

// What is so irregular is no array behind a header either.
bool has_many_pieces(const IndexSets& sets) {
  for (std::size_t r = 0; r < sets.size(); ++r) {
    if (sets.shape(r).progressions().size() > kMaxHeaderedPieces) return true;
  }
  return false;
}

bool is_irregular(const InferredShape& shape) {
  return shape.described.process_grid.empty();
}

IndexSet joined(const std::vector<IndexSet>& pieces) {
  std::vector<const IndexSet*> pointers;
  pointers.reserve(pieces.size());
  for (const IndexSet& piece : pieces) pointers.push_back(&piece);
  return IndexSet::united(std::move(pointers)).value_or(IndexSet());
}

// The runs of `set` that begin before `cut`, and the others.
std::pair<IndexSet, IndexSet> divided(const IndexSet& set, std::uint64_t cut) {
  std::vector<IndexSet> before, behind;
  for (const Progression& p : set.progressions()) {
    const std::uint64_t runs = p.start >= cut ? 0
                               : p.count == 1
                                   ? 1
                                   : std::min(p.count, (cut - p.start - 1) / p.stride + 1);
    const auto add = [&](std::vector<IndexSet>& to, std::uint64_t first, std::uint64_t count) {
      if (count == 0) return;
      to.push_back(*IndexSet::of(p.start + first * p.stride, p.stride, count, p.block));
    };
    add(before, 0, runs);
    add(behind, runs, p.count - runs);
  }
  return {joined(before), joined(behind)};
}

// `set` without its first `bytes`, and these. Its first progression must be one longer run.
std::pair<IndexSet, IndexSet> beheaded(const IndexSet& set, std::uint64_t bytes) {
  const Progression& first = set.progressions().front();
  std::vector<IndexSet> pieces{IndexSet::interval(first.start + bytes, first.block - bytes)};
  for (std::size_t i = 1; i < set.progressions().size(); ++i) {
    const Progression& p = set.progressions()[i];
    pieces.push_back(*IndexSet::of(p.start, p.stride, p.count, p.block));
  }
  return {IndexSet::interval(first.start, bytes), joined(pieces)};
}

struct WithHeader {
  IndexSets header;
  std::uint64_t header_bytes = 0;
  IndexSets sets;
  InferredShape shape;

  void add(const IndexSet& of_header, const IndexSet& of_array) {
    if (!of_header.empty()) header.add(of_header);
    if (!of_array.empty()) sets.add(of_array);
    header_bytes += of_header.size();
  }
};

WithHeader with_header(const IndexSets& all, std::size_t writer,
                       const std::pair<IndexSet, IndexSet>& mine, const ShapeHint& hint) {
  WithHeader parts;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (r != writer) parts.add({}, all.at(r));
  }
  parts.add(mine.first, mine.second);
  parts.shape = infer_shape(parts.sets, hint);
  return parts;
}

// What any ranks moved before the array, little against it: a library's own tables. The array
// begins at the first of the ranks' largest runs.
std::optional<WithHeader> without_tables(const IndexSets& all, const ShapeHint& hint) {
  std::uint64_t cut = UINT64_MAX;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const IndexSet one = all.at(r);
    const auto longest = std::max_element(
        one.progressions().begin(), one.progressions().end(),
        [](const Progression& a, const Progression& b) { return a.block < b.block; });
    cut = std::min(cut, longest->start);
  }
  WithHeader parts;
  std::uint64_t bytes = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const IndexSet one = all.at(r);
    const auto [before, behind] = divided(one, cut);
    if (!before.empty() && before.end() > cut) return std::nullopt;
    parts.add(before, behind);
    bytes += behind.size();
  }
  if (parts.header.empty() || parts.header_bytes > bytes / kLeastOfTables) return std::nullopt;
  parts.shape = infer_shape(parts.sets, hint);
  if (is_irregular(parts.shape)) return std::nullopt;
  return parts;
}

// A rank that moved some runs before all other ranks' may have moved a header there. Where its part
// of the array begins right behind that, its first run is longer than the runs are.
std::optional<WithHeader> without_header(const IndexSets& all, const ShapeHint& hint) {
  if (all.size() < 2) return std::nullopt;
  std::size_t writer = 0;
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all.first(r) < all.first(writer)) writer = r;
  }
  std::uint64_t others = UINT64_MAX;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (r != writer) others = std::min(others, all.first(r));
  }
  const IndexSet mine = all.at(writer);
  const Progression& first = mine.progressions().front();
  std::uint64_t before = 0;
  for (const Progression& run : {mine.progressions().size() > 1 ? mine.progressions()[1] : first,
                                 all.at(writer == 0 ? 1 : 0).progressions().front()}) {
    if (first.count > 1 || run.block >= first.block || run.block == before) continue;
    before = run.block;
    WithHeader parts = with_header(all, writer, beheaded(mine, first.block - run.block), hint);
    if (!is_irregular(parts.shape)) return parts;
  }
  std::uint64_t cut = mine.first() + 1;
  for (std::size_t runs = 0; runs < kMaxHeaderRuns; ++runs) {
    auto [header, rest] = divided(mine, cut);
    if (header.empty() || header.end() > others) return std::nullopt;
    const bool last = rest.empty();
    if (!last) cut = rest.first() + 1;
    WithHeader parts = with_header(all, writer, {std::move(header), std::move(rest)}, hint);
    if (!is_irregular(parts.shape)) return parts;
    if (last) return std::nullopt;
  }
  return std::nullopt;
}

// One block for each rank, of which the first is longer by what is no unit of the others: those are
// equal and have not a whole number of it. A first rank with one row more has.
bool has_long_first(const IndexSets& all) {
  if (all.size() < 3) return false;
  std::vector<Progression> blocks;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const IndexSet one = all.at(r);
    if (!one.is_interval()) return false;
    blocks.push_back(one.progressions().front());
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const Progression& a, const Progression& b) { return a.start < b.start; });
  const std::uint64_t usual = blocks[1].block;
  for (std::size_t i = 2; i + 1 < blocks.size(); ++i) {
    if (blocks[i].block != usual) return false;
  }
  return blocks.back().block <= usual && blocks[0].block > usual &&
         usual % (blocks[0].block - usual) != 0;
}

std::string name_of(std::uint64_t first_byte) {
  return first_byte == 0 ? "(bytes)" : "(bytes from " + std::to_string(first_byte) + ")";
}

}  // namespace

void ByteRecord::take_hint(const ShapeHint& said) {
  if (!has_hint) {
    hint = said;
    has_hint = true;
  } else if (!(hint == said)) {
    const std::uint64_t element = hint.element_bytes == said.element_bytes ? hint.element_bytes : 1;
    hint = {};
    hint.element_bytes = element;
  }
}

void ByteRecord::take(ByteRuns& runs, std::uint64_t nanoseconds) {
  slowest_nanoseconds = std::max(slowest_nanoseconds, nanoseconds);
  const std::uint64_t moved = runs.bytes_moved();
  if (moved == 0) return;
  bytes = saturating_sum(bytes, moved);
  most_bytes = std::max(most_bytes, moved);
  ++ranks;
  const std::optional<IndexSet> set = lost ? std::nullopt : runs.joined();
  if (!set) {
    lost = true;
    sets = {};
    repeats = 1;
    return;
  }
  repeats = std::min(repeats, std::max<std::uint64_t>(1, moved / set->size()));
  sets.add(*set);
}

std::vector<DatasetPattern> patterns_of(const ByteRecord& record, bool write) {
  if (record.bytes == 0) return {};
  DatasetPattern pattern{};
  pattern.inferred = true;
  pattern.through_mpi = record.through_mpi;
  pattern.write = write;
  pattern.mode = record.independent && record.collective ? TransferMode::kMixed
                 : record.collective                     ? TransferMode::kCollective
                 : record.independent                    ? TransferMode::kIndependent
                                                         : TransferMode::kUnknown;
  pattern.calls = record.calls;
  pattern.bytes = record.bytes;
  const bool timed = record.slowest_nanoseconds != UINT64_MAX;
  pattern.seconds = timed ? static_cast<double>(record.slowest_nanoseconds) / 1e9 : 0;
  pattern.repeats = record.repeats;
  pattern.ranks = record.ranks;
  pattern.element_bytes = 1;
  if (record.lost) {
    pattern.dataset = "(bytes)";
    pattern.descriptor.dimensions = {{Distribution::kIrregular, record.most_bytes, 1}};
    pattern.ambiguity = "where the bytes lie is too irregular, or not in the trace";
    return {pattern};
  }
  InferredShape shape = infer_shape(record.sets, record.hint);
  std::vector<DatasetPattern> patterns;
  const auto fill = [&](DatasetPattern& to, InferredShape& from) {
    to.dataset = name_of(from.first_byte);
    to.descriptor = std::move(from.described.descriptor);
    to.process_grid = std::move(from.described.process_grid);
    to.halo = std::move(from.described.halo);
    to.ranks = from.described.ranks;
    to.dataset_dims = std::move(from.dims);
    to.element_bytes = from.element_bytes;
    to.ambiguity = std::move(from.ambiguity);
  };
  if ((is_irregular(shape) && !has_many_pieces(record.sets)) || has_long_first(record.sets)) {
    std::optional<WithHeader> parts = without_header(record.sets, record.hint);
    if (!parts) parts = without_tables(record.sets, record.hint);
    if (parts) {
      // How often a header was moved again is not distinguished from the rest.
      DatasetPattern header = pattern;
      InferredShape header_shape = infer_shape(parts->header, {});
      fill(header, header_shape);
      header.bytes = std::min(record.bytes, parts->header_bytes);
      header.repeats = 1;
      header.seconds = 0;
      header.calls = 0;
      pattern.bytes -= header.bytes;
      shape = std::move(parts->shape);
      patterns.push_back(std::move(header));
    }
  }
  fill(pattern, shape);
  patterns.push_back(std::move(pattern));
  return patterns;
}

}  // namespace iotune::analyzer
