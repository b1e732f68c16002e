// What the site and the batch system allow this process, for Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "core/process/site_limits.h"
#include "python/bindings/bindings.h"
#include "tuner/decision/job_memory.h"

namespace {

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

}  // namespace

void bind_limits(pybind11::module_& module) {
  module.def("job_limit_bytes", &job_limit_bytes,
             "What this job may take of the node's memory; None: no limit was set.");
  module.def("site_is_frozen", &site_is_frozen,
             "Whether /etc/iotune.conf, or what IOTUNE_SITE_CONFIG names, forbids to learn.");
  module.def("site_switches_off", &site_switches_off, "Whether it switches everything off.");
}
