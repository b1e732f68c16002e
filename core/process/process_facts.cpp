#include "core/process/process_facts.h"

#include <sys/utsname.h>

#include <cstring>

#include "core/os/host_label.h"
#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"

namespace iotune {
namespace {

constinit ShortText<65> g_host;
constinit ShortText<4096> g_program;

// The name without the file system in front of it: "ufs:a.bin".
const char* path_of_mpi(const char* name) noexcept {
  static constexpr const char* kPrefixes[] = {
      "ufs:", "nfs:", "xfs:", "panfs:", "pvfs2:", "gpfs:", "lustre:", "daos:", "ime:", "quobyte:"};
  if (name != nullptr && *name != '/') {
    for (const char* prefix : kPrefixes) {
      if (starts_with(name, prefix)) {
        name += std::strlen(prefix);
        break;
      }
    }
  }
  return name;
}

}  // namespace

const char* host_name() noexcept {
  if (g_host.size() == 0) {
    utsname names{};
    raw::call(SYS_uname, raw::word(&names));
    make_host_label(names.nodename, [](char letter) noexcept { g_host << letter; });
  }
  return g_host.c_str();
}

const char* program_path() noexcept {
  if (g_program.size() == 0) {
    char path[4096];
    const long bytes = raw::readlink("/proc/self/exe", path, sizeof path);
    if (bytes > 0) g_program.add(path, static_cast<std::size_t>(bytes));
  }
  return g_program.c_str();
}

void absolute_path(const char* path, ShortText<4096>& to) noexcept {
  to.clear();
  if (path == nullptr) return;
  if (path[0] != '/') {
    const bool asks = !has_dropped_privileges();
    const long bytes = asks ? raw::getcwd(to.tail(), to.room()) : -1;
    if (bytes > 1) to.grew(static_cast<std::size_t>(bytes - 1));
    if (to.size() != 1) to << '/';
    while (path[0] == '.' && path[1] == '/') path += 2;
  }
  to << path;
}

void absolute_path_of_mpi(const char* name, ShortText<4096>& to) noexcept {
  absolute_path(path_of_mpi(name), to);
}

bool is_relative_to_mpi(const char* name) noexcept {
  return name == nullptr || *path_of_mpi(name) != '/';
}

}  // namespace iotune
