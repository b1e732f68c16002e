#include "patterndb/gains/gain_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "patterndb/gains/base64.h"
#include "patterndb/gains/stored_gains.h"
#include "tests/unit/patterndb/deciding/gain_model_bytes.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

Features features(const char* settings, const Pattern& pattern = vpic()) {
  Features found{};
  EXPECT_TRUE(features_of(pattern, {}, must(Settings::parse(settings)), found));
  return found;
}

std::string refusal(const std::string& bytes) {
  Result<GainModel> model = GainModel::parse(bytes);
  return model ? "" : model.error().text();
}

TEST(GainModel, ATreeAnswersByItsThreshold) {
  HandMade made;
  made.input = place_of("log2_alignment_bytes");
  made.threshold = 10;
  made.below = 0.25;
  made.above = 0.75;
  const GainModel model = must(GainModel::parse(bytes_of(made)));
  EXPECT_EQ(model.trees(), 1u);
  const PredictedGain plain = model.gain(features("meta_block_size=1048576"), features(""));
  EXPECT_DOUBLE_EQ(plain.log_gain, 0.25);
  EXPECT_DOUBLE_EQ(plain.spread, 0);
  EXPECT_DOUBLE_EQ(plain.low, 0.25 - 0.1);  // the floor of the spread
  EXPECT_DOUBLE_EQ(plain.high, 0.25 + 0.1);
  const PredictedGain aligned = model.gain(features("alignment=4194304,1048576"), features(""));
  EXPECT_DOUBLE_EQ(aligned.log_gain, 0.75);
}

TEST(GainModel, TheCostModelSaysWhatBytesCost) {
  HandMade made;
  made.price_of_moved_byte = 1e-9;
  const GainModel model = must(GainModel::parse(bytes_of(made)));
  Pattern columns = vpic();
  columns.descriptor = *parse_descriptor("<2D,(*,BLOCK),(16384,64)>");
  columns.dataset_dims = {16384, 256};
  columns.ranks = 4;
  columns.mode = "collective";
  // One aggregator moves all; without an exchange each rank moves its own through the sieve,
  // gaps included, and reads them before.
  const Features exchanged = features("", columns),
                 sieved = features("romio_cb_write=disable", columns);
  const double log_gain = model.gain(sieved, exchanged).log_gain;
  EXPECT_NEAR(log_gain, std::log(cost_terms(exchanged)[3] / cost_terms(sieved)[3]), 1e-12);
  EXPECT_LT(log_gain, 0);
  EXPECT_DOUBLE_EQ(model.gain(exchanged, exchanged).log_gain, 0);
}

TEST(GainModel, NamesWhatLiesOutsideOfWhatWasLearnt) {
  HandMade made;
  made.high = 20;
  const GainModel model = must(GainModel::parse(bytes_of(made)));
  EXPECT_STREQ(model.out_of_range(features("")), "log2_piece_bytes");
  made.high = 1e6;
  EXPECT_EQ(must(GainModel::parse(bytes_of(made))).out_of_range(features("")), nullptr);
}

Pattern columns() {
  Pattern found = vpic();
  found.descriptor = *parse_descriptor("<2D,(*,BLOCK),(16384,64)>");
  found.dataset_dims = {16384, 256};
  found.ranks = 4;
  found.mode = "collective";
  return found;
}

TEST(GainModel, AnIntervalIsAsWideAsItsWayIsUnsure) {
  HandMade made;
  made.sieved_low_scale = 3;
  const GainModel model = must(GainModel::parse(bytes_of(made)));
  const Features none = features("", columns());
  const Features sieved = features("romio_cb_write=disable", columns());
  const Features pieces = features("romio_cb_write=disable;romio_ds_write=disable", columns());
  EXPECT_EQ(way_of(none, none), Way::kExchanged);
  EXPECT_EQ(way_of(sieved, none), Way::kSieved);
  EXPECT_EQ(way_of(pieces, none), Way::kPieces);
  EXPECT_DOUBLE_EQ(model.gain(pieces, none).log_gain - model.gain(pieces, none).low, 0.1);
  EXPECT_NEAR(model.gain(sieved, none).log_gain - model.gain(sieved, none).low, 0.3, 1e-12);
}

TEST(GainModel, WhatIsChosenAmongManyIsLessSure) {
  HandMade made;
  made.above = 0.25;  // it is a write: 1, above the threshold
  for (const double scale : {0.0, 2.0}) {
    made.chosen_scale = scale;
    const PredictedGain found =
        must(GainModel::parse(bytes_of(made))).gain(features("cb_nodes=1"), features(""));
    EXPECT_DOUBLE_EQ(found.low, 0.15);
    EXPECT_NEAR(found.sure, scale == 0 ? 0.15 : 0.05, 1e-12);
  }
}

