// What the site allows: /etc/iotune.conf, which only root may write, and after it the file that
// IOTUNE_SITE_CONFIG names. Each can only take away, so that a user can try one out and can not
// undo the site's; the first database named holds.
#pragma once

#include <cstdint>

#include "core/process/configuration.h"

namespace iotune {

struct SiteLimits {
  Mode most = Mode::kTune;
  bool frozen = false;   // what is trusted is applied, nothing is learnt
  unsigned share = 100;  // percent of the jobs that may be tuned; the others record
  // The site's database, which is asked where the user's own has no answer; empty: none.
  char database[512] = "";
  // Where the site's prebuilt replayers lie; empty: nowhere. Of commands alone, not of runs.
  char replayers[512] = "";
  // Where each user's traces lie instead of in the home, with %u in it (site_folder.h); empty: in
  // the home.
  char traces[512] = "";
  // Where each user's log of what was applied lies, likewise; empty: there is none.
  char applied_log[512] = "";
  // Programs that are left out, beside those of the user (left_out_programs.h); empty: none.
  char programs[512] = "";
  // Small writes wait where a stored answer says so (IOTUNE_GATHER=stored).
  bool gathers_stored = false;
  // What a program without MPI, HDF5 and netCDF has to move to be worth a trace; 0: not said.
  std::uint64_t keep_above_mib = 0;
  // Whether traces and the log may be read by their group: said, and nowhere refused.
  enum class Readers : std::uint8_t { kNotSaid, kGroup, kOwner } readers = Readers::kNotSaid;
};

// `own`: IOTUNE_SITE_CONFIG or nullptr. A file that is there and cannot be trusted or understood
// allows nothing: `tell` gets its fault, with the line; nullptr: nobody does.
SiteLimits read_site_limits(const char* own, void (*tell)(const char* text) noexcept) noexcept;

// What the last call of read_site_limits() found for `database`; empty: none.
const char* site_database() noexcept;

// And for `traces` and `applied_log`; an empty pattern: nothing. `for_group`: the readers of what
// lies there are the group too.
struct SiteFolder {
  const char* pattern;
  bool for_group;
};
SiteFolder site_traces() noexcept;
SiteFolder site_applied_log() noexcept;

// Whether the job of that id (run_identity.h) is one of the share, in percent. A larger share has
// all jobs of a smaller one.
bool job_is_in_share(const char* job_id, unsigned share) noexcept;

}  // namespace iotune
