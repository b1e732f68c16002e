#include "analyzer/order/accesses/pattern_batch.h"

#include <algorithm>
#include <utility>

#include "analyzer/calls/call_facts.h"
#include "recorder/read/access_words.h"
#include "recorder/read/trace_blocks/events_decoder.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallMeaning;
using recorder::CallSignature;
using recorder::CallStream;
using recorder::StreamTotals;

bool is_inside(const CallStream& stream, Layer layer) {
  return (stream.layers >> static_cast<unsigned>(layer) & 1U) != 0;
}

std::int64_t number_at(std::span<const std::int64_t> numbers, int place) {
  const auto at = static_cast<std::size_t>(place);
  return place >= 0 && at < numbers.size() ? numbers[at] : 0;
}

}  // namespace

// HDF5 says of which dataset a call is; views are followed call by call.
bool PatternBatch::suffices(const CallStream& stream) {
  if (stream.signature == nullptr) return true;
  const CallFacts& facts = facts_of(*stream.signature);
  if (stream.signature->layer == Layer::kHdf5 || is_inside(stream, Layer::kHdf5)) return false;
  return facts.note != CallFacts::Note::kView && facts.note != CallFacts::Note::kDataset;
}

PatternBatch::Way PatternBatch::way_of(const CallStream& stream) {
  if (stream.signature == nullptr) return Way::kPassOver;
  const CallSignature& signature = *stream.signature;
  const CallMeaning& meaning = signature.meaning;
  const CallFacts& facts = facts_of(signature);
  if (signature.layer == Layer::kMpiIo) {
    return signature.transfer && facts.explicit_offset ? Way::kByView : Way::kOneByOne;
  }
  if (signature.layer == Layer::kIotune) {
    return facts.note == CallFacts::Note::kFile ? Way::kOneByOne : Way::kPassOver;
  }
  if (signature.transfer) {
    const bool plain = meaning.offset_place >= 0 && meaning.bytes_place >= 0;
    return plain ? Way::kByOffset : Way::kOneByOne;
  }
  const bool changes = changes_bytes(signature) || facts.waits_for_note;
  return changes || event_kind_of(signature) != EventKind::kNone ? Way::kOneByOne : Way::kPassOver;
}

bool PatternBatch::take(const recorder::EventsPlace& place) {
  if (!recorder::decode_patterns(recorder::read_payload(reader_.index_, place), batch_)) {
    return false;
  }
  for (const StreamTotals& totals : batch_.streams) {
    Cursor& cursor = cursors_.emplace_back();
    cursor.way = way_of(*totals.stream);
    const CallSignature* const signature = totals.stream->signature;
    cursor.is_event = signature != nullptr && event_kind_of(*signature) != EventKind::kNone;
  }
  find_calls_around();
  for (std::size_t i = 0; i < batch_.order.size(); ++i) {
    const auto [what, calls] = batch_.order[i];
    if (what < batch_.streams.size()) {
      take_row(what, calls, around_of(what, i, 0));
    } else {
      take_turns(batch_.turns[what - batch_.streams.size()], calls, i);
    }
  }
  flush_open();
  return true;
}

// A call ends before the one around it does.
void PatternBatch::find_calls_around() {
  mpi_from_.assign(batch_.order.size() + 1, nullptr);
  const auto mpi = [&](std::size_t stream) -> const CallSignature* {
    const CallSignature* const signature = batch_.streams[stream].stream->signature;
    return signature != nullptr && signature->layer == Layer::kMpiIo ? signature : nullptr;
  };
  for (std::size_t i = batch_.order.size(); i-- > 0;) {
    const std::uint64_t what = batch_.order[i].what;
    mpi_from_[i] = mpi_from_[i + 1];
    if (what < batch_.streams.size()) {
      if (mpi(what) != nullptr) mpi_from_[i] = mpi(what);
      continue;
    }
    const std::vector<std::uint32_t>& turns = batch_.turns[what - batch_.streams.size()];
    const std::size_t present = std::min<std::uint64_t>(turns.size(), batch_.order[i].calls);
    for (std::size_t k = present; k-- > 0;) {
      if (mpi(turns[k]) != nullptr) mpi_from_[i] = mpi(turns[k]);
    }
  }
}

// `place`: in the turns of the pair.
CallsAround PatternBatch::around_of(std::size_t stream, std::size_t pair, std::size_t place) const {
  CallsAround around;
  if (!is_inside(*batch_.streams[stream].stream, Layer::kMpiIo)) return around;
  const std::uint64_t what = batch_.order[pair].what;
  if (what >= batch_.streams.size()) {
    const std::vector<std::uint32_t>& turns = batch_.turns[what - batch_.streams.size()];
    for (std::size_t k = 1; k < turns.size(); ++k) {
      const CallSignature* const signature =
          batch_.streams[turns[(place + k) % turns.size()]].stream->signature;
      if (signature == nullptr || signature->layer != Layer::kMpiIo) continue;
      around.mpi = signature;
      return around;
    }
  }
  around.mpi = mpi_from_[pair + 1];
  return around;
}

