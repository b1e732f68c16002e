// What goes into the database. Its JSON: patterndb/exchange/record_json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/words/decision_words.h"
#include "patterndb/settings/settings.h"
#include "patterndb/store/byte_key.h"

namespace iotune::patterndb {

// What a program's transfers on a file go through, the highest first.
enum class FileLayer { kHdf5, kMpiIo, kPosix };
// "hdf5", "mpiio" or "posix"; kHdf5 for anything else.
FileLayer file_layer_named(const std::string& name);

struct Platform {
  std::string filesystem, mpi, hdf5, host_class;
  bool operator==(const Platform&) const = default;
};

// "none" for the libraries that a file of this layer does not go through: what was measured through
// HDF5 is no answer for a program that calls MPI-IO itself, and has another platform. (An empty
// name is one that is not known, and asks for any.)
Platform platform_of_layer(Platform platform, FileLayer layer);

struct Workload {
  std::string program;  // analyzer/summary/program_identity.h
  std::string file;     // base name, numbers masked, but those that tell workloads apart
  std::uint64_t ranks = 1, nodes = 1;
  bool operator==(const Workload&) const = default;
};

// How a workload uses a pattern: on how many datasets, how often again.
struct PatternUse {
  Pattern pattern;
  std::string dataset;  // one of them
  std::uint64_t datasets = 1, repeats = 1;
  // The column and the JSON key of it are called speaker, as in databases of earlier versions.
  bool is_dominant = false;  // its dataset is the file's dominant one in its direction
};

struct ObservedFile {
  std::string path;
  Workload workload;
  Platform platform;
  std::vector<PatternUse> uses;
  Settings settings;  // that took effect, or may have
  std::string decision_source;
  std::int64_t decision_row = -1;
  std::uint64_t bytes_written = 0, bytes_read = 0;
  double seconds = 0, elapsed_seconds = 0;
  double observed_at = 0;  // Unix time of its open
};

// The file of a workload as it was when it was last written.
struct KnownFile {
  double bytes = 0;  // of its datasets; 0: not known
  std::uint64_t datasets = 0;
  bool only_collective = false, only_independent = false;
};

// A file of a program of POSIX that some answer is for.
struct TunedFile {
  std::string name;  // masked
  std::string filesystem;
  bool written = true;
};

struct Observation {
  std::string run, trace, program;
  std::vector<ObservedFile> files;
};

// Of the runs that would get an answer's settings, the share that is left at its default instead.
inline constexpr double kDefaultShare = 0.125;

using State = TuningState;
std::optional<State> state_named(std::string_view name);

struct Tuning {
  Pattern pattern;
  Platform platform;
  Settings settings;
  State state = State::kUntrained;
  std::optional<double> gain, low, high;  // default's median seconds over the settings'; interval
  std::uint64_t rounds = 0;
  double made_at = 0;  // Unix time
  std::string source;  // who says so: "train", "import", "runs", …
  double default_share = kDefaultShare;
  std::string evidence;       // why, in words
  std::int64_t replaces = 0;  // row of the answer before, 0: none
};

}  // namespace iotune::patterndb
