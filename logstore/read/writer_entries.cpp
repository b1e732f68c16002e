#include "logstore/read/writer_entries.h"

#include <algorithm>

#include "logstore/format.h"
#include "logstore/read/block_lists.h"
#include "logstore/read/block_nests.h"

namespace iotune::logstore {
namespace {

constexpr std::int64_t kMostTime = std::int64_t{1} << 61;  // ns, some 73 years

Error problem(const std::string& writer, const std::string& what) {
  return {writer + kIndexEnding, what};
}

// Of the reader of one index: what a block must go on from.
class Assembly {
 public:
  Assembly(const IndexHead& head, std::size_t most, std::size_t block_nests, WriterEntries& to)
      : head_(head), most_(most), block_nests_(block_nests), to_(to) {}

  NestProblem add(const BlockLists& block) {
    if (block.position < to_.position || block.physical < to_.physical) {
      return NestProblem::kBroken;
    }
    if (to_.count() + block.knots.size() + block.holes.size() > most_) {
      return NestProblem::kTooMany;
    }
    const std::size_t knots = to_.knots.size();
    const bool has_entries = !block.terms.empty() || !block.holes.empty();
    if (!add_knots(block) || (has_entries && to_.knots.empty())) {
      to_.knots.resize(knots);
      return NestProblem::kBroken;
    }
    const std::size_t nests = to_.nests.size();
    std::int64_t bytes = 0;
    const std::size_t room = most_ - to_.count() - block.holes.size();
    auto problem = append_block_nests(block, std::min(room, block_nests_), to_.nests, bytes);
    if (problem == NestProblem::kNone && bytes > block.log_bytes - block.physical) {
      problem = NestProblem::kBroken;
    }
    if (problem != NestProblem::kNone) {
      to_.nests.resize(nests);
      to_.knots.resize(knots);
      return problem;
    }
    to_.position = block.position + block.rows;
    to_.physical = block.physical + bytes;
    for (const BlockPair& hole : block.holes) {
      const bool truncates = hole.second == 0;
      const std::int64_t end = truncates ? kLargestFile : hole.first + hole.second;
      to_.holes.push_back({to_.position++, hole.first, end, truncates});
    }
    return problem;
  }

 private:
  bool add_knots(const BlockLists& block) {
    for (const BlockPair& knot : block.knots) {
      if (knot.first < 0 || knot.first > kLargestFile - block.position) return false;
      if (knot.second < -kMostTime || knot.second > kMostTime) return false;
      const analyzer::TimeKnot one{block.position + knot.first,
                                   head_.begin_ns + head_.shift_ns + knot.second};
      if (!to_.knots.empty() &&
          (one.position <= to_.knots.back().position || one.time < to_.knots.back().time)) {
        return false;
      }
      to_.knots.push_back(one);
    }
    return true;
  }

  IndexHead head_;
  std::size_t most_;
  std::size_t block_nests_;
  WriterEntries& to_;
};

// Leaves out what the log does not hold, unless a durable block vouches for it.
void compare_with_log(WriterEntries& entries, WriterReport& report) {
  report.unplaced_bytes = std::max<std::int64_t>(0, report.log_bytes - entries.physical);
  report.missing_bytes = std::max<std::int64_t>(
      0, std::min(report.durable_bytes, entries.physical) - report.log_bytes);
  const std::int64_t limit = std::max(report.log_bytes, report.durable_bytes);
  if (entries.physical <= limit) return;
  std::vector<analyzer::Nest> kept;
  for (const analyzer::Nest& nest : entries.nests) {
    report.dropped_bytes += keep_whole_accesses(nest, limit, kept);
  }
  entries.nests = std::move(kept);
}

}  // namespace

std::optional<Error> read_writer(std::uint64_t container_id, const WriterBytes& writer,
                                 std::size_t most, const ReadLimits& limits, WriterEntries& to,
                                 WriterReport& report) {
  report.unplaced_bytes = report.log_bytes;
  if (writer.index.size() < kHeadBytes) {
    report.index_bytes_lost = writer.index.size();
    return std::nullopt;
  }
  IndexHead head{};
  std::uint32_t version = 0;
  switch (read_index_head(writer.index.first<kHeadBytes>(), head, version)) {
    case HeadProblem::kNewer:
      return problem(writer.name, "is of version " + std::to_string(version) +
                                      " of the log store; this iotune reads " +
                                      std::to_string(kFormatVersion));
    case HeadProblem::kUnknownFlags:
      return problem(writer.name, "has flags that this iotune does not know");
    case HeadProblem::kNotOurs:
    case HeadProblem::kDamaged:
      report.index_bytes_lost = writer.index.size();
      return std::nullopt;
    case HeadProblem::kNone:
      break;
  }
  if (head.container_id != container_id) return problem(writer.name, "is of another container");
  report.has_index = true;
  if (std::max(std::abs(head.begin_ns / 2), std::abs(head.shift_ns / 2)) > kMostTime / 2) {
    report.index_bytes_lost = writer.index.size();
    return std::nullopt;
  }
  const auto covered = static_cast<std::size_t>(std::max<std::int64_t>(writer.covered_bytes, 0));
  const std::size_t from = std::clamp(covered, kHeadBytes, writer.index.size());
  to.position = writer.covered_end.position;
  to.physical = writer.covered_end.physical;
  BlockScanner blocks(writer.index.subspan(from), limits);
  Assembly assembly(head, most, limits.block_nests, to);
  while (const auto block = blocks.next()) {
    switch (assembly.add(*block)) {
      case NestProblem::kTooMany:
        return problem(writer.name, "has more entries than the limit allows");
      case NestProblem::kBroken:
        blocks.refuse_last();
        continue;
      case NestProblem::kNone:
        break;
    }
    if ((block->flags & kDurable) != 0) {
      report.durable_bytes = std::max(report.durable_bytes, block->log_bytes);
    }
  }
  report.index_bytes_lost = blocks.bytes_passed_over();
  report.entries = to.position;
  compare_with_log(to, report);
  return std::nullopt;
}

}  // namespace iotune::logstore
