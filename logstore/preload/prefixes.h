// Which names are the log store's.
#pragma once

#include <optional>
#include <string>

namespace iotune::logstore {

// `text`: IOTUNE_LOGSTORE. What of it is no absolute path is reported and left out. False: none is
// left.
bool read_prefixes(const char* text);

// The absolute path of what `path` names, its directories without links, if it lies below a prefix
// and is what the running call on an MPI file is about; else nothing. The last part is as it is
// written, so it may be a link.
std::optional<std::string> path_of_call(const char* path);

}  // namespace iotune::logstore
