// What is gathered of a run's files while its processes are read one after the other.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/bytes/byte_record.h"
#include "analyzer/datasets/descriptor.h"
#include "analyzer/summary/region_notes.h"
#include "analyzer/summary/run_summary.h"
#include "recorder/call_table.h"
#include "recorder/read/actual_io.h"

namespace iotune::analyzer {

// One direction on one dataset.
struct DatasetRecord {
  explicit DatasetRecord(std::size_t dimensions) : decomposition(dimensions) {}

  std::uint64_t first_transfer_ns = UINT64_MAX;  // Unix time
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> dims;  // the largest seen; a scalar has one of extent 1
  std::vector<std::uint64_t> chunk;
  std::uint32_t filters = 0;
  std::uint64_t calls = 0, bytes = 0;
  bool independent = false, collective = false;
  recorder::ActualCounts actual;
  std::uint64_t slowest_nanoseconds = 0;  // of all processes
  std::uint64_t repeats = UINT64_MAX;     // the least of all that moved data
  Decomposition decomposition;
  std::set<std::vector<std::uint64_t>> said_dims;   // whenever it was opened (dataset_versions.h)
  std::map<std::uint32_t, std::int64_t> addresses;  // of its header, by the file's generation

  template <class A>
  void archive(A& a) {
    a(first_transfer_ns, element_bytes, dims, chunk, filters, calls, bytes, independent, collective,
      actual.modes, actual.causes, slowest_nanoseconds, repeats, decomposition, said_dims,
      addresses);
  }
};

// An iotune_decision, without its file.
struct DecisionNote {
  std::string source, pattern, message, state;
  std::int64_t row = -1;
  double distance = 0;

  template <class A>
  void archive(A& a) {
    a(source, pattern, message, state, row, distance);
  }
};

// What iotune noted down that it did for a file.
struct FileOutcome {
  std::optional<DecisionNote> decision;  // the first one
  std::vector<SettingOutcome> settings;  // each outcome once, however many ranks noted it
  PrefetchOutcome prefetch;
  GatherOutcome gather;

  template <class A>
  void archive(A& a) {
    a(decision, settings, prefetch, gather);
  }
};

struct FileRecord {
  // By Layer. Bytes are those of outermost transfers: the file's are their sum.
  struct LayerUse {
    bool opened = false;
    std::uint64_t written = 0, read = 0;
    template <class A>
    void archive(A& a) {
      a(opened, written, read);
    }
  };
  LayerUse layers[4];
  std::uint64_t first_open_ns = UINT64_MAX, last_end_ns = 0;  // Unix time
  std::uint64_t slowest_nanoseconds = 0;                      // in outermost calls
  // Path, write. More than one where a path was made again with other dimensions.
  std::map<std::pair<std::string, bool>, std::list<DatasetRecord>> datasets;
  // How often HDF5 made it anew, and the name of the dataset that stands at an address of one of
  // these generations (dataset_versions.h).
  std::uint32_t generations = 0;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::string> name_at;
  // Of transfers outside HDF5. By the displacement of views that declare an array (other views and
  // none: kAnywhere), write.
  static constexpr std::uint64_t kAnywhere = UINT64_MAX;
  std::map<std::pair<std::uint64_t, bool>, ByteRecord> bytes;

  bool cut_short = false;                // a process that died left it open
  bool sampled_out = false;              // of one opening at least the calls were not recorded
  std::unique_ptr<FileOutcome> outcome;  // nullptr: it did nothing

  template <class A>
  void archive(A& a) {
    a(layers, first_open_ns, last_end_ns, slowest_nanoseconds, datasets, generations, name_at,
      bytes, cut_short, sampled_out, outcome);
  }
};

// By absolute path.
struct FileTable : std::map<std::string, FileRecord> {
  std::uint64_t slowest_nanoseconds = 0;  // in outermost calls on files, of the slowest process
  RegionTable regions;                    // of all processes

  template <class A>
  void archive(A& a) {
    a(static_cast<std::map<std::string, FileRecord>&>(*this), slowest_nanoseconds, regions);
  }
};

}  // namespace iotune::analyzer
