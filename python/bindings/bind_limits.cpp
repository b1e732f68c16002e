// What the site and the batch system allow this process, and what libraries and file systems are,
// as the preload sees it, for Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/abi/mpi_identity.h"
#include "core/process/site_folder.h"
#include "core/process/site_limits.h"
#include "python/bindings/bindings.h"
#include "tuner/decision/job_memory.h"
#include "tuner/posix/file_system.h"

namespace {

using pybind11::literals::operator""_a;

std::optional<std::uint64_t> job_limit_bytes() {
  const std::uint64_t limit = iotune::tuner::job_limit_bytes();
  return limit == iotune::tuner::kNoLimit ? std::nullopt : std::optional(limit);
}

// A file that is not understood allows nothing, and so no learning.
bool site_is_frozen() {
  using namespace iotune;
  const SiteLimits limits = read_site_limits(std::getenv("IOTUNE_SITE_CONFIG"), nullptr);
  return limits.frozen || limits.most == Mode::kOff;
}

bool site_switches_off() {
  using namespace iotune;
  return read_site_limits(std::getenv("IOTUNE_SITE_CONFIG"), nullptr).most == Mode::kOff;
}

// read_site_limits() tells its faults to a plain function.
std::vector<std::string>* g_site_faults = nullptr;

pybind11::dict site_limits() {
  using namespace iotune;
  std::vector<std::string> faults;
  g_site_faults = &faults;
  const SiteLimits limits =
      read_site_limits(std::getenv("IOTUNE_SITE_CONFIG"),
                       [](const char* text) noexcept { g_site_faults->emplace_back(text); });
  g_site_faults = nullptr;
  pybind11::dict found;
  found["mode"] = limits.most == Mode::kTune     ? "tune"
                  : limits.most == Mode::kRecord ? "record"
                                                 : "off";
  found["frozen"] = limits.frozen;
  found["share"] = limits.share;
  found["database"] = limits.database;
  found["traces"] = limits.traces;
  found["applied_log"] = limits.applied_log;
  found["for_group"] = limits.readers == SiteLimits::Readers::kGroup;
  found["replayers"] = limits.replayers;
  found["exclude_programs"] = limits.programs;
  found["keep_above_mib"] = limits.keep_above_mib;
  found["gathers_stored"] = limits.gathers_stored;
  found["faults"] = faults;
  return found;
}

// Member `version` is empty for an MPI that is left alone.
pybind11::dict identify_mpi(const std::string& library_version, const std::string& soname,
                            bool has_open_mpi_objects) {
  using iotune::MpiAbi;
  const iotune::MpiIdentity identity =
      iotune::identify_mpi(library_version.c_str(), soname.c_str(), has_open_mpi_objects);
  pybind11::dict found;
  found["version"] = identity.known ? identity.version : "";
  found["abi"] = identity.abi == MpiAbi::kOpenMpi    ? "Open MPI"
                 : identity.abi == MpiAbi::kStandard ? "standard"
                                                     : "MPICH";
  return found;
}

bool locks_hold_between_nodes(const std::filesystem::path& directory,
                              const std::string& file_system) {
  return iotune::tuner::locks_hold_between_nodes((directory / "file").c_str(), file_system.c_str());
}

// The folder `name` of this user's; None where the site's file has no such entry.
pybind11::object folder_of_site(iotune::SiteFolder (*entry)() noexcept, const std::string& name,
                                bool make) {
  using namespace iotune;
  read_site_limits(std::getenv("IOTUNE_SITE_CONFIG"), nullptr);
  const SiteFolder site = entry();
  if (*site.pattern == '\0') return pybind11::none();
  ShortText<4096> path;
  const char* const fault = site_folder(site.pattern, name.c_str(), site.for_group, make, path);
  return pybind11::make_tuple(std::filesystem::path(path.c_str()), fault == nullptr ? "" : fault,
                              site.for_group);
}

}  // namespace

void bind_limits(pybind11::module_& module) {
  module.def("job_limit_bytes", &job_limit_bytes,
             "What this job may take of the node's memory; None: no limit was set.");
  module.def("site_is_frozen", &site_is_frozen,
             "Whether /etc/iotune.conf, or what IOTUNE_SITE_CONFIG names, forbids to learn.");
  namespace py = pybind11;
  module.def(
      "site_traces_folder",
      [](const std::string& name, bool make) {
        return folder_of_site(iotune::site_traces, name, make);
      },
      py::arg("name"), py::arg("make") = false,
      "(path, why it cannot be used, whether the group reads) of that folder of this user's below "
      "what /etc/iotune.conf names for traces; None where it names nothing.");
  module.def(
      "site_applied_folder",
      [] { return folder_of_site(iotune::site_applied_log, "applied", false); },
      "The same of this user's log of what was applied, which is never made.");
  module.def("site_switches_off", &site_switches_off, "Whether it switches everything off.");
  module.def("site_limits", &site_limits,
             "What these two say, entry by entry, and their faults in words.");
  module.def("identify_mpi", &identify_mpi, "library_version"_a, "soname"_a,
             "has_open_mpi_objects"_a, "version (empty: unknown) and abi of an MPI's library.");
  module.def("locks_hold_between_nodes", &locks_hold_between_nodes, "directory"_a, "filesystem"_a,
             "Whether fcntl locks exclude processes on other nodes too.");
}
