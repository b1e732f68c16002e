#include "analyzer/bytes/byte_shares.h"

#include <algorithm>
#include <string_view>

#include "analyzer/call_facts.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::Layer;

// Of one call; a view that scatters it over more is too irregular.
constexpr std::size_t kMaxExtents = std::size_t{1} << 20U;
// Displacements of one file that are kept apart. A program that moves its view on with every step
// has any number.
constexpr std::size_t kMaxDisplacements = 64;
// What is no larger may be an element.
constexpr std::int64_t kMaxElementBytes = 16;

void add_bytes(const recorder::AccessWords& words, ByteRuns& runs) {
  const auto bytes = static_cast<std::uint64_t>(words.length_bytes.value_or(0));
  if (words.offset_bytes) {
    runs.add(static_cast<std::uint64_t>(*words.offset_bytes), bytes);
  } else {
    runs.add_unknown(bytes);
  }
}

}  // namespace

ByteShares::Target ByteShares::target(FileRecord& file, std::uint64_t displacement, bool write) {
  if (displacement != FileRecord::kAnywhere && file.bytes.size() >= kMaxDisplacements &&
      !file.bytes.contains({displacement, write})) {
    displacement = FileRecord::kAnywhere;
  }
  ByteRecord& record = file.bytes[{displacement, write}];
  return {record, shares_[&record]};
}

void ByteShares::follow(std::size_t index, const Call& call, FileRecord* file, bool write) {
  if (call.signature() == nullptr) return;
  const bool mpi = call.signature()->layer == Layer::kMpiIo;
  std::optional<FileExtents> extents;
  // What HDF5 does below itself is not asked for; the note on a view stands inside its call.
  const bool is_view = facts_of(*call.signature()).note == CallFacts::Note::kView;
  if ((mpi && call.layers() == 0) || is_view) {
    extents = mpi_.follow(call, kMaxExtents);
  }
  if (file == nullptr) return;
  const recorder::AccessWords words = words_.of(call);
  if (!words.length_bytes || *words.length_bytes <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(*words.length_bytes);
  std::uint64_t displacement = FileRecord::kAnywhere;
  ShapeHint hint;
  if (const FileView* const view = mpi ? mpi_.view() : nullptr; view != nullptr) {
    hint.element_bytes = view->element_bytes();
    const std::vector<std::uint64_t>& steps = view->steps_bytes();
    if (!steps.empty()) {
      displacement = hint.origin = view->displacement();
      hint.element_bytes = steps.back();
      hint.row_bytes.assign(steps.begin(), steps.end() - 1);
      hint.array_bytes = view->tile_bytes();
    }
    if (hint.element_bytes == 1) {
      const std::int8_t place = facts_of(*call.signature()).type_bytes_place;
      const std::int64_t type_bytes =
          place == CallFacts::kNoPlace ? 1 : call.numbers[static_cast<std::size_t>(place)];
      if (type_bytes > 1 && type_bytes <= kMaxElementBytes) {
        hint.element_bytes = static_cast<std::uint64_t>(type_bytes);
      }
    }
  }
  const Target to = target(*file, displacement, write);
  to.share.first_ns = std::min(to.share.first_ns, call.start_ns);
  ++to.share.calls;
  to.record.take_hint(hint);
  to.share.nanoseconds += call.duration_ns;
  if (!mpi) {
    to.record.independent = true;
    add_bytes(words, to.share.runs);
    if (alike_) moves_.push_back({&to.share, index});
    return;
  }
  const bool all = call.name().find("_all") != std::string::npos ||
                   call.name().find("_ordered") != std::string::npos;
  (all ? to.record.collective : to.record.independent) = true;
  to.record.through_mpi = true;
  if (!extents || extents->more || !extents->unknown.empty()) {
    to.share.runs.add_unknown(bytes);
    return;
  }
  for (const FileExtent& extent : extents->extents) to.share.runs.add(extent.offset, extent.bytes);
}

void ByteShares::move_as_member(AlikeRanks& ranks, std::size_t k) {
  for (auto& [record, share] : shares_) share.runs = ByteRuns();
  for (const Move& move : moves_) {
    add_bytes(words_.of(ranks.call_of(move.call, k)), move.share->runs);
  }
}

void ByteShares::finish_member(std::uint64_t wall_ns) {
  for (auto& [record, share] : shares_) {
    record->first_transfer_ns = std::min(record->first_transfer_ns, wall_ns + share.first_ns);
    record->calls += share.calls;
    record->take(share.runs, share.nanoseconds);
  }
}

}  // namespace iotune::analyzer
