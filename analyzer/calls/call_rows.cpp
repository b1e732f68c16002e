#include "analyzer/calls/call_rows.h"

#include <algorithm>
#include <charconv>

#include "recorder/read/losses.h"

namespace iotune::analyzer {
namespace {

using recorder::Attributes;
using recorder::Call;
using recorder::ProcessSection;

constexpr std::size_t kShownExtents = 4;

std::int64_t rank_of(const Attributes& attributes) {
  const auto found = attributes.find("rank");
  std::int64_t rank = -1;
  if (found != attributes.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), rank);
  }
  return rank;
}

}  // namespace

std::int32_t CallRows::Names::of(const std::string& name) {
  const auto [found, added] = index.try_emplace(name, static_cast<std::int32_t>(names.size()));
  if (added) names.push_back(name);
  return found->second;
}

recorder::Result<std::unique_ptr<CallRows>> CallRows::open(const std::string& path,
                                                           recorder::CallFilter filter) {
  recorder::Result<recorder::TraceReader> reader = recorder::TraceReader::open(path);
  if (!reader) return reader.error();
  return std::unique_ptr<CallRows>(new CallRows(std::move(*reader), std::move(filter)));
}

CallRows::CallRows(recorder::TraceReader reader, recorder::CallFilter filter)
    : reader_(std::move(reader)), filter_(std::move(filter)) {
  const std::vector<ProcessSection>& sections = reader_.index().processes;
  run_start_ = UINT64_MAX;
  std::vector<std::uint64_t> first(sections.size(), UINT64_MAX);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::uint64_t wall = recorder::unsigned_of(sections[i].attributes, "wall_ns");
    for (const auto& place : sections[i].events)
      first[i] = std::min(first[i], wall + place.base_ns);
    run_start_ = std::min(run_start_, first[i]);
  }
  if (run_start_ == UINT64_MAX) run_start_ = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::int64_t rank = rank_of(sections[i].attributes);
    if (!filter_.wants_rank(rank) || sections[i].events.empty()) continue;
    const std::uint64_t wall = recorder::unsigned_of(sections[i].attributes, "wall_ns");
    // On the process's own clock.
    const std::uint64_t until_unix =
        filter_.until_ns > UINT64_MAX - run_start_ ? UINT64_MAX : run_start_ + filter_.until_ns;
    const std::uint64_t until = until_unix == UINT64_MAX ? UINT64_MAX
                                : until_unix > wall      ? until_unix - wall
                                                         : 0;
    auto process = std::make_unique<Process>(reader_.index(), i, until);
    process->rank = rank;
    process->wall_ns = wall;
    turns_.push({first[i], processes_.size()});
    processes_.push_back(std::move(process));
  }
}

std::int32_t CallRows::file_number(Process& process, std::int32_t own) {
  if (own == OwnerFollower::kNone) return -1;
  const auto& files = process.owners.files();
  while (process.file_numbers.size() < files.size()) {
    const std::int32_t number = files_.of(files[process.file_numbers.size()]);
    if (files_.wanted.size() < files_.names.size()) {
      files_.wanted.push_back(filter_.wants_file(files_.names.back()));
    }
    process.file_numbers.push_back(number);
  }
  return process.file_numbers[static_cast<std::size_t>(own)];
}

// Gives the calls of the group their files and datasets.
void CallRows::follow(Process& process) {
  const recorder::CallGroup& group = process.group;
  const std::uint64_t base = process.followed;
  for (const std::uint32_t at : group.by_end) {
    Pending& row = process.rows[at];
    row.file = file_number(process, process.owners.follow(base + at, *row.call));
    row.inner = process.owners.is_inner(*row.call);
    if (const auto found = process.accesses.follow(*row.call, kShownExtents)) {
      row.where = extents_text(*found);
      if (found->extents.size() == 1 && !found->more && found->unknown.empty()) {
        row.mpi_offset_bytes = static_cast<std::int64_t>(found->extents.front().offset);
      }
    }
    if (const DatasetDefinition* const dataset = process.owners.dataset()) {
      row.dataset = datasets_.of(dataset->path);
    }
    const auto& opened = process.owners.opened();
    if (opened && opened->first >= base) {
      process.rows[opened->first - base].file = file_number(process, opened->second);
    }
  }
  process.followed += group.calls.size();
}

// The next group with a call that is wanted; false at the end.
bool CallRows::fill(Process& process) {
  while (process.walk.next(process.group)) {
    process.rows.clear();
    process.next_row = 0;
    for (const Call* call : process.group.calls) {
      process.order_ns = std::max(process.order_ns, process.wall_ns + call->start_ns);
      process.rows.push_back({call, process.order_ns, -1, -1, {}, {}, false});
    }
    follow(process);
    std::erase_if(process.rows, [&](const Pending& row) {
      const std::uint64_t start = process.wall_ns + row.call->start_ns;
      return !filter_.wants_start(start > run_start_ ? start - run_start_ : 0) ||
             !filter_.wants_stream(*row.call->stream) ||
             (!filter_.files.empty() &&
              (row.file < 0 || !files_.wanted[static_cast<std::size_t>(row.file)]));
    });
    if (!process.rows.empty()) return true;
  }
  return false;
}

bool CallRows::next(CallRow& row) {
  while (!turns_.empty()) {
    Process& process = *processes_[turns_.top().process];
    if (process.next_row == process.rows.size()) {
      const Turn turn = turns_.top();
      turns_.pop();
      process.rows.clear();
      process.next_row = 0;
      if (fill(process)) turns_.push({process.rows[0].order_ns, turn.process});
      continue;
    }
    const Pending& pending = process.rows[process.next_row];
    if (pending.order_ns > turns_.top().order_ns) {
      // Another process's call may come first.
      const Turn turn{pending.order_ns, turns_.top().process};
      turns_.pop();
      turns_.push(turn);
      continue;
    }
    ++process.next_row;
    const std::uint64_t start = process.wall_ns + pending.call->start_ns;
    row = {
        process.number, process.rank,    pending.call,  start > run_start_ ? start - run_start_ : 0,
        pending.file,   pending.dataset, pending.where, pending.mpi_offset_bytes,
        pending.inner,  &process.owners};
    return true;
  }
  return false;
}

std::vector<std::string> CallRows::losses() const {
  std::vector<std::string> losses = recorder::losses_of(reader_.index());
  for (const auto& process : processes_) {
    if (const std::uint64_t batches = process->walk.unreadable_batches(); batches > 0) {
      const auto& attributes = reader_.index().processes[process->number].attributes;
      losses.push_back(recorder::process_name(attributes) + ": " +
                       recorder::unreadable_text(batches));
    }
  }
  return losses;
}

}  // namespace iotune::analyzer
