#include "analyzer/order/accesses/process_accesses.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "analyzer/calls/call_facts.h"
#include "analyzer/order/accesses/pattern_batch.h"
#include "recorder/read/access_words.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallSignature;

bool is_inside(const Call& call, Layer layer) {
  return (call.layers() >> static_cast<unsigned>(layer) & 1U) != 0;
}

std::string text_in(const recorder::Attributes& attributes, const char* key) {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : found->second;
}

}  // namespace

ProcessReader::ProcessReader(const recorder::TraceIndex& index, std::size_t process,
                             std::size_t number, FileNames& names, EventSink* events,
                             Reading reading)
    : number_(number),
      events_(events),
      index_(index),
      walk_(index, process, UINT64_MAX, {}, needs_of(reading)),
      handles_(names, recorder::unsigned_of(index.processes[process].attributes, "wall_ns"),
               text_in(index.processes[process].attributes, "cwd")) {
  const recorder::Attributes& attributes = index.processes[process].attributes;
  const std::string rank = text_in(attributes, "rank");
  done_.rank = rank.empty() ? -1 : std::strtoll(rank.c_str(), nullptr, 10);
  done_.host = text_in(attributes, "host");
  done_.pid = recorder::unsigned_of(attributes, "pid");
  is_of_log_ = text_in(attributes, "rank_from") == "log";
}

// Which handle a call inside of MPI-IO works on is known call by call alone.
recorder::WalkNeeds ProcessReader::needs_of(Reading reading) {
  if (reading == Reading::kByCall) return {};
  const auto suffices = [this](const recorder::CallStream& stream) {
    has_atomic_ |= stream.signature != nullptr && sets_atomicity(*stream.signature);
    return !has_atomic_ && PatternBatch::suffices(stream);
  };
  return {suffices, {}, {}};
}

std::uint64_t ProcessReader::run() {
  std::uint64_t unreadable = 0;
  recorder::CallGroup group;
  while (walk_.next(group)) {
    if (group.totals_of != nullptr) {
      unreadable += PatternBatch(*this).take(*group.totals_of) ? 0 : 1;
    } else {
      take(group);
    }
  }
  return unreadable + walk_.unreadable_batches();
}

ProcessAccesses ProcessReader::take_done() {
  done_.sites = notes_.take_sites();
  return std::move(done_);
}

void ProcessReader::take(const recorder::CallGroup& group) {
  for (const Call* call : group.calls) {
    const CallSignature* const signature = call->signature();
    if (signature != nullptr && facts_of(*signature).note == CallFacts::Note::kDataset) {
      handles_.owners().define_dataset(*call);
    }
  }
  find_calls_around(group);
  rows_.assign(group.calls.size(), {});
  for (const std::uint32_t at : group.by_end) {
    rows_[at] = handles_.follow(followed_ + at, *group.calls[at]);
    const auto& opened = handles_.opened();
    if (opened && opened->first >= followed_)
      rows_[opened->first - followed_].file = opened->second;
  }
  followed_ += group.calls.size();
  for (const std::uint32_t at : group.by_end) note(*group.calls[at], rows_[at], around_[at]);
}

// Calls stand in the order of their starts.
void ProcessReader::find_calls_around(const recorder::CallGroup& group) {
  around_.assign(group.calls.size(), {});
  const CallSignature *mpi = nullptr, *hdf5 = nullptr;
  std::string_view dataset;
  bool atomic = false;
  for (std::size_t at = 0; at < group.calls.size(); ++at) {
    const Call& call = *group.calls[at];
    if (call.signature() == nullptr) continue;
    if (is_inside(call, Layer::kMpiIo)) {
      around_[at].mpi = mpi;
      around_[at].atomic = atomic;
    }
    if (is_inside(call, Layer::kHdf5)) {
      around_[at].hdf5 = hdf5;
      around_[at].dataset = dataset;
    }
    if (call.signature()->layer == Layer::kMpiIo) {
      mpi = call.signature();
      around_[at].atomic = atomic = handles_.is_atomic(call);
    }
    if (call.signature()->layer == Layer::kHdf5) {
      hdf5 = call.signature();
      dataset = dataset_of(call);
    }
  }
}

// The path of the first dataset that a transfer of HDF5 moves data of.
std::string_view ProcessReader::dataset_of(const Call& call) {
  if (!call.signature()->transfer || !read_arguments(call, arguments_)) return {};
  for (const recorder::TransferExtras& one : recorder::transfer_extras(arguments_)) {
    const DatasetDefinition* const definition = handles_.owners().definition(one.object);
    if (definition != nullptr) return notes_.kept(definition->path);
  }
  return {};
}

AccessRun ProcessReader::run_of(std::uint32_t file, bool write, std::int64_t start,
                                std::int64_t length) const {
  AccessRun run;
  run.file = file;
  run.write = write;
  run.segment = done_.events;
  run.start = start;
  run.length = length;
  return run;
}

void ProcessReader::note(const Call& call, const FileHandles::Followed& followed,
                         const CallsAround& around) {
  if (call.signature() == nullptr) return;
  const Layer layer = call.signature()->layer;
  if (layer != Layer::kIotune && layer != Layer::kHdf5) {
    if (call.signature()->transfer) {
      note_transfer(call, followed, around);
    } else {
      note_change(call, followed.file, around);
    }
  }
  const EventKind kind = event_kind(call);
  if (kind != EventKind::kNone) note_event(kind, call, followed.file);
}

void ProcessReader::note_event(EventKind kind, const Call& call, std::uint32_t file) {
  if (events_ != nullptr) events_->event(number_, done_.events, kind, file, call);
  ++done_.events;
}

void ProcessReader::note_transfer(const Call& call, const FileHandles::Followed& followed,
                                  CallsAround around) {
  const CallSignature& signature = *call.signature();
  if (followed.file == FileHandles::kNoFile) return;
  around.commits = followed.commits;
  const recorder::AccessWords words = recorder::access_words(call);
  if (signature.layer == Layer::kMpiIo) {
    if (!followed.pieces || words.result.value_or(-1) != 0) return;
    for (const FileExtent& piece : followed.pieces->extents) {
      if (piece.offset > INT64_MAX || piece.bytes > INT64_MAX) continue;
      notes_.add(signature, around,
                 run_of(followed.file, signature.writes, static_cast<std::int64_t>(piece.offset),
                        static_cast<std::int64_t>(piece.bytes)));
    }
    if (followed.pieces->more || !followed.pieces->unknown.empty()) {
      notes_.add_without_place(followed.file, 1);
    }
    return;
  }
  // What stdio does for itself is its caller's access.
  if (is_inside(call, Layer::kStdio) || words.length_bytes.value_or(0) <= 0) return;
  if (is_inside(call, Layer::kMpiIo) || (followed.inner && call.layers() == 0)) {
    notes_.is_below_mpi(followed.file);
  }
  if (!words.offset_bytes) {
    notes_.add_without_place(followed.file, 1);
    return;
  }
  notes_.add(signature, around,
             run_of(followed.file, signature.writes, *words.offset_bytes, *words.length_bytes));
}

// Calls that change or map bytes and are no transfers.
void ProcessReader::note_change(const Call& call, std::uint32_t file, const CallsAround& around) {
  const std::optional<ChangedBytes> changed = changed_bytes(call, arguments_);
  if (!changed) return;
  if (!changed->path.empty()) file = handles_.named(changed->path, call.start_ns);
  if (file == FileHandles::kNoFile) return;
  notes_.add(*call.signature(), around,
             run_of(file, changed->write, changed->offset, changed->length), changed->truncates);
}

}  // namespace iotune::analyzer
