// Which file each call works on.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/read/call.h"

namespace iotune::analyzer {

// iotune_dataset: what was said of a dataset before its first transfer.
struct DatasetDefinition {
  std::string file, path;
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> dims, chunk;  // a scalar has one dimension of extent 1
  std::uint32_t filters = 0;
};

struct CallOwners {
  static constexpr std::int32_t kNone = -1;
  std::vector<std::string> files;          // absolute paths
  std::vector<std::int32_t> file_of_call;  // index into files or kNone; one for each call
  std::unordered_map<std::int64_t, DatasetDefinition> datasets;  // by object number
};

// Follows handles of files, datasets and groups through the calls of a process. A call that is
// made on something else (a dataspace, a property list) has no file.
CallOwners owners_of(const recorder::ProcessCalls& process);

}  // namespace iotune::analyzer
