// What calls that are no transfers do to a file's bytes: truncation, holes, memory mapped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recorder/read/call.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

struct ChangedBytes {
  std::int64_t offset, length;  // up to kMostBytes where the end is not known
  bool write;
  bool truncates = false;  // a write of all from the new end on
  std::string path;        // of a call that names its file; else it is the call's own
};

// Whether some of its calls do.
bool changes_bytes(const recorder::CallSignature& signature);

// Nothing for calls that failed or leave bytes alone. `scratch` is used.
std::optional<ChangedBytes> changed_bytes(const recorder::Call& call,
                                          recorder::CallArguments& scratch);

}  // namespace iotune::analyzer
