#include "analyzer/bytes/byte_record.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/arrays/chunked_array.h"
#include "analyzer/arrays/split_arrays.h"
#include "analyzer/bytes/verify_shape.h"
#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

constexpr std::size_t kMostTallies = std::size_t{1} << 20U;  // of all processes
constexpr std::size_t kFewTallies = 32;                      // of one where they are many
// Pieces of single ranks that are listed; more are counted as one.
constexpr std::size_t kMostPieces = 64;
// Of one process, whose bytes nobody else divides.
constexpr std::size_t kMostArraysOfOne = 16;
constexpr std::uint64_t kManyParts = 4;

// Of one that lies apart also how: in rows, from one to the next `pitch` bytes, or in pieces.
std::string name_of(const FileArray& array) {
  if (!array.spans.empty() && array.piece_bytes == 0) return "(other bytes)";
  const bool in_rows = array.copies > 1, in_pieces = array.piece_bytes > 0;
  std::string name = "(bytes";
  if (array.shape.first_byte != 0 || in_rows || in_pieces) {
    name += " from " + std::to_string(array.shape.first_byte);
  }
  if (in_rows) name += ", every " + std::to_string(array.pitch);
  if (in_pieces) name += ", in pieces of " + std::to_string(array.piece_bytes);
  return name + ")";
}

TransferMode mode_of(bool independent, bool collective) {
  if (independent && collective) return TransferMode::kMixed;
  if (collective) return TransferMode::kCollective;
  return independent ? TransferMode::kIndependent : TransferMode::kUnknown;
}

double seconds_of_ns(std::uint64_t nanoseconds) {
  return nanoseconds == UINT64_MAX ? 0 : static_cast<double>(nanoseconds) / 1e9;
}

// What is the same of all arrays of the record.
DatasetPattern pattern_of(const ByteRecord& record, bool write) {
  DatasetPattern pattern{};
  pattern.inferred = true;
  pattern.through_mpi = record.through_mpi;
  pattern.write = write;
  pattern.mode = mode_of(record.independent, record.collective);
  pattern.calls = record.calls;
  pattern.bytes = record.bytes;
  pattern.seconds = seconds_of_ns(record.slowest_nanoseconds);
  pattern.repeats = record.repeats;
  pattern.ranks = record.ranks;
  pattern.element_bytes = 1;
  return pattern;
}

void fill(DatasetPattern& to, FileArray& array) {
  InferredShape& from = array.shape;
  to.dataset = name_of(array);
  to.descriptor = std::move(from.described.descriptor);
  to.process_grid = std::move(from.described.process_grid);
  to.halo = std::move(from.described.halo);
  to.ranks = from.described.ranks;
  to.dataset_dims = std::move(from.dims);
  to.element_bytes = from.element_bytes;
  to.ambiguity = std::move(from.ambiguity);
  to.filled_bytes = array.filled_bytes;
}

// All bytes as one array.
FileArray whole_of(const IndexSets& sets, const ShapeHint& hint) {
  FileArray array;
  array.begin = sets.least();
  array.end = sets.end();
  array.shape = verified_shape(sets, hint);
  return array;
}

std::vector<FileArray> arrays_of(const IndexSets& sets,
                                 const std::vector<std::vector<std::uint64_t>>& cuts,
                                 const ShapeHint& hint) {
  if (!hint.row_bytes.empty()) {
    FileArray declared = whole_of(sets, hint);
    if (declared.shape.declared) return {declared};
  }
  const std::vector<std::vector<std::uint64_t>> no_cuts(sets.size());
  const bool one = sets.size() == 1;
  std::vector<FileArray> arrays = split_arrays(sets, one ? no_cuts : cuts, hint);
  if (arrays.empty() || (one && arrays.size() > kMostArraysOfOne)) return {whole_of(sets, hint)};
  return arrays;
}

std::uint64_t irregular_bytes(const std::vector<FileArray>& arrays) {
  std::uint64_t bytes = 0;
  for (const FileArray& one : arrays) {
    if (one.shape.described.process_grid.empty()) bytes += (one.end - one.begin) * one.copies;
  }
  return bytes;
}

