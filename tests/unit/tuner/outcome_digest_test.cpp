// What became of settings, counted by kind of file, and as the line of the site's log.
#include "tuner/decision/outcome_digest.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "packed_decision.h"

namespace iotune::tuner {
namespace {

class OutcomeDigestTest : public testing::Test {
 protected:
  void decide(const std::string& file, std::int64_t row = 7, bool has_settings = true) {
    patterndb::Decision parts = decision_with({});
    if (has_settings) parts.of_variables.push_back({"", "cb_nodes", "4"});
    parts.source = IOTUNE_SOURCE_EXACT;
    parts.row = row;
    digest_->add_decision(file.c_str(), PackedDecision(parts).decision());
  }
  void set(const std::string& file, const std::string& name, const std::string& value,
           Verdict verdict = Verdict::kApplied, const Why& why = {}) {
    digest_->add_outcome(file.c_str(), name.c_str(), value.c_str(), verdict, why);
  }
  std::string line() const {
    AppliedLine to;
    write_applied_line(*digest_, {"1.2", "run-1", "app", "", "n1", 1000, 4, 1700000000}, to);
    return {to.c_str(), to.size()};
  }
  std::unique_ptr<OutcomeDigest> digest_ = std::make_unique<OutcomeDigest>();
};

constexpr char kHead[] =
    R"({"iotune":"1.2","at":1700000000,"user":1000,"ranks":4,"run":"run-1","node":"n1",)"
    R"("program":"app","script":"","kinds":[)";

TEST_F(OutcomeDigestTest, CountsFilesThatAreAlikeOnce) {
  for (int i = 0; i < 120; ++i) {
    const std::string file = "/secret/step" + std::to_string(i) + ".h5";
    decide(file);
    set(file, "cb_nodes", "4");
    set(file, "alignment", "1,4096", Verdict::kRefused, {Reason::kProgramSetIt});
  }
  EXPECT_EQ(line(), std::string(kHead) +
                        R"({"name":"step#.h5","files":120,"source":"exact","row":7,"settings":[)"
                        R"({"name":"cb_nodes","value":"4","outcome":"applied","count":120},)"
                        R"({"name":"alignment","value":"1,4096","outcome":"refused","count":120,)"
                        R"("why":"the program set it itself"}]}],"left_out":0})"
                        "\n");
}

TEST_F(OutcomeDigestTest, IsEmptyWhereNothingWasDecided) {
  EXPECT_TRUE(digest_->is_empty());
  decide("/a.h5", -1, false);
  EXPECT_TRUE(digest_->is_empty()) << "neither set nor refused";
  decide("/a.h5");
  EXPECT_FALSE(digest_->is_empty());
  digest_->clear();
  EXPECT_TRUE(digest_->is_empty());
}

TEST_F(OutcomeDigestTest, GivesOutcomesToTheLatestAnswerOfTheName) {
  decide("/a1.h5", 1);
  set("/a1.h5", "cb_nodes", "4");
  decide("/a2.h5", 2);
  set("/a2.h5", "cb_nodes", "8");
  decide("/a3.h5", 1);
  set("/a3.h5", "cb_nodes", "4");
  ASSERT_EQ(digest_->kind_count(), 2u);
  ASSERT_EQ(digest_->outcome_count(), 2u);
  EXPECT_EQ(digest_->kind(0).files, 2u);
  EXPECT_EQ(digest_->outcome(0).count, 2u);
  EXPECT_EQ(digest_->outcome(1).kind, 1u);
}

TEST_F(OutcomeDigestTest, NamesNoDataset) {
  decide("/a.h5");
  set("/a.h5", "chunk", "4x4", Verdict::kRefused, {Reason::kNotChunked, "", "/secret/data"});
  EXPECT_EQ(line().find("secret"), std::string::npos) << line();
  EXPECT_NE(line().find("the dataset is not chunked"), std::string::npos) << line();
  set("/a.h5", "chunk", "", Verdict::kNotListed, {Reason::kFurtherDatasets, "", nullptr, {31}});
  EXPECT_EQ(digest_->left_out(), 31u);
}

TEST_F(OutcomeDigestTest, AddsAnotherRanks) {
  decide("/x/out0.h5");
  set("/x/out0.h5", "cb_nodes", "4");
  const auto other = std::make_unique<OutcomeDigest>(*digest_);
  digest_->clear();
  decide("/x/log.h5", 3);
  set("/x/log.h5", "alignment", "1,1");
  digest_->add(*other);
  digest_->add(*other);
  ASSERT_EQ(digest_->kind_count(), 2u);
  EXPECT_STREQ(digest_->kind(1).name, "out#.h5");
  EXPECT_EQ(digest_->kind(1).files, 2u);
  ASSERT_EQ(digest_->outcome_count(), 2u);
  EXPECT_EQ(digest_->outcome(1).kind, 1u);
  EXPECT_EQ(digest_->outcome(1).count, 2u);
}

// A rank of another build, or a broken network: whatever the bytes, nothing is read beyond them.
TEST_F(OutcomeDigestTest, TrustsNoBytesOfAnotherRank) {
  decide("/x/out0.h5");
  set("/x/out0.h5", "cb_nodes", "4");
  const auto other = std::make_unique<OutcomeDigest>(*digest_);
  for (std::size_t i = 0; i < sizeof(OutcomeDigest); i += 3) {
    auto damaged = std::make_unique<OutcomeDigest>(*other);
    std::memset(reinterpret_cast<char*>(damaged.get()) + i, 0xff, sizeof(OutcomeDigest) - i);
    digest_->clear();
    digest_->add(*damaged);
    const std::string text = line();
    ASSERT_EQ(text.back(), '\n');
    ASSERT_LT(text.size(), 4000u);
  }
}

TEST_F(OutcomeDigestTest, CountsWhatHasNoPlace) {
  std::uint64_t files = 0, outcomes = 0;
  for (char kind = 'a'; kind < 'a' + 20; ++kind) {
    const std::string file(60, kind);
    decide(file);
    ++files;
    for (int i = 0; i < 5; ++i) {
      set(file, "parameter" + std::string(20, static_cast<char>('a' + i)), std::string(90, '\x01'),
          Verdict::kRefused, {Reason::kInWords, "\"quoted\" \\ and long, long, long enough words"});
      ++outcomes;
    }
  }
  EXPECT_EQ(digest_->kind_count(), OutcomeDigest::kMostKinds);
  EXPECT_EQ(digest_->outcome_count(), OutcomeDigest::kMostOutcomes);
  const std::string text = line();
  EXPECT_LT(text.size(), 4000u);
  // Whatever stands in it, and what is said to be left out, is all that there was.
  std::uint64_t reported = 0;
  for (const char* what : {R"("files":)", R"("count":)", R"("left_out":)"}) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      reported += std::stoull(text.substr(at + std::strlen(what)));
    }
  }
  EXPECT_EQ(reported, files + outcomes);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
  EXPECT_NE(text.find(R"(\u0001)"), std::string::npos);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

}  // namespace
}  // namespace iotune::tuner
