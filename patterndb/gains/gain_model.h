// What settings are worth for a pattern that was never measured: a cost model, and trees that
// correct it. Fitted offline (models/gains), evaluated where a file is opened.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "patterndb/gains/cost_terms.h"
#include "patterndb/matching/features.h"
#include "patterndb/store/result.h"

namespace iotune::patterndb {

// What the trees see: the features under the settings, then how far those of the settings are from
// what holds without any, then the cost model's own answer.
inline constexpr std::size_t kGainInputs =
    kFeatureCount + (kFeatureCount - kPatternFeatureCount) + 1;
using GainInputs = std::array<double, kGainInputs>;
using Prices = std::array<double, kCostTermCount>;  // seconds

GainInputs gain_inputs(const Features& with, const Features& without,
                       const Prices& prices) noexcept;

// FNV-1a of 64 bits.
std::uint64_t checksum(std::string_view bytes) noexcept;

// How bytes reach the storage under settings: an interval is as wide as answers for other patterns
// of the same way were off. What changes a file's stripes is a way of its own.
enum class Way { kPieces, kSieved, kExchanged, kStriped };
inline constexpr std::size_t kWays = 4;
Way way_of(const Features& with, const Features& without) noexcept;

// How many times faster a file is than without settings, as natural logarithms.
struct PredictedGain {
  double log_gain, spread;  // mean and standard deviation over the trees
  double low, high;  // what the true one lies between, in the share of cases it was fitted to
  double sure;  // `low`, lower where the best of many candidates turned out worse than expected
};

class GainModel {
 public:
  // Of bytes as iotune.models.gains writes them. An error says what is wrong with them; one of
  // other features is refused: it is of another version.
  static Result<GainModel> parse(std::string_view payload) noexcept;

  // Of a pattern outside of what was learnt the cost model answers alone, and less sure the farther
  // outside it lies.
  PredictedGain gain(const Features& with, const Features& without) const noexcept;

  // The name of a feature of the pattern that lies outside of what was learnt; nullptr: none does.
  const char* out_of_range(const Features& without) const noexcept;

  std::size_t trees() const { return roots_.size(); }

 private:
  struct Node {
    double value;        // a leaf's answer, or the threshold
    std::int32_t right;  // of the right child; the left one follows its parent
    std::int16_t input;  // -1: a leaf
  };
  struct Range {
    double low, high;
  };
  // low = mean - low * s and so on.
  struct Scales {
    double low, high;
  };

  double of_tree(std::size_t tree, const float* inputs) const noexcept;
  double doublings_outside(const Features& without) const noexcept;

  Prices prices_{};
  std::vector<Range> ranges_;  // of the pattern's features
  std::vector<std::size_t> roots_;
  std::vector<Node> nodes_;
  double floor_ = 0;  // s = sqrt(spread^2 + floor^2)
  Scales scales_[kWays] = {};
  double chosen_scale_ = 0;  // of `sure`
  Scales outside_ = {};      // s is what the cost model's own answer is off by: 1
  double chosen_outside_ = 0;
};

}  // namespace iotune::patterndb
