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

// Equal extents at equal steps, or all that lies between the first and the last.
Progression place_of(const std::vector<FileExtent>& extents) {
  std::uint64_t first = UINT64_MAX, end = 0;
  const std::uint64_t stride = extents.size() > 1 ? extents[1].offset - extents[0].offset : 0;
  bool even = extents.size() > 1 && extents[1].offset > extents[0].offset;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    first = std::min(first, extents[i].offset);
    end = std::max(end, extents[i].offset + extents[i].bytes);
    even = even && extents[i].bytes == extents[0].bytes &&
           (i == 0 || extents[i].offset - extents[i - 1].offset == stride);
  }
  if (even) return {first, stride, extents.size(), extents[0].bytes};
  return {first, 0, 1, end - first};
}

// Of calls at equal steps.
Progression place_of_run(std::uint64_t start, std::uint64_t bytes, std::uint64_t calls,
                         std::int64_t step) {
  if (calls == 1 || step == 0) return {start, 0, 1, bytes};
  const auto stride = static_cast<std::uint64_t>(step);
  if (step > 0 && stride > bytes) return {start, stride, calls, bytes};
  if (step > 0) return {start, 0, 1, (calls - 1) * stride + bytes};
  return {start + (calls - 1) * stride, 0, 1, bytes - (calls - 1) * stride};
}

std::uint64_t time_of(const Call& call) {
  return facts_of(*call.signature()).untimed ? UINT64_MAX : call.duration_ns;
}

}  // namespace

// `tally`: without a place.
void ByteShares::add_bytes(const recorder::AccessWords& words, Tally tally, Share& to) {
  if (!words.offset_bytes) {
    to.unknown.add(tally);
    return;
  }
  const auto offset = static_cast<std::uint64_t>(*words.offset_bytes);
  to.runs.add(offset, tally.bytes);
  tally.place = {offset, 0, 1, tally.bytes};
  to.tallies.add(tally);
}

void ByteShares::add_extents(const std::optional<FileExtents>& found, Tally tally, Share& to) {
  if (!found || found->more || !found->unknown.empty()) {
    to.unknown.add(tally);
    return;
  }
  for (const FileExtent& extent : found->extents) to.runs.add(extent.offset, extent.bytes);
  if (found->extents.empty()) return;
  tally.place = place_of(found->extents);
  to.tallies.add(tally);
}

bool ByteShares::are_placed(const recorder::StreamTotals& totals) const {
  const recorder::CallSignature& signature = *totals.stream->signature;
  if (signature.layer != Layer::kMpiIo || !signature.transfer) return true;
  const CallFacts& facts = facts_of(signature);
  const int place = signature.meaning.handle_place;
  if (facts.shared_pointer || place < 0 || totals.calls == 0) return false;
  bool known = true;
  recorder::each_run(totals, place, [&](auto numbers, std::uint64_t, std::int64_t) {
    const FileView* const view = mpi_.view_of(numbers[static_cast<std::size_t>(place)]);
    known = view != nullptr && view->is_known();
    return known;
  });
  return known;
}

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
  // Of the stream's time a call has what it has of its calls.
  const auto tally_of = [&](std::uint64_t bytes, std::uint64_t calls) {
    const auto part = static_cast<unsigned __int128>(totals.sum_ns) * calls / totals.calls;
    return Tally{{},
                 saturating_product(bytes, calls),
                 calls,
                 facts.untimed ? UINT64_MAX : static_cast<std::uint64_t>(part),
                 mpi && facts.collective,
                 mpi};
  };
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
        share->unknown.add(tally_of(bytes, calls));
      } else {
        const std::uint64_t start = origin + static_cast<std::uint64_t>(offset) * element;
        const std::int64_t bytes_step = step * static_cast<std::int64_t>(element);
        share->runs.add_run(start, bytes, calls, bytes_step);
        Tally tally = tally_of(bytes, calls);
        tally.place = place_of_run(start, bytes, calls, bytes_step);
        share->tallies.add(tally);
      }
      return true;
    }
    std::vector<std::int64_t> one(numbers.begin(), numbers.end());
    call.numbers = one;
    for (std::uint64_t k = 0; k < calls; ++k) {
      add_extents(mpi_.follow(call, kMaxExtents), tally_of(bytes, 1), *share);
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
  if (file == nullptr) {
    if (mpi && call.layers() == 0) below_.forget(call.thread);
    return;
  }
  const std::vector<FileExtent> below =
      mpi ? below_.take(call.thread, *file, write) : std::vector<FileExtent>();
  const recorder::AccessWords words = recorder::access_words(call);
  if (!words.length_bytes || *words.length_bytes <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(*words.length_bytes);
  const auto [displacement, hint] = viewed(call, mpi ? mpi_.view() : nullptr);
  const Target to = target(*file, displacement, write);
  to.share.first_ns = std::min(to.share.first_ns, call.start_ns);
  ++to.share.calls;
  to.record.take_hint(hint);
  const std::uint64_t nanoseconds = time_of(call);
  to.share.nanoseconds = saturating_sum(to.share.nanoseconds, nanoseconds);
  note_mode(call, mpi, to.record);
  const Tally tally{{}, bytes, 1, nanoseconds, mpi && facts_of(*call.signature()).collective, mpi};
  if (!mpi) {
    add_bytes(words, tally, to.share);
    if (alike_) moves_.push_back({&to.share, index, nanoseconds});
    return;
  }
  if (extents && !extents->unknown.empty() && !below.empty()) {
    std::uint64_t moved = 0;
    for (const FileExtent& extent : below) moved += extent.bytes;
    if (tally.collective) {
      // By whom the bytes went to the file, and not whose they are.
      for (const FileExtent& extent : below) to.share.below.add(extent.offset, extent.bytes);
    } else if (moved == bytes) {
      extents = FileExtents{below, false, {}};
    }
  }
  add_extents(extents, tally, to.share);
}

void ByteShares::move_as_member(AlikeRanks& ranks, std::size_t k) {
  for (auto& [record, share] : shares_) {
    share.runs = ByteRuns();
    share.tallies = ByteTallies();
    share.unknown = {};
  }
  for (const Move& move : moves_) {
    const recorder::AccessWords words = recorder::access_words(ranks.call_of(move.call, k));
    const auto bytes = static_cast<std::uint64_t>(words.length_bytes.value_or(0));
    add_bytes(words, {{}, bytes, 1, move.nanoseconds, false, false}, *move.share);
  }
}

void ByteShares::finish_member(std::uint64_t wall_ns) {
  for (auto& [record, share] : shares_) {
    record->first_transfer_ns = std::min(record->first_transfer_ns, wall_ns + share.first_ns);
    record->calls += share.calls;
    record->take(share.runs, share.tallies, share.nanoseconds, share.unknown, share.below);
  }
}

}  // namespace iotune::analyzer
