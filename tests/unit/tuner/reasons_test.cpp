#include "tuner/decision/reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace iotune::tuner {
namespace {

std::string text(const Why& why) {
  ReasonText to;
  write_reason(why, to);
  return to.c_str();
}

struct Row {
  Reason reason;
  std::string text;
};
const Row kRows[] = {
#define IOTUNE_REASON(name, text) {Reason::name, text},
#include "tuner/decision/reasons.inc"
#undef IOTUNE_REASON
};

TEST(Reasons, EachHasItsOwnText) {
  std::set<std::string> texts;
  for (const Row& row : kRows) {
    Why why{row.reason, "", nullptr, {1, 2, 3, 4}};
    std::string wanted = row.text;
    for (int i = 0; wanted.find('%') != std::string::npos; ++i) {
      ASSERT_LT(i, 4) << row.text;
      wanted.replace(wanted.find('%'), 1, std::to_string(why.numbers[i]));
    }
    EXPECT_EQ(text(why), wanted);
    const bool may_be_empty = row.reason == Reason::kNone || row.reason == Reason::kInWords;
    EXPECT_TRUE(may_be_empty ? row.text.empty() : texts.insert(row.text).second) << row.text;
  }
}

TEST(Reasons, WordsFollowAndADatasetGoesBefore) {
  EXPECT_EQ(text({Reason::kCallFailed}), "the call failed with it");
  EXPECT_EQ(text({Reason::kCallFailed, "no space"}), "the call failed with it: no space");
  EXPECT_EQ(text({Reason::kInWords, "known bad: 2 of 3"}), "known bad: 2 of 3");
  EXPECT_EQ(text({Reason::kNone, "", "/a/x"}), "/a/x");
  EXPECT_EQ(text({Reason::kHdf5RefusesIt, "100% full", "/a/x"}),
            "/a/x: HDF5 refuses it: 100% full");
  EXPECT_EQ(text({Reason::kNotChunked, "", ""}), ": the dataset is not chunked");
}

TEST(Reasons, NumbersStandInTheText) {
  EXPECT_EQ(text({Reason::kFurtherDatasets, "", nullptr, {12}}), "and 12 further datasets");
  EXPECT_EQ(text({Reason::kCollectiveAndKeptInPart, "", nullptr, {9, 4, 3, 2}}),
            "of 9 transfers 4 stayed collective by HDF5's actual I/O mode, 3 HDF5 made independent "
            "by itself; in 2 it kept another value");
}

TEST(Reasons, WhatIsTooLongIsCut) {
  const std::string words(1000, 'x');
  const std::string said = text({Reason::kCallFailed, words.c_str()});
  EXPECT_EQ(said.size(), 639u);
  EXPECT_EQ(said.substr(0, 26), "the call failed with it: x");
}

}  // namespace
}  // namespace iotune::tuner
