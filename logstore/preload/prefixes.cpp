#include "logstore/preload/prefixes.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "logstore/preload/host.h"

namespace iotune::logstore {
namespace {

// Without a slash at their ends. For as long as the process: programs write after the last
// destructor has run.
std::vector<std::string>& prefixes() {
  static auto* const all = new std::vector<std::string>;
  return *all;
}

std::string without_links(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  if (found == nullptr) return {};
  std::string real = found;
  std::free(found);
  return real;
}

bool lies_in(std::string_view path, std::string_view prefix) {
  return !prefix.empty() && path.starts_with(prefix) &&
         (path.size() == prefix.size() || path[prefix.size()] == '/');
}

// A prefix may be a link, or lead over one.
bool is_in_any(std::string_view path) {
  for (const std::string& prefix : prefixes()) {
    if (lies_in(path, prefix) || lies_in(path, without_links(prefix))) return true;
  }
  return false;
}

std::optional<std::string> path_below(const std::string& path) {
  std::string absolute = path;
  if (!path.starts_with('/')) {
    char begin[PATH_MAX];
    if (getcwd(begin, sizeof begin) == nullptr) return std::nullopt;
    absolute = std::string(begin) + "/" + path;
  }
  const std::size_t slash = absolute.rfind('/');
  const std::string last = absolute.substr(slash + 1);
  if (last.empty() || last == "." || last == ".." || slash == 0) return std::nullopt;
  const std::string directory = without_links(absolute.substr(0, slash));
  if (directory.empty()) return std::nullopt;
  absolute = (directory == "/" ? directory : directory + "/") + last;
  return is_in_any(absolute) ? std::optional(absolute) : std::nullopt;
}

}  // namespace

bool read_prefixes(const char* text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    std::string_view one = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    while (one.size() > 1 && one.ends_with('/')) one.remove_suffix(1);
    if (one.empty()) continue;
    if (one.front() != '/' || one == "/") {
      const std::string line =
          "IOTUNE_LOGSTORE=" + std::string(one) +
          (one == "/" ? ": all files cannot be logged" : ": is no absolute path") +
          "; it is left out";
      g_host->say(line.c_str());
      continue;
    }
    prefixes().emplace_back(one);
  }
  return !prefixes().empty();
}

std::optional<std::string> path_of_call(const char* path) {
  const MpiCall call = g_host->mpi_call();
  // A program that gave up rights may be killed for a system call that it does not make itself.
  if (!call.is_running || path == nullptr || path[0] == '\0' || g_host->has_dropped_privileges()) {
    return std::nullopt;
  }
  std::optional<std::string> below = path_below(path);
  if (!below || call.name == nullptr) return below;
  // MPI's other files (shared pointers, locks, hints) are none of the program's.
  char named[PATH_MAX];
  g_host->path_of_mpi(call.name, named, sizeof named);
  return path_below(named) == below ? below : std::nullopt;
}

}  // namespace iotune::logstore
