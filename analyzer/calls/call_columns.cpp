#include "analyzer/calls/call_columns.h"

#include <algorithm>

#include "recorder/read/call_json.h"
#include "recorder/read/format_call.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;

constexpr std::string_view kColumnNames[kCallColumns] = {
    "rank",      "process",   "thread",   "level",       "layer",        "call",         "file",
    "dataset",   "time_kind", "start_ns", "duration_ns", "offset_bytes", "length_bytes", "result",
    "selection", "arguments", "text",     "words",       "transfers"};

constexpr std::int32_t kUnknownLayer = 5;
constexpr const char* kLayerNames[] = {"hdf5", "mpiio", "stdio", "posix", "iotune", "unknown"};
constexpr const char* kTimeKinds[] = {"exact", "coded", "pattern", "bin"};

std::int32_t layer_number(const Call& call) {
  return call.signature() == nullptr ? kUnknownLayer
                                     : static_cast<std::int32_t>(call.signature()->layer);
}

std::int32_t time_kind(const Call& call) {
  if (!call.exact) return call.in_bin ? 3 : 2;
  return call.coded ? 1 : 0;
}

std::size_t index_of(CallColumn column) {
  return static_cast<std::size_t>(column);
}

bool is_text(CallColumn column) {
  return column >= CallColumn::kSelection;
}

}  // namespace

std::string_view column_name(CallColumn column) {
  return index_of(column) < kCallColumns ? kColumnNames[index_of(column)] : std::string_view();
}

CallBatchColumns CallColumnReader::next(std::size_t limit) {
  CallBatchColumns batch;
  bool needs_access = false;
  for (const CallColumn column : columns_) {
    if (is_text(column)) batch.offsets[index_of(column)].push_back(0);
    needs_access |= column >= CallColumn::kOffset && column <= CallColumn::kResult;
  }
  CallRow row{};
  while (batch.rows < limit && rows_->next(row)) {
    ++batch.rows;
    if (needs_access) access_ = recorder::access_words(*row.call);
    for (const CallColumn column : columns_) add(batch, column, row);
  }
  return batch;
}

void CallColumnReader::add(CallBatchColumns& to, CallColumn column, const CallRow& row) {
  const std::size_t at = index_of(column);
  const Call& call = *row.call;
  const auto small = [&](std::int64_t value) {
    to.small[at].push_back(static_cast<std::int32_t>(value));
  };
  const auto large = [&](std::optional<std::int64_t> value) {
    to.large[at].push_back(value.value_or(kMissing));
  };
  switch (column) {
    case CallColumn::kRank:
      return small(row.rank);
    case CallColumn::kProcess:
      return small(static_cast<std::int64_t>(row.process));
    case CallColumn::kThread:
      return small(call.thread);
    case CallColumn::kLevel:
      // A call without a recorded one around it may still be a library's.
      return small(std::max<std::int64_t>(recorder::depth_of(call), row.inner ? 1 : 0));
    case CallColumn::kLayer:
      return small(layer_number(call));
    case CallColumn::kCall:
      return small(call_number(call));
    case CallColumn::kFile:
      return small(row.file);
    case CallColumn::kDataset:
      return small(row.dataset);
    case CallColumn::kTimeKind:
      return small(time_kind(call));
    case CallColumn::kStart:
      return large(static_cast<std::int64_t>(row.start_ns));
    case CallColumn::kDuration:
      return large(static_cast<std::int64_t>(call.duration_ns));
    case CallColumn::kOffset:
      return large(row.mpi_offset_bytes ? row.mpi_offset_bytes : access_.offset_bytes);
    case CallColumn::kLength:
      return large(access_.length_bytes);
    case CallColumn::kResult:
      return large(access_.result);
    case CallColumn::kSelection:
      recorder::append_selection_json(to.bytes[at], call);
      break;
    case CallColumn::kArguments:
      recorder::append_arguments_json(to.bytes[at], call);
      break;
    case CallColumn::kText:
      to.bytes[at] += recorder::format_call(call);
      to.bytes[at] += row.where;
      break;
    case CallColumn::kWords:
      recorder::append_words_json(to.bytes[at], call);
      break;
    case CallColumn::kTransfers:
      recorder::append_transfers_json(to.bytes[at], call, [&](std::int64_t object) {
        const DatasetDefinition* const dataset = row.owners->definition(object);
        return dataset == nullptr ? std::string_view() : std::string_view(dataset->path);
      });
      break;
  }
  to.offsets[at].push_back(static_cast<std::int64_t>(to.bytes[at].size()));
}

std::int32_t CallColumnReader::call_number(const Call& call) {
  const auto found = call_numbers_.find(call.name());
  if (found != call_numbers_.end()) return found->second;
  const auto number = static_cast<std::int32_t>(call_names_.size());
  call_names_.push_back(call.name());
  call_numbers_.emplace(call.name(), number);
  return number;
}

std::vector<std::string> CallColumnReader::names(CallColumn column) const {
  switch (column) {
    case CallColumn::kLayer:
      return {std::begin(kLayerNames), std::end(kLayerNames)};
    case CallColumn::kTimeKind:
      return {std::begin(kTimeKinds), std::end(kTimeKinds)};
    case CallColumn::kCall:
      return call_names_;
    case CallColumn::kFile:
      return rows_->files();
    case CallColumn::kDataset:
      return rows_->datasets();
    default:
      return {};
  }
}

}  // namespace iotune::analyzer
