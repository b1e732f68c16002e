// Names of containers below a prefix.
#pragma once

#include <optional>
#include <string>

namespace iotune::logstore {

// The container that a path names, if it names one below a prefix. Follows a link unless `follows`
// is false.
std::optional<std::string> container_at(int at, const char* path, bool follows);
// What stands for the file's mode, owner and times: the handle, in old containers the description.
std::string handle_of(const std::string& container);
// Ends the path with a slash? No file has such a name.
bool wants_directory(const char* path) noexcept;
// Lies the absolute path within a container? A file has no files.
bool is_in_container(const std::string& path);

}  // namespace iotune::logstore