void PatternBatch::take_row(std::size_t stream, std::uint64_t calls, const CallsAround& around) {
  const Cursor& cursor = cursors_[stream];
  if (cursor.way == Way::kByOffset || cursor.way == Way::kByView) {
    flush_open();
    take_accesses(stream, calls, reader_.done_.events, 0, around);
    return;
  }
  if (cursor.way == Way::kPassOver) {
    advance(stream, calls);
    return;
  }
  for (; calls > 0; --calls) take_one(stream, around);
}

// Whether each stream comes once and the calls between events may be taken stream by stream.
bool PatternBatch::may_be_woven(const std::vector<std::uint32_t>& turns) const {
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Cursor& cursor = cursors_[turns[i]];
    const CallStream& stream = *batch_.streams[turns[i]].stream;
    if (cursor.way == Way::kOneByOne &&
        (!cursor.is_event || facts_of(*stream.signature).waits_for_note)) {
      return false;
    }
    // Which of its calls are events depends on their numbers.
    if (stream.signature != nullptr && is_event_by_numbers(*stream.signature)) return false;
    if (std::count(turns.begin(), turns.end(), turns[i]) > 1) return false;
  }
  return true;
}

void PatternBatch::take_turns(const std::vector<std::uint32_t>& turns, std::uint64_t calls,
                              std::size_t pair) {
  if (calls >= 2 * turns.size() && may_be_woven(turns)) {
    weave(turns, calls, pair);
    return;
  }
  for (std::uint64_t k = 0; k < calls; ++k) {
    const std::size_t place = k % turns.size();
    take_row(turns[place], 1, around_of(turns[place], pair, place));
  }
}

void PatternBatch::weave(const std::vector<std::uint32_t>& turns, std::uint64_t calls,
                         std::size_t pair) {
  flush_open();
  const std::uint64_t begin = reader_.done_.events;
  std::uint64_t in_turn = 0, before = 0;
  for (const std::uint32_t stream : turns) in_turn += cursors_[stream].is_event ? 1 : 0;
  for (std::size_t place = 0; place < turns.size(); ++place) {
    const std::size_t stream = turns[place];
    const std::uint64_t own = calls / turns.size() + (place < calls % turns.size() ? 1 : 0);
    const Cursor& cursor = cursors_[stream];
    if (cursor.way == Way::kByOffset || cursor.way == Way::kByView) {
      take_accesses(stream, own, begin + before, static_cast<std::int64_t>(in_turn),
                    around_of(stream, pair, place));
    } else if (!cursor.is_event) {
      advance(stream, own);
    }
    before += cursor.is_event ? 1 : 0;
  }
  if (in_turn == 0) return;
  for (std::uint64_t k = 0; k < calls; ++k) {
    const std::size_t place = k % turns.size();
    if (!cursors_[turns[place]].is_event) continue;
    take_one(turns[place], around_of(turns[place], pair, place));
  }
}

std::uint64_t PatternBatch::next_numbers(std::size_t stream, std::uint64_t most,
                                         std::int64_t& step) {
  const std::uint64_t calls = batch_.streams[stream].runs.empty() ? next_alike(stream, most, step)
                                                                  : next_in_run(stream, step);
  return std::min(calls, most);
}

std::uint64_t PatternBatch::next_in_run(std::size_t stream, std::int64_t& step) {
  const StreamTotals& totals = batch_.streams[stream];
  const Cursor& cursor = cursors_[stream];
  const int offset = totals.stream->signature->meaning.offset_place;
  const std::size_t width = totals.width;
  const auto run = std::span(totals.runs).subspan(cursor.run * (2 * width + 1), 2 * width + 1);
  const auto strides = run.subspan(1 + width);
  bool others_stay = true;
  numbers_.resize(width);
  for (std::size_t d = 0; d < width; ++d) {
    numbers_[d] = static_cast<std::int64_t>(static_cast<std::uint64_t>(run[1 + d]) +
                                            cursor.of_run * static_cast<std::uint64_t>(strides[d]));
    others_stay = others_stay && (strides[d] == 0 || static_cast<int>(d) == offset);
  }
  step = number_at(strides, offset);
  return others_stay ? static_cast<std::uint64_t>(run[0]) - cursor.of_run : 1;
}

std::uint64_t PatternBatch::next_alike(std::size_t stream, std::uint64_t most, std::int64_t& step) {
  const StreamTotals& totals = batch_.streams[stream];
  const int offset = totals.stream->signature->meaning.offset_place;
  const std::size_t width = totals.width;
  const auto of = [&](std::uint64_t call) {
    return std::span(totals.stream->numbers).subspan(call * width, width);
  };
  const std::uint64_t first = cursors_[stream].taken;
  numbers_.assign(of(first).begin(), of(first).end());
  const std::uint64_t end = first + std::min(most, totals.calls - first);
  std::uint64_t next = first + 1;
  for (; next < end; ++next) {
    const auto before = of(next - 1), now = of(next);
    const std::int64_t grown =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(number_at(now, offset)) -
                                  static_cast<std::uint64_t>(number_at(before, offset)));
    if (next == first + 1) step = grown;
    bool alike = grown == step;
    for (std::size_t d = 0; d < width && alike; ++d) {
      alike = now[d] == before[d] || static_cast<int>(d) == offset;
    }
    if (!alike) break;
  }
  return next - first;
}

