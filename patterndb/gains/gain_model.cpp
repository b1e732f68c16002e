#include "patterndb/gains/gain_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace iotune::patterndb {

namespace {

// Layout, little-endian: magic, sizes (std::uint32_t: features, prices, trees, nodes), a hash of
// the features' names (std::uint64_t), prices, ranges (low, high) of the pattern's features, floor,
// scales of low and high of each way, scale of what is chosen, scales outside and of what is chosen
// there; roots
// (std::uint32_t) of the trees; then of each node its value (double), right child (std::int32_t, in
// the forest) and input (std::int16_t), each as one array; at the end checksum() of all before it
// (std::uint64_t).
constexpr char kMagic[8] = {'i', 'o', 't', 'u', 'n', 'e', 'G', '2'};
constexpr std::uint32_t kMostTrees = 4096, kMostNodes = 1U << 22;
// A feature may lie as far outside of what was learnt: a doubling of most.
constexpr double kSlack = 1.0;
// By how much of itself an interval grows with each doubling that a pattern lies outside, and how
// many doublings a kind of pattern counts that was never measured.
constexpr double kWiderEachDoubling = 0.1, kKindDoublings = 5;

bool is_answer(std::size_t feature) {
  return strncmp(kFeatureNames[feature], "is_", 3) == 0;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T one() {
    T value;
    memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  template <typename T>
  std::vector<T> many(std::size_t count) {
    const std::string_view part = take(count * sizeof(T));
    std::vector<T> values(count);
    if (count > 0) memcpy(values.data(), part.data(), part.size());
    return values;
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw Fault{"a gain model that ends too early"};
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }

  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

std::uint64_t hash_of_names() {
  std::string names;
  for (const char* name : kFeatureNames) names += std::string(name) + "\n";
  for (const char* name : kCostTermNames) names += std::string(name) + "\n";
  return checksum(names);
}

double finite(double value) {
  if (!std::isfinite(value)) throw Fault{"a gain model with a number that is none"};
  return value;
}

}  // namespace

std::uint64_t checksum(std::string_view bytes) noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211U;
  }
  return hash;
}

Way way_of(const Features& with, const Features& without) noexcept {
  constexpr std::size_t kCount = feature_place("log2_stripe_count"),
                        kBytes = feature_place("log2_stripe_bytes");
  if (with[kCount] != without[kCount] || with[kBytes] != without[kBytes]) return Way::kStriped;
  if (with[feature_place("is_two_phase")] > 0) return Way::kExchanged;
  return with[feature_place("is_sieved")] > 0 ? Way::kSieved : Way::kPieces;
}

GainInputs gain_inputs(const Features& with, const Features& without,
                       const Prices& prices) noexcept {
  GainInputs inputs{};
  std::size_t at = 0;
  for (const double one : with) inputs[at++] = one;
  for (std::size_t i = kPatternFeatureCount; i < kFeatureCount; ++i) {
    inputs[at++] = with[i] - without[i];
  }
  const auto seconds = [&](const Features& features) {
    const CostTerms terms = cost_terms(features);
    double sum = 0;
    for (std::size_t i = 0; i < kCostTermCount; ++i) sum += terms[i] * prices[i];
    return std::max(sum, 1e-9);
  };
  inputs[at] = std::log(seconds(without) / seconds(with));
  return inputs;
}