TEST(GainModel, OutsideOfWhatWasLearntTheCostsSpeakAlone) {
  HandMade made;
  made.price_of_moved_byte = 1e-9;
  made.below = made.above = 5;  // the trees are not asked
  made.high = 20;
  const GainModel model = must(GainModel::parse(bytes_of(made)));
  const Features none = features("", columns());
  const Features sieved = features("romio_cb_write=disable", columns());
  const PredictedGain found = model.gain(none, sieved);
  EXPECT_NEAR(found.log_gain, std::log(cost_terms(sieved)[3] / cost_terms(none)[3]), 1e-12);
  EXPECT_GT(found.log_gain, 0);
  EXPECT_GT(found.log_gain - found.low, 0.5) << "wider than where it was fitted";
  EXPECT_EQ(found.sure, found.low);
  // Farther outside it is wider still.
  made.high = 10;
  const PredictedGain farther = must(GainModel::parse(bytes_of(made))).gain(none, sieved);
  EXPECT_LT(farther.low, found.low);
  EXPECT_GT(farther.high, found.high);
  // The best of many is less sure than any of them.
  made.chosen_outside = 2;
  const PredictedGain chosen = must(GainModel::parse(bytes_of(made))).gain(none, sieved);
  EXPECT_EQ(chosen.low, farther.low);
  EXPECT_LT(chosen.sure, chosen.low);
  // What changes no count is expected to be worth nothing, and is no surer than the rest.
  EXPECT_EQ(model.gain(none, none).log_gain, 0);
  EXPECT_LT(model.gain(none, none).sure, 0);
}

TEST(GainModel, DamageIsRefused) {
  const std::string whole = bytes_of({});
  EXPECT_EQ(refusal(whole), "");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NE(refusal(whole.substr(0, i)), "") << i << " bytes";
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    EXPECT_NE(refusal(flipped), "") << "byte " << i;
  }
  EXPECT_NE(refusal(whole + "x"), "");
}

// With a right checksum, so that what is behind it is looked at.
TEST(GainModel, TreesThatWouldNotEndAreRefused) {
  const std::string whole = bytes_of({});
  const std::size_t rights = whole.size() - 8 - 3 * 2 - 3 * 4;
  for (const std::int32_t right : {0, 1, 3, -5, 1 << 30}) {
    std::string bytes = whole.substr(0, rights);
    append(bytes, right);
    bytes += whole.substr(rights + 4, whole.size() - 8 - rights - 4);
    append(bytes, checksum(bytes));
    EXPECT_EQ(refusal(bytes), "a gain model whose trees are damaged") << right;
  }
}

TEST(GainModel, Base64IsReadBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(base64(bytes)), bytes);
    bytes += static_cast<char>(i * 7);
  }
  EXPECT_EQ(base64("Man"), "TWFu");
  EXPECT_EQ(base64("Ma"), "TWE=");
  for (const char* wrong : {"TWE", "T===", "TW=u", "T\nFu", "TWFu=TWF"}) {
    EXPECT_THROW(from_base64(wrong), Fault) << wrong;
  }
}

class StoredGains : public Folder {};

Surface surface() {
  Surface found{vpic(), local_platform(), R"({"nodes":1,"datasets":8})", {}};
  found.trials = {{"", 1.5, {1.5, 1.6}, "applied", "survey", 0, 0, 100},
                  {"cb_nodes=2", std::nullopt, {1.5}, "failed: it hung", "survey", 0, 1, 100}};
  return found;
}

TEST_F(StoredGains, TrialsAreCountedOnce) {
  PatternDb db = create(at("patterns.db"));
  EXPECT_EQ(must(db.add_surface(surface())), 2u);
  EXPECT_EQ(must(db.add_surface(surface())), 0u);
  const std::vector<Surface> found = must(db.surfaces());
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].trials.size(), 2u);
  EXPECT_EQ(found[0].trials[0].seconds, 1.5);
  EXPECT_EQ(found[0].trials[0].default_seconds, (std::vector<double>{1.5, 1.6}));
  EXPECT_EQ(found[0].trials[1].seconds, std::nullopt);
  EXPECT_EQ(found[0].trials[1].effect, "failed: it hung");
  EXPECT_EQ(to_json(found[0]), to_json(surface()));
}

TEST_F(StoredGains, ModelsTravelWithAnExport) {
  PatternDb db = create(at("patterns.db"));
  StoredGainModel model{
      local_platform(), bytes_of({}), "cb_nodes=2", "", R"({"error":0.1})", 9, 90, 100};
  EXPECT_TRUE(must(db.add_gain_model(model)));
  EXPECT_FALSE(must(db.add_gain_model(model)));
  must(db.add_surface(surface()));
  PatternDb other = create(at("other.db"));
  must(other.import_json(must(db.export_json()), "test"));
  const auto newest = must(other.newest_gain_model(local_platform()));
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->payload, model.payload);
  EXPECT_EQ(newest->candidates, "cb_nodes=2");
  EXPECT_EQ(must(other.surfaces()).size(), 1u);
  EXPECT_FALSE(must(other.newest_gain_model(local_platform("cephfs"))));
  model.payload[20] = '\x7f';
  model.made_at = 101;
  EXPECT_FALSE(bool(db.add_gain_model(model))) << "a damaged one is not stored";
}

}  // namespace
}  // namespace iotune::patterndb::testing