// Where ranks moved their parts of what one had moved as a whole before, what they have in the end.
std::vector<FileArray> arrays_after_fills(const ByteRecord& record) {
  std::vector<FileArray> arrays = arrays_of(record.sets, record.cuts, record.hint);
  if (record.filled.empty() || irregular_bytes(arrays) == 0) return arrays;
  const std::optional<UnfilledSets> unfilled = without_fills(record.sets, record.filled);
  if (!unfilled || unfilled->sets.size() != record.sets.size()) return arrays;
  std::vector<FileArray> found = arrays_of(unfilled->sets, record.cuts, record.hint);
  if (irregular_bytes(found) >= irregular_bytes(arrays)) return arrays;
  for (FileArray& one : found) {
    if (one.shape.described.ranks < 2) continue;  // what nobody moved again
    for (const Progression& fill : unfilled->fills) {
      const std::uint64_t begin = std::max(fill.start, one.begin);
      one.filled_bytes += std::max(begin, std::min(fill.end(), one.end)) - begin;
    }
    if (one.filled_bytes == 0) continue;
    one.shape.ambiguity += "; " + std::to_string(one.filled_bytes) +
                           " bytes of it had been moved as a whole before, as fill values are";
  }
  return found;
}

// Bytes of arrays of several ranks, but not of all: of many they may be parts of one.
std::uint64_t bytes_of_some(const std::vector<FileArray>& arrays, std::size_t ranks) {
  std::uint64_t bytes = 0, parts = 0;
  for (const FileArray& one : arrays) {
    const std::uint32_t own = one.shape.described.ranks;
    if (own < 2 || own == ranks || one.shape.described.process_grid.empty()) continue;
    bytes += (one.end - one.begin) * one.copies;
    ++parts;
  }
  return parts < kManyParts ? 0 : bytes;
}

std::vector<FileArray> arrays_of(const ByteRecord& record) {
  std::vector<FileArray> arrays = arrays_after_fills(record);
  const std::size_t ranks = record.sets.size();
  const std::uint64_t half = (arrays.back().end - arrays.front().begin) / 2;
  const bool no_name = irregular_bytes(arrays) > half;
  if (!no_name && bytes_of_some(arrays, ranks) <= half) return arrays;
  std::optional<std::vector<FileArray>> found = in_pieces(record.sets);
  if (found && (no_name || found->front().shape.described.ranks == ranks)) return *found;
  return arrays;
}

