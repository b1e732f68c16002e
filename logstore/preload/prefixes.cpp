#include "logstore/preload/prefixes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "logstore/preload/host.h"
#include "logstore/preload/resettable_mutex.h"

namespace iotune::logstore {
namespace {

constexpr std::size_t kMostDirectories = 512;

struct Prefix {
  std::string written;  // without a slash at its end
  std::string real;     // without links; empty: not there when it was last looked for
};

// For as long as the process: programs write after the last destructor has run.
std::vector<Prefix>& prefixes() {
  static auto* const all = new std::vector<Prefix>;
  return *all;
}

ResettableMutex g_lock;
// Directories whose names lead over no link.
std::unordered_set<std::string>& real_directories() {
  static auto* const known = new std::unordered_set<std::string>;
  return *known;
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

bool is_in_any(std::string_view path) {
  for (Prefix& prefix : prefixes()) {
    if (lies_in(path, prefix.written)) return true;
    if (prefix.real.empty()) prefix.real = without_links(prefix.written);
    if (lies_in(path, prefix.real)) return true;
  }
  return false;
}

// A link may lead elsewhere the next time, and what is not there may be made: neither is
// remembered. Where a link takes a known directory's place, its name still leads to what it names.
std::string real_directory(const std::string& directory) {
  auto& known = real_directories();
  if (known.contains(directory)) return directory;
  std::string real = without_links(directory);
  if (real != directory) return real;
  if (known.size() == kMostDirectories) known.clear();
  known.insert(directory);
  return real;
}

// By its letters alone.
bool is_written_below(std::string_view path) {
  for (const Prefix& prefix : prefixes()) {
    if (lies_in(path, prefix.written) || lies_in(path, prefix.real)) return true;
  }
  return false;
}

std::string begin_of(int at) {
  char path[PATH_MAX];
  if (g_host->is_narrowed()) {
    const bool known = at == AT_FDCWD && g_host->working_directory(path, sizeof path) > 1;
    return known ? std::string(path) : std::string();
  }
  if (at != AT_FDCWD) return path_of_descriptor(at);
  return getcwd(path, sizeof path) == nullptr ? std::string() : std::string(path);
}

}  // namespace

std::string path_of_descriptor(int fd) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size <= 0 ? std::string() : std::string(path, static_cast<std::size_t>(size));
}

int descriptor_named(const char* path) noexcept {
  static constexpr std::string_view kStandard[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  if (path == nullptr || path[0] != '/') return -1;
  for (int fd = 0; fd < 3; ++fd) {
    if (path == kStandard[fd]) return fd;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (std::strncmp(path, folder.data(), folder.size()) != 0) continue;
    int fd = -1;
    const char* const number = path + folder.size();
    const char* const end = number + std::strlen(number);
    const auto [at, wrong] = std::from_chars(number, end, fd);
    return wrong == std::errc() && at == end ? fd : -1;
  }
  return -1;
}

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
    prefixes().push_back({std::string(one), without_links(std::string(one))});
  }
  return !prefixes().empty();
}

std::optional<std::string> path_below(int at, const char* path) {
  if (path == nullptr || path[0] == '\0') return std::nullopt;
  std::string absolute = path;
  if (path[0] != '/') {
    const std::string begin = begin_of(at);
    if (begin.empty()) return std::nullopt;
    absolute = begin + "/" + absolute;
  }
  // A program that gave up rights may be killed for a system call that it does not make itself.
  if (g_host->is_narrowed() && !is_written_below(absolute)) return std::nullopt;
  while (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  const std::size_t slash = absolute.rfind('/');
  const std::string last = absolute.substr(slash + 1);
  const bool is_step = last == "." || last == "..";
  const ResettableMutex::Guard held(g_lock);
  if (is_step || slash == 0) {
    absolute = without_links(absolute);
    return !absolute.empty() && is_in_any(absolute) ? std::optional(absolute) : std::nullopt;
  }
  const std::string directory = real_directory(absolute.substr(0, slash));
  if (directory.empty()) return std::nullopt;
  absolute = directory == "/" ? "/" + last : directory + "/" + last;
  return is_in_any(absolute) ? std::optional(absolute) : std::nullopt;
}

bool is_below_prefix(const char* path) noexcept {
  const Inside inside;
  const int kept = errno;
  bool is = false;
  try {
    is = path_below(AT_FDCWD, path).has_value();
  } catch (...) {  // no memory
  }
  errno = kept;
  return is;
}

bool stays_ordinary(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  // ROMIO: .NAME.shfp.NUMBER; OMPIO: NAME-ID-PID.lock and NAME_cid-ID-PID.sm.
  return (name.starts_with('.') && name.find(".shfp.") != std::string::npos) ||
         name.ends_with(".lock") ||
         (name.ends_with(".sm") && name.find("_cid-") != std::string::npos);
}

void reset_prefix_lock() noexcept {
  g_lock.reset();
}

}  // namespace iotune::logstore
