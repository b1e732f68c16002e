#include "analyzer/arrays/chunked_array.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "analyzer/arrays/file_rows.h"
#include "analyzer/bytes/infer_shape.h"
#include "analyzer/bytes/verify_shape.h"

namespace iotune::analyzer {
namespace {

constexpr std::uint64_t kLeastPieceBytes = 1024;
constexpr std::uint64_t kLeastPieces = 8;
constexpr std::uint64_t kOthers = 10;  // one byte in so many may lie outside of the pieces

// The length that most bytes are in.
std::uint64_t usual_bytes(const std::vector<FileRun>& runs) {
  std::map<std::uint64_t, std::uint64_t> bytes;
  for (const FileRun& run : runs) bytes[run.bytes] += run.bytes;
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? 0 : most->first;
}

// Of runs in the order of the file: those that touch or overlap are one.
void add_span(std::vector<FileSpan>& spans, const FileRun& run) {
  if (!spans.empty() && run.start <= spans.back().end) {
    spans.back().end = std::max(spans.back().end, run.start + run.bytes);
  } else {
    spans.push_back({run.start, run.start + run.bytes});
  }
}

// Of each rank its runs, which are in the order of the file.
IndexSets sets_of(const std::vector<FileRun>& runs, std::size_t ranks) {
  std::vector<std::vector<Progression>> pieces(ranks);
  for (const FileRun& run : runs) pieces[run.rank].push_back({run.start, 0, 1, run.bytes});
  IndexSets sets;
  for (const std::vector<Progression>& own : pieces) {
    if (own.empty()) continue;
    if (const std::optional<IndexSet> set = IndexSet::of_pieces(own)) sets.add(*set);
  }
  return sets;
}

FileArray part_of(const std::vector<FileRun>& runs) {
  FileArray part;
  for (const FileRun& run : runs) add_span(part.spans, run);
  part.begin = part.spans.front().begin;
  part.end = part.spans.back().end;
  return part;
}

// What of `spans` lies outside of `taken`. Both ascend and overlap nothing of their own.
std::vector<FileSpan> outside_of(const std::vector<FileSpan>& taken,
                                 const std::vector<FileSpan>& spans) {
  std::vector<FileSpan> left;
  std::size_t next = 0;
  for (FileSpan span : spans) {
    while (next < taken.size() && taken[next].end <= span.begin) ++next;
    for (std::size_t i = next; i < taken.size() && taken[i].begin < span.end; ++i) {
      if (taken[i].begin > span.begin) left.push_back({span.begin, taken[i].begin});
      span.begin = std::min(taken[i].end, span.end);
    }
    if (span.begin < span.end) left.push_back(span);
  }
  return left;
}

bool overlap(const std::vector<FileRun>& runs) {
  return std::adjacent_find(runs.begin(), runs.end(), [](const FileRun& a, const FileRun& b) {
           return a.start + a.bytes > b.start;
         }) != runs.end();
}

}  // namespace

std::optional<std::vector<FileArray>> in_pieces(const IndexSets& ranks) {
  const std::vector<FileRun> runs = runs_of(ranks, {});
  const std::uint64_t piece = usual_bytes(runs);
  if (piece < kLeastPieceBytes) return std::nullopt;
  std::vector<FileRun> pieces, others, joined;
  std::uint64_t held = 0, other_bytes = 0;
  for (const FileRun& run : runs) {
    const bool is_piece = run.bytes % piece == 0;
    (is_piece ? pieces : others).push_back(run);
    (is_piece ? held : other_bytes) += run.bytes;
  }
  if (held / piece < std::max<std::uint64_t>(kLeastPieces, ranks.size()) ||
      other_bytes > held / kOthers || overlap(pieces)) {
    return std::nullopt;
  }
  FileArray array = part_of(pieces);
  const std::uint64_t all = array.end - array.begin;
  // What lies together has had its chance, and what is scattered is no array.
  if (array.spans.size() < 2 || all - held > held / 2) return std::nullopt;
  for (const FileRun& run : pieces) {
    const std::uint64_t start = joined.empty() ? 0 : joined.back().start + joined.back().bytes;
    joined.push_back({start, run.bytes, run.rank});
  }
  const IndexSets sets = sets_of(joined, ranks.size());
  array.shape = verified_shape(sets, {});
  if (array.shape.described.process_grid.empty() || sets.size() < 2) return std::nullopt;
  array.piece_bytes = piece;
  array.shape.first_byte = array.begin;
  array.shape.ambiguity += "; it lies in " + std::to_string(held / piece) + " pieces of " +
                           std::to_string(piece) + " bytes, as chunks do, with " +
                           std::to_string(all - held) + " other bytes between them";
  std::vector<FileArray> found{std::move(array)};
  if (others.empty()) return found;
  // HDF5 writes tables where a chunk comes to lie later: such a byte is of the chunk alone.
  FileArray rest = part_of(others);
  rest.spans = outside_of(found.front().spans, rest.spans);
  if (rest.spans.empty()) return found;
  rest.shape = irregular_shape(sets_of(others, ranks.size()), 1);
  rest.shape.ambiguity = std::to_string(others.size()) + " small runs between them are no arrays";
  found.push_back(std::move(rest));
  return found;
}

}  // namespace iotune::analyzer