void PatternBatch::advance(std::size_t stream, std::uint64_t calls) {
  const StreamTotals& totals = batch_.streams[stream];
  Cursor& cursor = cursors_[stream];
  cursor.taken += calls;
  if (totals.runs.empty()) return;
  const std::size_t width = 2 * totals.width + 1;
  while (calls > 0) {
    const auto in_run = static_cast<std::uint64_t>(totals.runs[cursor.run * width]);
    const std::uint64_t now = std::min(calls, in_run - cursor.of_run);
    calls -= now;
    cursor.of_run += now;
    if (cursor.of_run < in_run) return;
    ++cursor.run;
    cursor.of_run = 0;
  }
}

void PatternBatch::flush_open() {
  if (!open_) return;
  open_->call.numbers = open_->numbers;
  reader_.note(open_->call, {}, open_->around);
  open_.reset();
}

void PatternBatch::take_one(std::size_t stream, const CallsAround& around) {
  const StreamTotals& totals = batch_.streams[stream];
  std::int64_t step = 0;
  next_numbers(stream, 1, step);
  // Between the first and the last call of the stream times are in even steps.
  const std::uint64_t span = totals.last_end_ns - totals.first_start_ns;
  const std::uint64_t at =
      totals.first_start_ns + static_cast<std::uint64_t>(static_cast<unsigned __int128>(span) *
                                                         cursors_[stream].taken / totals.calls);
  const Call call{totals.stream.get(), numbers_, at, 0, 0, false};
  advance(stream, 1);
  const bool is_note = totals.stream->signature->layer == Layer::kIotune;
  if (!is_note) flush_open();
  const FileHandles::Followed followed = reader_.handles_.follow(reader_.followed_++, call);
  if (is_note) {
    const auto& opened = reader_.handles_.opened();
    if (!open_ || !opened || opened->first != open_->number) return;
    open_->call.numbers = open_->numbers;
    FileHandles::Followed of_open;
    of_open.file = opened->second;
    reader_.note(open_->call, of_open, open_->around);
    open_.reset();
    return;
  }
  if (facts_of(*totals.stream->signature).waits_for_note) {
    open_.emplace(Open{reader_.followed_ - 1, call, numbers_, around});
    return;
  }
  reader_.note(call, followed, around);
}

void PatternBatch::take_accesses(std::size_t stream, std::uint64_t calls, std::uint64_t segment,
                                 std::int64_t segment_step, const CallsAround& around) {
  const StreamTotals& totals = batch_.streams[stream];
  const CallSignature& signature = *totals.stream->signature;
  const CallMeaning& meaning = signature.meaning;
  const bool by_view = cursors_[stream].way == Way::kByView;
  const recorder::MovedBytes moved = recorder::moved_bytes(signature);
  while (calls > 0) {
    std::int64_t step = 0;
    std::uint64_t now = next_numbers(stream, calls, step);
    const Call call{totals.stream.get(), numbers_, 0, 0, 0, false};
    const FileHandles::Followed followed = reader_.handles_.look(call);
    std::int64_t start = number_at(numbers_, meaning.offset_place), element = 1;
    const FileView* const view =
        by_view ? reader_.handles_.mpi().view_of(handle_of(call).value_or(-1)) : nullptr;
    if (by_view && (view == nullptr || !view->is_whole())) {
      // One by one: their pieces are found by the view.
      const FileHandles::Followed one = reader_.handles_.follow(reader_.followed_, call);
      const std::uint64_t events = std::exchange(reader_.done_.events, segment);
      reader_.note_transfer(call, one, around);
      reader_.done_.events = events;
      now = 1;
    } else if (const std::uint64_t bytes = moved.of(numbers_);
               bytes > 0 && bytes <= INT64_MAX && followed.file != FileHandles::kNoFile &&
               !is_inside(*totals.stream, Layer::kStdio)) {
      if (by_view) {
        element = static_cast<std::int64_t>(view->element_bytes());
        start = static_cast<std::int64_t>(view->displacement()) + start * element;
      } else if (is_inside(*totals.stream, Layer::kMpiIo) ||
                 (followed.inner && totals.stream->layers == 0)) {
        reader_.notes_.is_below_mpi(followed.file);
      }
      if (start < 0) {
        reader_.notes_.add_without_place(followed.file, now = 1);
      } else {
        AccessRun run = reader_.run_of(followed.file, signature.writes, start,
                                       static_cast<std::int64_t>(bytes));
        run.segment = segment;
        if (now > 1) {
          run.levels.push_back({step * element, static_cast<std::int64_t>(now), segment_step});
        }
        CallsAround own = around;
        own.commits = followed.commits;
        reader_.notes_.add(signature, own, std::move(run));
      }
    }
    advance(stream, now);
    reader_.followed_ += now;
    calls -= now;
    segment += now * static_cast<std::uint64_t>(segment_step);
  }
}

}  // namespace iotune::analyzer
