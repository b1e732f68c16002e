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

// How many times faster a file is than without settings, as natural logarithms.
struct PredictedGain {
  double log_gain, spread;  // mean and standard deviation over the trees
  double low, high;  // what the true one lies between, in the share of cases it was fitted to
};

class GainModel {
 public:
  // Of bytes as iotune.models.gains writes them. An error says what is wrong with them; one of
  // other features is refused: it is of another version.
  static Result<GainModel> parse(std::string_view payload) noexcept;

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

  double of_tree(std::size_t tree, const float* inputs) const noexcept;

  Prices prices_{};
  std::vector<Range> ranges_;  // of the pattern's features
  std::vector<std::size_t> roots_;
  std::vector<Node> nodes_;
  // low = mean - low_scale * s and so on, s = sqrt(spread^2 + floor^2).
  double floor_ = 0, low_scale_ = 0, high_scale_ = 0;
};

}  // namespace iotune::patterndb
