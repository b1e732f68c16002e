// What a batch system gives the job that this process is of, for Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>

#include "python/bindings/bindings.h"
#include "tuner/job_memory.h"

namespace {

std::optional<std::uint64_t> job_limit_bytes() {
  const std::uint64_t limit = iotune::tuner::job_limit_bytes();
  return limit == iotune::tuner::kNoLimit ? std::nullopt : std::optional(limit);
}

}  // namespace

void bind_job(pybind11::module_& module) {
  module.def("job_limit_bytes", &job_limit_bytes,
             "What this job may take of the node's memory; None: no limit was set.");
}
