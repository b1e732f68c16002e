#include "analyzer/bytes/byte_shares.h"

#include <algorithm>

#include "analyzer/calls/call_facts.h"
#include "analyzer/summary/saturating.h"
#include "recorder/read/access_words.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallMeaning;

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

void add_extents(const std::optional<FileExtents>& found, std::uint64_t bytes, ByteRuns& runs) {
  if (!found || found->more || !found->unknown.empty()) {
    runs.add_unknown(bytes);
    return;
  }
  for (const FileExtent& extent : found->extents) runs.add(extent.offset, extent.bytes);
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

// What a transfer says beside its bytes.
ByteShares::Viewed ByteShares::viewed(const Call& call, const FileView* view) {
  Viewed said{FileRecord::kAnywhere, {}};
  if (view == nullptr) return said;
  ShapeHint& hint = said.hint;
  hint.element_bytes = view->element_bytes();
  const std::vector<std::uint64_t>& steps = view->steps_bytes();
  if (!steps.empty()) {
    said.displacement = hint.origin = view->displacement();
    hint.element_bytes = steps.back();
    hint.row_bytes.assign(steps.begin(), steps.end() - 1);
    hint.array_bytes = view->tile_bytes();
  }
  if (hint.element_bytes == 1) {
    const std::int8_t place = call.signature()->meaning.item_bytes_place;
    const std::int64_t type_bytes =
        place == CallMeaning::kNowhere ? 1 : call.numbers[static_cast<std::size_t>(place)];
    if (type_bytes > 1 && type_bytes <= kMaxElementBytes) {
      hint.element_bytes = static_cast<std::uint64_t>(type_bytes);
    }
  }
  return said;
}

void ByteShares::note_mode(const Call& call, bool mpi, ByteRecord& record) {
  const bool all = mpi && facts_of(*call.signature()).collective;
  (all ? record.collective : record.independent) = true;
  record.through_mpi = record.through_mpi || mpi;
}

std::uint64_t ByteShares::follow_all(const recorder::StreamTotals& totals, FileRecord& file,
                                     bool write) {
  const recorder::CallSignature& signature = *totals.stream->signature;
  const CallFacts& facts = facts_of(signature);
  const CallMeaning& meaning = signature.meaning;
  const bool mpi = signature.layer == Layer::kMpiIo;
  Call call{totals.stream.get(), {}, totals.first_start_ns, 0, 0, true};
  const recorder::MovedBytes moved = recorder::moved_bytes(signature);
  std::uint64_t sum = 0;
  Share* share = nullptr;
  std::uint64_t element = 1, origin = 0;
  bool whole = !mpi;
  const int place = meaning.offset_place;
  std::int64_t type_bytes = -1;
  recorder::each_run(totals, place, [&](auto numbers, std::uint64_t calls, std::int64_t step) {
    call.numbers = numbers;
    const std::uint64_t bytes = moved.of(numbers);
    sum = saturating_sum(sum, saturating_product(bytes, calls));
    const auto number = [&](int at) { return numbers[static_cast<std::size_t>(at)]; };
    const bool typed = mpi && meaning.item_bytes_place != CallMeaning::kNowhere;
    const bool same_type = !typed || number(meaning.item_bytes_place) == type_bytes;
    if (share == nullptr || !same_type) {
      if (typed) type_bytes = number(meaning.item_bytes_place);
      const FileView* const view = mpi ? mpi_.view_of(number(meaning.handle_place)) : nullptr;
      const auto [displacement, hint] = viewed(call, view);
      const Target to = target(file, displacement, write);
      note_mode(call, mpi, to.record);
      to.record.take_hint(hint);
      share = &to.share;
      if (mpi && facts.explicit_offset && !facts.shared_pointer && view != nullptr) {
        whole = view->is_whole();
        element = view->element_bytes();
        origin = view->displacement();
      }
    }
    share->calls += calls;
    if (whole) {
      const std::int64_t offset = place < 0 ? -1 : number(place);
      if (offset < 0) {
        share->runs.add_unknown(saturating_product(bytes, calls));
      } else {
        share->runs.add_run(origin + static_cast<std::uint64_t>(offset) * element, bytes, calls,
                            step * static_cast<std::int64_t>(element));
      }
      return true;
    }
    std::vector<std::int64_t> one(numbers.begin(), numbers.end());
    call.numbers = one;
    for (std::uint64_t k = 0; k < calls; ++k) {
      add_extents(mpi_.follow(call, kMaxExtents), bytes, share->runs);
      if (place >= 0) one[static_cast<std::size_t>(place)] += step;
    }
    return true;
  });
  if (share == nullptr) return 0;
  share->first_ns = std::min(share->first_ns, totals.first_start_ns);
  share->nanoseconds =
      saturating_sum(share->nanoseconds, facts.untimed ? UINT64_MAX : totals.sum_ns);
  return sum;
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
  const recorder::AccessWords words = recorder::access_words(call);
  if (!words.length_bytes || *words.length_bytes <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(*words.length_bytes);
  const auto [displacement, hint] = viewed(call, mpi ? mpi_.view() : nullptr);
  const Target to = target(*file, displacement, write);
  to.share.first_ns = std::min(to.share.first_ns, call.start_ns);
  ++to.share.calls;
  to.record.take_hint(hint);
  const bool untimed = facts_of(*call.signature()).untimed;
  to.share.nanoseconds =
      saturating_sum(to.share.nanoseconds, untimed ? UINT64_MAX : call.duration_ns);
  note_mode(call, mpi, to.record);
  if (!mpi) {
    add_bytes(words, to.share.runs);
    if (alike_) moves_.push_back({&to.share, index});
    return;
  }
  add_extents(extents, bytes, to.share.runs);
}

void ByteShares::move_as_member(AlikeRanks& ranks, std::size_t k) {
  for (auto& [record, share] : shares_) share.runs = ByteRuns();
  for (const Move& move : moves_) {
    add_bytes(recorder::access_words(ranks.call_of(move.call, k)), move.share->runs);
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
