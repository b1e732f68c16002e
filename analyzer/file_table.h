// What is gathered of a run's files while its processes are read one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/region.h"
#include "analyzer/run_summary.h"
#include "recorder/call_table.h"

namespace iotune::analyzer {

// One direction on one dataset.
struct DatasetRecord {
  std::uint64_t first_transfer_ns = UINT64_MAX;  // Unix time
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> dims;  // the largest seen; a scalar has one of extent 1
  std::vector<std::uint64_t> chunk;
  std::uint32_t filters = 0;
  std::uint64_t calls = 0;
  bool independent = false, collective = false;
  struct Share {
    explicit Share(std::size_t dimensions) : region(dimensions) {}
    Region region;
    std::uint64_t nanoseconds = 0;
  };
  std::map<std::int64_t, Share> by_rank;
};

struct FileRecord {
  // By recorder::Layer: a file's bytes are those of the uppermost layer that opened it.
  struct LayerUse {
    bool opened = false;
    std::uint64_t written = 0, read = 0;
  };
  LayerUse layers[4];
  std::uint64_t first_open_ns = UINT64_MAX, last_end_ns = 0;       // Unix time
  std::map<std::int64_t, std::uint64_t> nanoseconds_by_rank;       // of outermost calls
  std::map<std::pair<std::string, bool>, DatasetRecord> datasets;  // path, write

  bool decided = false;
  std::string decision_source, decision_pattern, decision_message, decision_state;
  std::int64_t decision_row = -1;
  double decision_distance = 0;
  std::vector<SettingOutcome> settings;  // each outcome once, however many ranks noted it
};

using FileTable = std::map<std::string, FileRecord>;  // by absolute path

}  // namespace iotune::analyzer