std::vector<ByteRange> ranges_of(const std::vector<FileArray>& arrays) {
  std::vector<ByteRange> ranges;
  for (std::uint32_t i = 0; i < arrays.size(); ++i) {
    for (const FileSpan& span : arrays[i].spans) ranges.push_back({span.begin, span.end, i});
    if (!arrays[i].spans.empty()) continue;
    for (std::uint64_t copy = 0; copy < arrays[i].copies; ++copy) {
      const std::uint64_t moved = copy * arrays[i].pitch;
      ranges.push_back({arrays[i].begin + moved, arrays[i].end + moved, i});
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  return ranges;
}

struct Share {
  OwnedTally sum;
  std::uint64_t slowest_ns = 0, repeats = UINT64_MAX;
};

// What each array has of the calls, the bytes and the time of all ranks.
std::vector<Share> shares_of(const ByteRecord& record, const std::vector<FileArray>& arrays) {
  const std::vector<ByteRange> ranges = ranges_of(arrays);
  std::vector<Share> shares(arrays.size());
  for (std::size_t r = 0; r < record.tallies.size(); ++r) {
    const IndexSet set = record.sets.at(r);
    std::vector<std::uint64_t> held(arrays.size());
    for (const ByteRange& range : ranges) {
      if (set.end() <= range.begin || set.first() >= range.end) continue;
      held[range.owner] += set.within(range.begin, range.end).size();
    }
    const std::vector<OwnedTally> owned = divide(record.tallies[r].all(), ranges, arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      Share& to = shares[i];
      to.sum.calls = saturating_sum(to.sum.calls, owned[i].calls);
      to.sum.bytes = saturating_sum(to.sum.bytes, owned[i].bytes);
      to.sum.independent = to.sum.independent || owned[i].independent;
      to.sum.collective = to.sum.collective || owned[i].collective;
      to.sum.through_mpi = to.sum.through_mpi || owned[i].through_mpi;
      to.slowest_ns = std::max(to.slowest_ns, owned[i].nanoseconds);
      if (held[i] == 0) continue;
      to.repeats = std::min(to.repeats, std::max<std::uint64_t>(1, owned[i].bytes / held[i]));
    }
  }
  return shares;
}

// The arrays of a file whose ranks are not known, as one set.
std::string arrays_text(const IndexSets& file) {
  const std::vector<std::vector<std::uint64_t>> no_cuts(file.size());
  std::vector<FileArray> arrays = split_arrays(file, no_cuts, {});
  if (arrays.empty()) {
    FileArray& whole = arrays.emplace_back();
    whole.begin = file.least();
    whole.end = file.end();
    whole.shape = verified_shape(file, {});
  }
  const auto size = [](const FileArray& one) { return (one.end - one.begin) * one.copies; };
  const FileArray& largest =
      *std::max_element(arrays.begin(), arrays.end(),
                        [&](const FileArray& a, const FileArray& b) { return size(a) < size(b); });
  const std::string text =
      largest.shape.described.descriptor.text() + " from byte " + std::to_string(largest.begin);
  if (arrays.size() == 1) return text;
  return std::to_string(arrays.size()) + " arrays, the largest " + text;
}

// What is known of bytes without a place: what aggregators moved for all, where they did.
DatasetPattern unplaced_pattern(const ByteRecord& record, const DatasetPattern& usual) {
  DatasetPattern pattern = usual;
  const OwnedTally& sum = record.unplaced;
  pattern.dataset = record.sets.empty() ? "(bytes)" : "(bytes at ?)";
  pattern.descriptor.dimensions = {{Distribution::kIrregular, record.most_unplaced, 1}};
  pattern.dataset_dims = {record.most_unplaced};
  pattern.ranks = record.unplaced_ranks;
  pattern.calls = sum.calls;
  pattern.bytes = sum.bytes;
  pattern.seconds = seconds_of_ns(sum.nanoseconds);
  pattern.repeats = 1;
  pattern.through_mpi = sum.through_mpi;
  pattern.mode = mode_of(sum.independent, sum.collective);
  pattern.ambiguity = "where the bytes lie is not in the trace";
  const std::size_t aggregators = record.aggregated.size();
  if (aggregators == 0) return pattern;
  std::vector<IndexSet> sets;
  for (std::size_t i = 0; i < aggregators; ++i) sets.push_back(record.aggregated.at(i));
  std::vector<const IndexSet*> pointers;
  for (const IndexSet& set : sets) pointers.push_back(&set);
  const std::optional<IndexSet> all = IndexSet::united(std::move(pointers));
  if (!all) return pattern;
  IndexSets file;
  file.add(*all);
  pattern.ambiguity = (usual.write ? "written by " : "read by ") + std::to_string(aggregators) +
                      (aggregators == 1 ? " aggregator, as " : " aggregators, as ") +
                      arrays_text(file) + "; what each rank held is not in the trace";
  return pattern;
}

// Small pieces of single ranks, where they are many: one pattern for all.
void join_pieces(std::vector<DatasetPattern>& patterns) {
  std::uint64_t largest = 0;
  for (const DatasetPattern& one : patterns) largest = std::max(largest, one.bytes);
  const auto is_piece = [&](const DatasetPattern& one) {
    return one.ranks == 1 && one.bytes <= largest / 8;
  };
  const auto pieces = std::count_if(patterns.begin(), patterns.end(), is_piece);
  if (pieces <= static_cast<std::ptrdiff_t>(kMostPieces)) return;
  std::optional<DatasetPattern> all;
  for (const DatasetPattern& one : patterns) {
    if (!is_piece(one)) continue;
    if (!all) {
      all = one;
      continue;
    }
    all->calls += one.calls;
    all->bytes = saturating_sum(all->bytes, one.bytes);
    all->seconds = std::max(all->seconds, one.seconds);
    all->repeats = std::min(all->repeats, one.repeats);
    if (all->mode != one.mode) all->mode = TransferMode::kMixed;
  }
  std::erase_if(patterns, is_piece);
  all->dataset = "(other bytes)";
  all->descriptor.dimensions = {{Distribution::kIrregular, all->bytes, 1}};
  all->process_grid.clear();
  all->halo.clear();
  all->dataset_dims = {all->bytes};
  all->element_bytes = 1;
  all->ambiguity = std::to_string(pieces) + " small pieces of single ranks are no arrays";
  patterns.push_back(std::move(*all));
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

void ByteRecord::take(ByteRuns& runs, const ByteTallies& moved_by, std::uint64_t nanoseconds) {
  ByteRuns below;
  take(runs, moved_by, nanoseconds, {}, below);
}

void ByteRecord::take(ByteRuns& runs, const ByteTallies& moved_by, std::uint64_t nanoseconds,
                      const OwnedTally& unknown, ByteRuns& below) {
  slowest_nanoseconds = std::max(slowest_nanoseconds, nanoseconds);
  if (const std::optional<IndexSet> set = below.joined(); set && !set->empty()) {
    aggregated.add(*set);
  }
  const std::uint64_t moved = runs.bytes_moved();
  const std::uint64_t both = saturating_sum(moved, unknown.bytes);
  if (both == 0) return;
  bytes = saturating_sum(bytes, both);
  most_bytes = std::max(most_bytes, both);
  ++ranks;
  if (unknown.bytes > 0) take_unknown(unknown);
  if (moved == 0) return;
  const std::optional<IndexSet> set = lost ? std::nullopt : runs.joined();
  if (!set) {
    lost = true;
    sets = {};
    cuts = {};
    tallies = {};
    filled = {};
    repeats = 1;
    return;
  }
  repeats = std::min(repeats, std::max<std::uint64_t>(1, moved / set->size()));
  if (runs.filled()) {
    filled.push_back(*runs.filled());
    filled.back().rank = static_cast<std::uint32_t>(sets.size());
  }
  sets.add(*set);
  cuts.push_back(runs.cuts());
  tallies.push_back(moved_by);
  tallies.back().coarsen(std::max(kFewTallies, kMostTallies / tallies.size()));
}

void ByteRecord::take_unknown(const OwnedTally& more) {
  unplaced.bytes = saturating_sum(unplaced.bytes, more.bytes);
  unplaced.calls = saturating_sum(unplaced.calls, more.calls);
  unplaced.nanoseconds = std::max(unplaced.nanoseconds, more.nanoseconds);
  unplaced.independent = unplaced.independent || more.independent;
  unplaced.collective = unplaced.collective || more.collective;
  unplaced.through_mpi = unplaced.through_mpi || more.through_mpi;
  most_unplaced = std::max(most_unplaced, more.bytes);
  ++unplaced_ranks;
}

std::vector<DatasetPattern> patterns_of(const ByteRecord& record, bool write) {
  if (record.bytes == 0) return {};
  const DatasetPattern usual = pattern_of(record, write);
  if (record.lost) {
    DatasetPattern pattern = usual;
    pattern.dataset = "(bytes)";
    pattern.descriptor.dimensions = {{Distribution::kIrregular, record.most_bytes, 1}};
    pattern.ambiguity = "where the bytes lie is too irregular";
    return {pattern};
  }
  if (record.sets.empty()) return {unplaced_pattern(record, usual)};
  std::vector<FileArray> arrays = arrays_of(record);
  std::vector<DatasetPattern> patterns(arrays.size(), usual);
  const bool divided = arrays.size() > 1 || record.unplaced.bytes > 0;
  const std::vector<Share> shares = divided ? shares_of(record, arrays) : std::vector<Share>();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    DatasetPattern& pattern = patterns[i];
    fill(pattern, arrays[i]);
    if (shares.empty()) continue;
    const Share& share = shares[i];
    pattern.calls = share.sum.calls;
    pattern.bytes = share.sum.bytes;
    pattern.seconds = seconds_of_ns(share.slowest_ns);
    pattern.repeats = share.repeats;
    pattern.through_mpi = share.sum.through_mpi;
    pattern.mode = mode_of(share.sum.independent, share.sum.collective);
  }
  join_pieces(patterns);
  if (record.unplaced.bytes > 0) patterns.push_back(unplaced_pattern(record, usual));
  return patterns;
}

}  // namespace iotune::analyzer
