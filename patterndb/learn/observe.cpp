#include "patterndb/learn/observe.h"

#include <stdlib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

std::string mode_name(analyzer::TransferMode mode) {
  switch (mode) {
    case analyzer::TransferMode::kIndependent:
      return "independent";
    case analyzer::TransferMode::kCollective:
      return "collective";
    case analyzer::TransferMode::kMixed:
      return "mixed";
    case analyzer::TransferMode::kUnknown:
      break;
  }
  return "unknown";
}

Pattern pattern_of(const analyzer::DatasetPattern& dataset) {
  Pattern pattern;
  pattern.descriptor.dimensions = dataset.descriptor.dimensions;
  pattern.write = dataset.write;
  pattern.element_bytes = dataset.element_bytes;
  pattern.ranks = dataset.ranks;
  pattern.filters = dataset.filters;
  pattern.mode = mode_name(dataset.mode);
  pattern.grid = dataset.process_grid;
  pattern.chunk = dataset.chunk;
  pattern.dataset_dims = dataset.dataset_dims;
  return pattern;
}

// A file that POSIX alone moved less of is a log, a deck or a mesh of no weight: nothing is worth
// setting there, and a run may have thousands of them.
constexpr std::uint64_t kLeastPosixBytes = 4 << 20;

FileLayer layer_of(const analyzer::DatasetPattern& dataset) {
  if (!dataset.inferred) return FileLayer::kHdf5;
  return dataset.through_mpi ? FileLayer::kMpiIo : FileLayer::kPosix;
}

// The highest that moved bytes of the file: its patterns count, and not what lies beneath them.
FileLayer layer_of(const analyzer::FilePattern& file) {
  // Opened by HDF5 or MPI-IO, which moved nothing.
  if (file.datasets.empty()) return FileLayer::kHdf5;
  FileLayer highest = FileLayer::kPosix;
  for (const analyzer::DatasetPattern& dataset : file.datasets) {
    highest = std::min(highest, layer_of(dataset));
  }
  return highest;
}

// Index of the file's dominant dataset in one direction, or the number of datasets.
std::size_t dominant_of(const analyzer::FilePattern& file, bool write) {
  const FileLayer layer = layer_of(file);
  if (file.dominant_dataset && *file.dominant_dataset < file.datasets.size() &&
      file.datasets[*file.dominant_dataset].write == write &&
      layer_of(file.datasets[*file.dominant_dataset]) == layer) {
    return *file.dominant_dataset;
  }
  std::size_t dominant = file.datasets.size();
  for (std::size_t i = 0; i < file.datasets.size(); ++i) {
    if (file.datasets[i].write != write || layer_of(file.datasets[i]) != layer) continue;
    if (dominant == file.datasets.size() ||
        file.datasets[i].bytes > file.datasets[dominant].bytes) {
      dominant = i;
    }
  }
  return dominant;
}

// Datasets of one pattern become one use of it.
std::vector<PatternUse> uses_of(const analyzer::FilePattern& file) {
  const FileLayer layer = layer_of(file);
  std::size_t writer = dominant_of(file, true);
  std::size_t reader = dominant_of(file, false);
  std::vector<PatternUse> uses;
  std::map<std::tuple<std::string, std::uint64_t, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < file.datasets.size(); ++i) {
    const analyzer::DatasetPattern& dataset = file.datasets[i];
    if (layer_of(dataset) != layer) continue;
    if (dataset.element_bytes == 0 || dataset.descriptor.dimensions.empty()) continue;
    Pattern pattern = pattern_of(dataset);
    auto [place, fresh] = places.try_emplace(
        {byte_key(pattern), pattern.element_bytes, joined(pattern.dataset_dims)}, uses.size());
    if (fresh) uses.push_back({pattern, dataset.dataset, 0, dataset.repeats, false});
    PatternUse& use = uses[place->second];
    use.datasets += 1;
    if (i == writer || i == reader) {
      use.is_dominant = true;
      use.dataset = dataset.dataset;
    }
  }
  return uses;
}

Settings settings_of(const analyzer::FilePattern& file) {
  Settings settings;
  for (const analyzer::SettingOutcome& outcome : file.settings) {
    if (outcome.verdict != "applied" && outcome.verdict != "unverifiable") continue;
    if (settings.values().count(outcome.parameter) != 0) continue;
    Result<Settings> one = Settings::parse(outcome.parameter + "=" + outcome.wanted);
    if (one && !one->empty()) settings.add(outcome.parameter, outcome.wanted);
  }
  return settings;
}

// Of files of one name and POSIX alone, as each rank has one, the largest is the run's dominant
// one.
void keep_largest(std::vector<ObservedFile>& files, ObservedFile&& observed) {
  const auto bytes = [](const ObservedFile& one) { return one.bytes_written + one.bytes_read; };
  for (ObservedFile& one : files) {
    if (one.platform != observed.platform || one.workload != observed.workload) continue;
    if (bytes(observed) > bytes(one)) one = std::move(observed);
    return;
  }
  files.push_back(std::move(observed));
}

std::string absolute(const std::string& path) {
  std::unique_ptr<char, void (*)(void*)> resolved(realpath(path.c_str(), nullptr), free);
  return resolved ? std::string(resolved.get()) : path;
}

}  // namespace

Observation observation_of(const analyzer::RunSummary& summary, const std::string& trace_path) {
  Observation observation;
  observation.run = summary.run_id;
  observation.trace = absolute(trace_path);
  observation.program = summary.program;
  std::string program = summary.identity;
  if (program.empty()) program = base_name(summary.program_name);
  std::string machine = host_class();
  for (const analyzer::FilePattern& file : summary.files) {
    // Half a checkpoint is neither another pattern of the workload nor a measurement.
    if (file.cut_short || file.sampled_out) continue;
    const FileLayer layer = layer_of(file);
    if (file.datasets.empty() && file.decision_source.empty()) continue;
    // What POSIX alone moved is tuned in MPI programs.
    if (layer == FileLayer::kPosix &&
        (summary.mpi.empty() || std::max(file.bytes_written, file.bytes_read) < kLeastPosixBytes)) {
      continue;
    }
    ObservedFile observed;
    observed.path = file.path;
    observed.workload = {program, masked_name(file.path), summary.ranks, summary.nodes};
    observed.platform =
        platform_of_layer({filesystem_of(file.path), summary.mpi, summary.hdf5, machine}, layer);
    observed.uses = uses_of(file);
    observed.settings = settings_of(file);
    observed.decision_source = file.decision_source;
    observed.decision_row = file.decision_row;
    observed.bytes_written = file.bytes_written;
    observed.bytes_read = file.bytes_read;
    observed.seconds = file.io_seconds;
    observed.elapsed_seconds = file.elapsed_seconds;
    observed.observed_at = summary.start_unix_seconds + file.opened_at_seconds;
    if (layer == FileLayer::kPosix) {
      keep_largest(observation.files, std::move(observed));
    } else {
      observation.files.push_back(std::move(observed));
    }
  }
  return observation;
}

}  // namespace iotune::patterndb
