#include <nlohmann/json.hpp>

#include "analyzer/datasets/descriptor.h"
#include "analyzer/summary/alike_files.h"
#include "analyzer/summary/run_summary.h"

namespace iotune::analyzer {
namespace {

using Json = nlohmann::ordered_json;

const char* mode_text(TransferMode mode) {
  switch (mode) {
    case TransferMode::kIndependent:
      return "independent";
    case TransferMode::kCollective:
      return "collective";
    case TransferMode::kMixed:
      return "mixed";
    case TransferMode::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Json json_of(const FilePattern& file);

Json json_of(const Descriptor& descriptor) {
  Json dimensions = Json::array();
  for (const DimensionPattern& dimension : descriptor.dimensions) {
    dimensions.push_back({{"distribution", distribution_text(dimension)},
                          {"count", dimension.count},
                          {"cyclic_block", dimension.cyclic_block}});
  }
  return {{"text", descriptor.dimensions.empty() ? std::string() : descriptor.text()},
          {"dimensions", std::move(dimensions)}};
}

const char* layer_text(const DatasetPattern& dataset) {
  if (!dataset.inferred) return "hdf5";
  return dataset.through_mpi ? "mpiio" : "posix";
}

// Those that are not zero, by their words.
template <std::size_t N>
Json counts_of(const std::array<std::uint64_t, N>& counts, const char* (*text)(std::size_t)) {
  Json found = Json::object();
  for (std::size_t i = 0; i < N; ++i) {
    if (counts[i] != 0) found[text(i)] = counts[i];
  }
  return found;
}

Json json_of(const DatasetPattern& dataset) {
  return {{"dataset", dataset.dataset},
          {"write", dataset.write},
          {"descriptor", json_of(dataset.descriptor)},
          {"element_bytes", dataset.element_bytes},
          {"dataset_dims", dataset.dataset_dims},
          {"process_grid", dataset.process_grid},
          {"halo", dataset.halo},
          {"chunk", dataset.chunk},
          {"filters", dataset.filters},
          {"ranks", dataset.ranks},
          {"mode", mode_text(dataset.mode)},
          {"calls", dataset.calls},
          {"actual_io", counts_of(dataset.actual.modes, recorder::actual_mode_text)},
          {"not_collective", counts_of(dataset.actual.causes, recorder::collective_cause_text)},
          {"repeats", dataset.repeats},
          {"bytes", dataset.bytes},
          {"seconds", dataset.seconds},
          {"inferred", dataset.inferred},
          {"layer", layer_text(dataset)},
          {"ambiguity", dataset.ambiguity},
          {"filled_bytes", dataset.filled_bytes}};
}

Json json_of(const SettingOutcome& setting) {
  return {{"parameter", setting.parameter},
          {"wanted", setting.wanted},
          {"got", setting.got},
          {"reason", setting.reason},
          {"verdict", setting.verdict}};
}

Json json_of(const PrefetchOutcome& prefetch) {
  if (prefetch.predictor.empty()) return {};
  return {{"predictor", prefetch.predictor},
          {"streams", prefetch.streams},
          {"reads", prefetch.reads},
          {"hits", prefetch.hits},
          {"late", prefetch.late},
          {"served", prefetch.served},
          {"requests", prefetch.requests},
          {"requested_bytes", prefetch.requested_bytes},
          {"unused_bytes", prefetch.unused_bytes},
          {"wait_seconds", prefetch.wait_seconds},
          {"saved_seconds", prefetch.saved_seconds},
          {"depth", prefetch.depth}};
}

Json json_of(const GatherOutcome& gather) {
  if (!gather.is_known()) return {};
  return {{"ranks", gather.ranks},
          {"held_calls", gather.held_calls},
          {"held_bytes", gather.held_bytes},
          {"reads_served", gather.reads_served},
          {"flushes", gather.flushes},
          {"exchange_calls", gather.exchange_calls},
          {"exchange_bytes", gather.exchange_bytes},
          {"piece_writes", gather.piece_writes},
          {"piece_bytes", gather.piece_bytes},
          {"alone_writes", gather.alone_writes},
          {"alone_bytes", gather.alone_bytes},
          {"waiting_bytes", gather.waiting_bytes},
          {"not_held", gather.not_held}};
}

Json json_of(const RegionPattern& region) {
  return {{"path", region.path},
          {"entered", region.entered},
          {"open", region.open},
          {"processes", region.processes},
          {"seconds", region.seconds},
          {"slowest_seconds", region.slowest_seconds},
          {"io_seconds", region.io_seconds},
          {"slowest_io_seconds", region.slowest_io_seconds},
          {"least_seconds", region.least_seconds},
          {"largest_seconds", region.largest_seconds},
          {"calls", region.calls},
          {"bytes_written", region.bytes_written},
          {"bytes_read", region.bytes_read},
          {"first_begin_seconds", region.first_begin_seconds},
          {"last_end_seconds", region.last_end_seconds}};
}

template <typename T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(json_of(item));
  return list;
}

Json json_of(const FilePattern& file) {
  return {{"path", file.path},
          {"masked_name", file.masked_name},
          {"bytes_written", file.bytes_written},
          {"bytes_read", file.bytes_read},
          {"io_seconds", file.io_seconds},
          {"elapsed_seconds", file.elapsed_seconds},
          {"opened_at_seconds", file.opened_at_seconds},
          {"datasets", list_of(file.datasets)},
          {"speaker", file.dominant_dataset ? Json(*file.dominant_dataset) : Json()},
          {"speaker_count", file.dominant_count},
          {"sampled_out", file.sampled_out},
          {"is_stdout", file.is_stdout},
          {"decision_source", file.decision_source},
          {"decision_pattern", file.decision_pattern},
          {"decision_message", file.decision_message},
          {"decision_row", file.decision_row},
          {"decision_distance", file.decision_distance},
          {"decision_state", file.decision_state},
          {"settings", list_of(file.settings)},
          {"prefetch", json_of(file.prefetch)},
          {"gather", json_of(file.gather)}};
}

// Paths are bytes; what is not UTF-8 in them must not cost the report.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const FilePattern& file) {
  return text_of(json_of(file));
}

std::string to_json(const AlikeFiles& alike) {
  Json json = json_of(alike.shown);
  if (alike.files > 1) {
    json["alike"] = {{"name", alike.name},
                     {"mixed", alike.mixed},
                     {"files", alike.files},
                     {"bytes_written", alike.bytes_written},
                     {"bytes_read", alike.bytes_read},
                     {"least_bytes", alike.least_bytes},
                     {"most_bytes", alike.most_bytes},
                     {"least_seconds", alike.least_seconds},
                     {"most_seconds", alike.most_seconds}};
  }
  return text_of(json);
}

std::string to_json(const Descriptor& descriptor) {
  return json_of(descriptor).dump();
}

std::string to_json(const RunSummary& summary) {
  const Json json = {{"run_id", summary.run_id},
                     {"program", summary.program},
                     {"program_name", summary.program_name},
                     {"identity", summary.identity},
                     {"mpi", summary.mpi},
                     {"hdf5", summary.hdf5},
                     {"argv", summary.argv},
                     {"ranks", summary.ranks},
                     {"processes", summary.processes},
                     {"nodes", summary.nodes},
                     {"start_unix_seconds", summary.start_unix_seconds},
                     {"elapsed_seconds", summary.elapsed_seconds},
                     {"io_seconds", summary.io_seconds},
                     {"calls", summary.calls},
                     {"dropped", summary.dropped},
                     {"files", list_of(summary.files)},
                     {"regions", list_of(summary.regions)},
                     {"warnings", summary.warnings},
                     {"notes", summary.notes}};
  return text_of(json);
}

}  // namespace iotune::analyzer
