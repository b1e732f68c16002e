#include "analyzer/summarize.h"
#include "patterndb/observe.h"
#include "patterndb/spool.h"

namespace iotune::patterndb {

Result<std::string> observe(const std::string& trace_path, const std::string& spool) noexcept {
  return guarded<std::string>([&]() -> std::string {
    auto summary = analyzer::summarize(trace_path);
    if (!summary) throw Fault{summary.error().text()};
    Observation observation = observation_of(*summary, trace_path);
    if (observation.files.empty()) return {};
    Result<std::string> path = leave_in_spool(observation, spool);
    if (!path) throw Fault{path.error().text()};
    return *path;
  });
}

}  // namespace iotune::patterndb
