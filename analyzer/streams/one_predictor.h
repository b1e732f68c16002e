// Predictors of streams.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "patterns/predict/predictors.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

// The kind of that name, of those that need no plan recorded before.
inline recorder::Result<const patterns::PredictorKind*> kind_without_plan(const std::string& name) {
  const patterns::PredictorKind* const kind = patterns::predictor_kind(name);
  if (kind == nullptr || kind->name == "recorded") {
    return recorder::Error{{}, "there is no predictor " + name};
  }
  return kind;
}

// A predictor of any kind in memory of its own.
class OnePredictor {
 public:
  // `options` may be forgotten afterwards, but for what a recorded plan is read from.
  OnePredictor(const patterns::PredictorKind& kind, const patterns::PredictorOptions& options)
      : kind_(&kind),
        words_((kind.bytes(options) + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)) {
    started_ = kind.start(std::as_writable_bytes(std::span(words_)), options);
  }
  // False where what is earlier is damaged: nothing else may be asked then.
  bool started() const noexcept { return started_; }

  // Whether the access was what was predicted, offset and length.
  bool foresaw(patterns::Extent access) noexcept {
    patterns::Prediction next;
    const bool right = predict({&next, 1}) == 1 && next.extent == access;
    observe(access);
    return right;
  }
  void observe(patterns::Extent access) noexcept {
    kind_->observe(std::as_writable_bytes(std::span(words_)).data(), access);
  }
  unsigned predict(std::span<patterns::Prediction> to) const noexcept {
    return kind_->predict(std::as_bytes(std::span(words_)).data(), to);
  }
  std::size_t state_bytes() const noexcept { return words_.size() * sizeof(std::max_align_t); }

 private:
  const patterns::PredictorKind* kind_;
  std::vector<std::max_align_t> words_;
  bool started_ = false;
};

}  // namespace iotune::analyzer
