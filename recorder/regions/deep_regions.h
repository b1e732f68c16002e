// Regions that lie too deep to be recorded: of each whose it is, so that an end finds its own
// begin.
#pragma once

#include <cstdint>

#include "recorder/regions/regions.h"

namespace iotune::recorder {

// Of one thread. All zero: none is open.
class DeepRegions {
 public:
  void begin(RegionOwner owner, std::uint64_t hash) noexcept {
    if (beyond_ == 0 && runs_ > 0 && is_of(run_[runs_ - 1], owner, &hash)) {
      ++run_[runs_ - 1].count;
    } else if (beyond_ == 0 && runs_ < kMostRuns) {
      run_[runs_++] = {owner, hash, 1};
    } else {
      ++beyond_;
    }
  }

  // Ends the innermost one of that owner and name, and those inside it; `hash` nullptr: whatever
  // its name is. False: none of these is.
  bool end(RegionOwner owner, const std::uint64_t* hash) noexcept {
    if (beyond_ > 0) {
      --beyond_;
      return true;
    }
    int at = runs_ - 1;
    while (at >= 0 && !is_of(run_[at], owner, hash)) --at;
    if (at < 0) return false;
    runs_ = --run_[at].count > 0 ? at + 1 : at;
    return true;
  }

  // What they lie in has ended.
  void end_all() noexcept {
    runs_ = 0;
    beyond_ = 0;
  }

 private:
  // Regions of one name straight inside each other, as a recursion has them.
  struct Run {
    RegionOwner owner;
    std::uint64_t hash;
    std::uint64_t count;
  };
  static constexpr int kMostRuns = 512;

  static bool is_of(const Run& run, RegionOwner owner, const std::uint64_t* hash) noexcept {
    return run.owner == owner && (hash == nullptr || run.hash == *hash);
  }

  int runs_;
  std::uint64_t beyond_;  // regions in more runs than that: each end is taken for one of theirs
  Run run_[kMostRuns];
};

}  // namespace iotune::recorder
