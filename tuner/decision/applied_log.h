// The site's log of what was applied: `applied_log` in /etc/iotune.conf names a folder for each
// user, and each run in which settings were decided leaves one line there, one JSON object, in
// applied/YYYY-MM-NODE-BOOT.jsonl (docs/howto/sites.md, "What was applied, and where").
//
// Many runs write at once, and on NFS an append goes to where the client believes the file to end:
// two nodes that append to one file overwrite each other. So a file has the lines of one user, one
// month and one boot of one kernel. The processes of a kernel share its cache of the file and its
// lock on the inode, and there one write with O_APPEND adds a line as a whole. BOOT are eight
// characters of the kernel's boot id: containers and diskless nodes share names, never that. Where
// it cannot be read a number is drawn, and the file is the run's own. A file of each run would do
// as well, and fill the inodes of the site.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tuner/decision/outcome_digest.h"

namespace iotune::tuner {

// Counted where the site has such a log, else nothing is done.
void count_decision(const char* file, const Decision& decision) noexcept;
void count_outcome(const char* file, const char* parameter, const char* wanted, Verdict verdict,
                   const Why& why) noexcept;

// At the end of an MPI run rank 0 writes for all ranks: entries of recorder/hooks/decisions.h.
std::span<const std::byte> own_outcomes() noexcept;
std::span<std::byte> room_for_outcomes() noexcept;
void take_outcomes() noexcept;

// Where something was decided in this process, and it is no rank but 0: writes the line. Failing is
// said once, and disturbs nothing.
void write_applied_log() noexcept;

}  // namespace iotune::tuner
