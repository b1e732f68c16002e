// The names in a container's directory, by what they are.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logstore/read/files.h"

namespace iotune::logstore {

struct WriterFiles {
  bool log = false;
  bool index = false;
};

struct Listing {
  std::map<std::string, WriterFiles> writers;  // by name
  bool has_merged = false;
  bool has_new_merged = false;  // of a compaction that was cut short
  std::vector<std::string> strangers;
};

// An error where the directory cannot be read, or has more than `most` writers or strangers.
std::optional<Error> list_container(int directory, std::size_t most, Listing& to);

}  // namespace iotune::logstore
