#include "patterndb/decide/default_test.h"

#include <algorithm>

namespace iotune::patterndb {

namespace {

constexpr std::array<double, 3> kStakes = {0.2, 0.5, 0.8};

// Where a bandwidth ranks among others, from -1 (below all) to 1, drawn to 0 where they are few.
double rank_among(const std::vector<double>& others, double bandwidth) {
  double above = 0;
  for (double other : others) above += other < bandwidth ? 1 : other > bandwidth ? -1 : 0;
  return above / (static_cast<double>(others.size()) + 2);
}

// How much the bandwidth looks like a run of a faster default (1) or of slower settings (-1).
double leaning(const EarlierRuns& earlier, double bandwidth) {
  // Settings that lose: a default run lies above the tuned ones and amid the default ones, a
  // tuned run below the default ones and amid its own. Either way one of the two ranks is 0.
  double sum = rank_among(earlier.tuned, bandwidth) + rank_among(earlier.at_default, bandwidth);
  return std::clamp(sum, -1.0, 1.0);
}

}  // namespace

double DefaultTest::value() const {
  double sum = 0;
  for (double one : capital) sum += one;
  return sum / static_cast<double>(capital.size());
}

void add_run(DefaultTest& test, double bandwidth, bool at_default, double default_share,
             const EarlierRuns& earlier) noexcept {
  if (!(default_share > 0 && default_share < 1)) return;
  double lean = leaning(earlier, bandwidth);
  for (std::size_t i = 0; i < kStakes.size(); ++i) {
    // Part of the capital goes on one of the arms at its fair price: what the draw pays is 1 on
    // average, whatever the stake.
    double stake = kStakes[i] * std::abs(lean);
    double price = lean > 0 ? default_share : 1 - default_share;
    bool won = (lean > 0) == at_default;
    double factor = 1 - stake + (won ? stake / price : 0);
    test.capital[i] = std::max(test.capital[i], 1.0) * factor;
  }
}

}  // namespace iotune::patterndb
