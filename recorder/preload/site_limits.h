// What the site allows: /etc/iotune.conf, which only root may write, and after it the file that
// IOTUNE_SITE_CONFIG names. Each can only take away, so that a user can try one out and can not
// undo the site's.
#pragma once

#include "recorder/preload/configuration.h"

namespace iotune::recorder {

struct SiteLimits {
  Mode most = Mode::kTune;
  bool frozen = false;   // what is trusted is applied, nothing is learnt
  unsigned share = 100;  // percent of the jobs that may be tuned; the others record
};

// `own`: IOTUNE_SITE_CONFIG or nullptr. A file that is there and cannot be trusted or understood
// allows nothing: its fault is said unless `quiet`, with the line.
SiteLimits read_site_limits(const char* own, bool quiet) noexcept;

// Whether the job of that run is one of the share: the same answer for all steps of a batch job
// and all ranks of a run.
bool run_is_in_share(const char* run_id, unsigned share) noexcept;

}  // namespace iotune::recorder
