#include "patterns/predict/nest_predictor.h"

#include <new>
#include <type_traits>

namespace iotune::patterns {

static_assert(std::is_trivially_destructible_v<OneLane> &&
              std::is_trivially_destructible_v<TurnLanes>);

void NestPredictor::observe_other(const Extent& access) noexcept {
  begun_ = true;
  if (in_turns_) {
    if (turns_.observe(access, steps_, next_)) return;
    in_turns_ = false;
    steps_.keep(0);
    new (&one_) OneLane;
  }
  if (one_.observe(access, steps_, next_)) return;
  Extent at[TurnLanes::kLanes];
  const unsigned lanes = one_.turns(at);
  steps_.keep(0);
  in_turns_ = true;
  new (&turns_) TurnLanes({at, lanes});
  next_ = {};
  turns_.expect(steps_, next_);
}

unsigned NestPredictor::predict(std::span<Prediction> out) const noexcept {
  const Confidence confidence(rate_.share());
  return in_turns_ ? turns_.predict(steps_, next_, confidence, out)
                   : one_.predict(steps_, next_, confidence, out);
}

}  // namespace iotune::patterns
