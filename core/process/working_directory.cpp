#include "core/process/working_directory.h"

#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/privilege_drop.h"

namespace iotune {
namespace {

// Of the moment of the privilege drop; empty where it is unknown.
constinit ShortText<4096> g_directory, g_root;

}  // namespace

void remember_working_directory() noexcept {
  g_directory.clear();
  const long bytes = raw::getcwd(g_directory.tail(), g_directory.room());
  if (bytes > 1) g_directory.grew(static_cast<std::size_t>(bytes - 1));
}

long working_directory(char* to, std::size_t bytes) noexcept {
  if (!has_dropped_privileges()) return raw::getcwd(to, bytes);
  if (g_directory.size() == 0 || g_directory.cut() || g_directory.size() >= bytes) return -1;
  std::memcpy(to, g_directory.c_str(), g_directory.size() + 1);
  return static_cast<long>(g_directory.size() + 1);
}

void working_directory_changed(const char* path) noexcept {
  if (!has_dropped_privileges()) return;
  if (path == nullptr || path[0] != '/') {
    g_directory.clear();
    return;
  }
  g_directory.clear();
  g_directory << root_of_paths() << path;
}

const char* root_of_paths() noexcept {
  return g_root.c_str();
}

void root_changes(const char* path) noexcept {
  static constinit ShortText<4096> root;
  root.clear();
  if (path == nullptr) return;
  if (path[0] == '/') {
    root << g_root.c_str() << path;
  } else {
    root << g_directory.c_str() << '/' << path;
  }
  // Without a slash or a dot at its end, paths of the program follow it.
  std::size_t bytes = root.size();
  while (bytes > 0 &&
         (root.c_str()[bytes - 1] == '/' ||
          (root.c_str()[bytes - 1] == '.' && bytes > 1 && root.c_str()[bytes - 2] == '/'))) {
    --bytes;
  }
  g_root.clear();
  g_root.add(root.c_str(), bytes);
}

}  // namespace iotune
