// Does a setting lose to the default? A sequential test that may be looked at after every run.
//
// Which runs are left at the default is drawn, so the draw is all that the test builds on: while
// the settings do not make runs slower, a run's bandwidth says nothing of what was drawn for it,
// and betting on the draw with the bandwidth in hand wins nothing in the long run. The stake
// depends on how the bandwidth ranks among earlier ones, never on its size: tails may be as heavy
// as they like, and storage may drift, because both arms drift alike. Three stakes are played side
// by side and averaged.
//
// Betting on drawn treatments by ranks: Duan, Ramdas, Wasserman, "Interactive rank testing by
// betting" (CLeaR 2022). A capital that starts anew at 1 whenever it is below, so that settings
// that were good for long are found out as well: Shin, Ramdas, Rinaldo, "E-detectors" (NEJSDS
// 2024); settings that do no harm reach kRevertAt once in kRevertAt runs at most, on average.
#pragma once

#include <array>
#include <vector>

namespace iotune::patterndb {

inline constexpr double kRevertAt = 200;

struct DefaultTest {
  std::array<double, 3> capital = {1, 1, 1};  // by stake: cautious, middle, bold

  double value() const;  // their mean
  bool rejects() const { return value() >= kRevertAt; }
};

// Bandwidths of comparable runs before this one, in any monotone unit.
struct EarlierRuns {
  std::vector<double> tuned, at_default;
};

// Takes one run into account. `default_share` is the probability with which it was to be left at
// the default; a share of 0 or 1 teaches nothing.
void add_run(DefaultTest& test, double bandwidth, bool at_default, double default_share,
             const EarlierRuns& earlier) noexcept;

}  // namespace iotune::patterndb