Result<GainModel> GainModel::parse(std::string_view payload) noexcept {
  return guarded<GainModel>([&] {
    if (payload.size() < sizeof kMagic + sizeof(std::uint64_t) ||
        memcmp(payload.data(), kMagic, sizeof kMagic - 1) != 0) {
      throw Fault{"no gain model of iotune"};
    }
    constexpr const char* kOtherVersion =
        "a gain model of another version of iotune: train it again";
    if (payload[sizeof kMagic - 1] != kMagic[sizeof kMagic - 1]) throw Fault{kOtherVersion};
    const std::string_view body = payload.substr(0, payload.size() - sizeof(std::uint64_t));
    Reader reader(body.substr(sizeof kMagic));
    if (Reader(payload.substr(body.size())).one<std::uint64_t>() != checksum(body)) {
      throw Fault{"a damaged gain model: its checksum differs"};
    }
    const auto features = reader.one<std::uint32_t>(), prices = reader.one<std::uint32_t>();
    const auto trees = reader.one<std::uint32_t>(), nodes = reader.one<std::uint32_t>();
    const auto names = reader.one<std::uint64_t>();
    if (features != kFeatureCount || prices != kCostTermCount || names != hash_of_names()) {
      throw Fault{kOtherVersion};
    }
    if (trees == 0 || trees > kMostTrees || nodes < trees || nodes > kMostNodes) {
      throw Fault{"a gain model of an impossible size"};
    }
    GainModel found;
    for (double& price : found.prices_) price = finite(reader.one<double>());
    for (std::size_t i = 0; i < kPatternFeatureCount; ++i) {
      const double low = finite(reader.one<double>());
      found.ranges_.push_back({low, finite(reader.one<double>())});
    }
    found.floor_ = finite(reader.one<double>());
    const auto scales = [&]() -> Scales {
      const double low = finite(reader.one<double>());
      return {low, finite(reader.one<double>())};
    };
    for (Scales& one : found.scales_) one = scales();
    found.chosen_scale_ = finite(reader.one<double>());
    found.outside_ = scales();
    found.chosen_outside_ = finite(reader.one<double>());
    for (const std::uint32_t root : reader.many<std::uint32_t>(trees)) {
      found.roots_.push_back(root);
    }
    const auto values = reader.many<double>(nodes);
    const auto rights = reader.many<std::int32_t>(nodes);
    const auto inputs = reader.many<std::int16_t>(nodes);
    if (!reader.at_end()) throw Fault{"a gain model with bytes behind its end"};
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const bool leaf = inputs[i] < 0;
      // A walk only goes on, and so it ends.
      const bool wrong = !leaf && (inputs[i] >= static_cast<std::int16_t>(kGainInputs) ||
                                   rights[i] <= static_cast<std::int64_t>(i) + 1 ||
                                   rights[i] >= static_cast<std::int64_t>(nodes));
      if (wrong) throw Fault{"a gain model whose trees are damaged"};
      found.nodes_.push_back({finite(values[i]), rights[i], inputs[i]});
    }
    for (const std::size_t root : found.roots_) {
      if (root >= nodes) throw Fault{"a gain model whose trees are damaged"};
    }
    return found;
  });
}

double GainModel::of_tree(std::size_t tree, const float* inputs) const noexcept {
  std::size_t at = roots_[tree];
  while (nodes_[at].input >= 0) {
    const Node& node = nodes_[at];
    // The trees were grown on single precision.
    const bool left = static_cast<double>(inputs[node.input]) <= node.value;
    at = left ? at + 1 : static_cast<std::size_t>(node.right);
  }
  return nodes_[at].value;
}

PredictedGain GainModel::gain(const Features& with, const Features& without) const noexcept {
  const GainInputs exact = gain_inputs(with, without, prices_);
  if (out_of_range(without) != nullptr) {
    const double own = exact.back();
    const double wider = 1 + kWiderEachDoubling * doublings_outside(without);
    return {own, 0, own - outside_.low * wider, own + outside_.high * wider,
            own - std::max(outside_.low, chosen_outside_) * wider};
  }
  float inputs[kGainInputs];
  std::transform(exact.begin(), exact.end(), inputs,
                 [](double one) { return static_cast<float>(one); });
  double mean = 0, squares = 0;  // of the distances from the mean, after Welford
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    const double one = of_tree(i, inputs), before = mean;
    mean += (one - mean) / static_cast<double>(i + 1);
    squares += (one - before) * (one - mean);
  }
  const double spread = std::sqrt(squares / static_cast<double>(roots_.size()));
  const double log_gain = exact.back() + mean, s = std::hypot(spread, floor_);
  const Scales& of_way = scales_[static_cast<std::size_t>(way_of(with, without))];
  return {log_gain, spread, log_gain - of_way.low * s, log_gain + of_way.high * s,
          log_gain - std::max(of_way.low, chosen_scale_) * s};
}

// What is true or not counts as kKindDoublings where it never was so.
double GainModel::doublings_outside(const Features& without) const noexcept {
  double found = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const double beyond =
        std::max({ranges_[i].low - without[i], without[i] - ranges_[i].high, 0.0});
    found += is_answer(i) ? kKindDoublings * beyond : beyond;
  }
  return found;
}

const char* GainModel::out_of_range(const Features& without) const noexcept {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (without[i] < ranges_[i].low - kSlack || without[i] > ranges_[i].high + kSlack) {
      return kFeatureNames[i];
    }
    // What is true or not has no slack.
    if (is_answer(i) && (without[i] < ranges_[i].low || without[i] > ranges_[i].high)) {
      return kFeatureNames[i];
    }
  }
  return nullptr;
}

}  // namespace iotune::patterndb
