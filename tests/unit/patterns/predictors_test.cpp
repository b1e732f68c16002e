// The one interface: every kind does through it what its class does.
#include "patterns/predict/predictors.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "patterns/predict/baselines/markov_predictor.h"
#include "patterns/predict/recorded_plan.h"
#include "predict_test_streams.h"

namespace iotune::patterns {
namespace {

using testing::Accesses;
using testing::nest;

struct Memory {
  alignas(std::max_align_t) std::byte bytes[1 << 20];
};

std::size_t count_right(const PredictorKind& kind, const PredictorOptions& options,
                        const Accesses& stream) {
  const auto memory = std::make_unique<Memory>();
  // Exactly what was asked for, behind it what must stay.
  const std::size_t size = kind.bytes(options);
  EXPECT_LT(size, sizeof(Memory));
  memory->bytes[size] = std::byte{0x5a};
  EXPECT_FALSE(kind.start({memory->bytes, size - 1}, options));
  EXPECT_TRUE(kind.start({memory->bytes, size}, options));
  std::size_t right = 0;
  for (const Extent& access : stream) {
    Prediction next{};
    const unsigned made = kind.predict(memory->bytes, {&next, 1});
    right += made == 1 && next.extent == access ? 1 : 0;
    EXPECT_EQ(kind.predict(memory->bytes, {}), 0U);
    kind.observe(memory->bytes, access);
  }
  EXPECT_EQ(memory->bytes[size], std::byte{0x5a});
  return right;
}

TEST(Predictors, EveryKindRuns) {
  const Accesses stream = nest({{30, 100000}, {30, 8192}}, {{0, 8192}});
  std::vector<std::byte> plan(plan_bytes_limit(stream.size()));
  std::vector<std::byte> scratch(plan_scratch_bytes());
  ByteWriter out(plan);
  ASSERT_TRUE(write_plan(stream, scratch, out));
  std::set<std::string_view> names;
  for (const PredictorKind& kind : predictor_kinds()) {
    SCOPED_TRACE(std::string(kind.name));
    EXPECT_TRUE(names.insert(kind.name).second);
    EXPECT_EQ(predictor_kind(kind.name), &kind);
    PredictorOptions options{.transitions = 1000};
    if (kind.name == "recorded") options.earlier = out.written();
    const std::size_t right = count_right(kind, options, stream);
    if (kind.name == "markov") {
      EXPECT_EQ(right, 0U);  // its first run
    } else {
      EXPECT_GE(right, stream.size() - 65);
    }
    if (kind.name == "recorded") {
      EXPECT_EQ(right, stream.size());
    }
    if (kind.name == "nest") {
      EXPECT_LE(kind.bytes(options), 1024U);
    }
  }
  EXPECT_EQ(names.size(), 8U);
  EXPECT_EQ(predictor_kind("none"), nullptr);
}

TEST(Predictors, MarkovGoesOnWithASavedModel) {
  const Accesses stream = nest({{30, 100000}}, {{0, 512}});
  std::vector<MarkovPredictor::Transition> slots(200);
  MarkovPredictor first(slots, 8192);
  for (const Extent& access : stream) first.observe(access);
  std::vector<std::byte> bytes(8192);
  ByteWriter model(bytes);
  ASSERT_TRUE(first.save(model));
  const PredictorKind& markov = *predictor_kind("markov");
  PredictorOptions options{.transitions = 100, .earlier = model.written()};
  EXPECT_EQ(count_right(markov, options, stream), stream.size() - 1);
  const auto memory = std::make_unique<Memory>();
  options.block_bytes = 0;
  EXPECT_FALSE(markov.start({memory->bytes, sizeof memory->bytes}, options));
  options.block_bytes = 4096;  // not the model's
  EXPECT_FALSE(markov.start({memory->bytes, sizeof memory->bytes}, options));
}

}  // namespace
}  // namespace iotune::patterns
