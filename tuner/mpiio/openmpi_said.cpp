#include "tuner/mpiio/openmpi_said.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/link/real_function.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"

namespace iotune::tuner {
namespace {

// Of MPI-IO, of the file systems beneath it, and what names other files of parameters.
bool concerns_io(const char* parameter) noexcept {
  for (const char* begin : {"io", "fs_", "fcoll", "mca_base_param", "mca_base_override",
                            "mca_base_envar", "mca_param_files"}) {
    if (starts_with(parameter, begin)) return true;
  }
  return false;
}

bool is_in_environment() noexcept {
  constexpr char kPrefix[] = "OMPI_MCA_";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (starts_with(*entry, kPrefix) && concerns_io(*entry + sizeof kPrefix - 1)) return true;
  }
  return false;
}

// Lines `name = value`; a file that is too long to be read here may say anything.
bool is_in_file(const char* path) noexcept {
  const int fd = raw::open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd == -ENOENT || fd == -ENOTDIR) return false;
  if (fd < 0) return true;
  static constinit char text[16384] = {};
  std::size_t used = 0;
  long bytes = 0;
  while (used < sizeof text - 1 &&
         (bytes = raw::read(fd, text + used, sizeof text - 1 - used)) > 0) {
    used += static_cast<std::size_t>(bytes);
  }
  raw::close(fd);
  if (bytes != 0) return true;
  text[used] = '\0';
  for (const char* line = text; line != nullptr && *line != '\0';) {
    if (concerns_io(line + std::strspn(line, " \t\r"))) return true;
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return false;
}

// Where the site's files are: Open MPI's own table of its directories, moved with OPAL_PREFIX.
const char* site_directory() noexcept {
  constexpr int kSysconfdir = 7;
  char* const* const directories = static_cast<char* const*>(default_symbol("opal_install_dirs"));
  const char* const found = directories == nullptr ? nullptr : directories[kSysconfdir];
  return found == nullptr || *found != '/' ? nullptr : found;
}

}  // namespace

bool io_parameters_may_be_set() noexcept {
  const char* const site = site_directory();
  const char* const home = std::getenv("HOME");
  if (site == nullptr || home == nullptr || is_in_environment()) return true;
  ShortText<4096> path;
  path << home << "/.openmpi/mca-params.conf";
  if (path.cut() || is_in_file(path.c_str())) return true;
  for (const char* name : {"/openmpi-mca-params.conf", "/openmpi-mca-params-override.conf"}) {
    path.clear();
    path << site << name;
    if (path.cut() || is_in_file(path.c_str())) return true;
  }
  return false;
}

}  // namespace iotune::tuner
