// Accesses of one call site to loops, one after the other as they came: memory for the loops and
// not for the accesses, where these are regular.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/order/access_runs.h"

namespace iotune::analyzer {

class AccessFolder {
 public:
  // The next accesses of one file, site, direction and length: a loop or one access, in a segment
  // that is no earlier than the last one's.
  void add(AccessRun run);
  // All of them; what is too short for a loop as single accesses.
  void finish(std::vector<AccessRun>& to);

 private:
  bool goes_on(const AccessRun& run);
  void close_last();

  std::vector<AccessRun> runs_;
  bool last_is_open_ = false;  // the last run may still grow
};

}  // namespace iotune::analyzer
