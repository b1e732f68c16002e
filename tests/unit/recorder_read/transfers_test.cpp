#include <gtest/gtest.h>

#include <random>

#include "recorder/read/call_arguments.h"

namespace iotune::recorder {
namespace {

using Kind = Selection::Kind;

// The extras of a call on these datasets.
std::vector<TransferExtras> extras_of(const std::vector<std::int64_t>& datasets,
                                      const std::vector<std::int64_t>& words) {
  static constexpr ArgumentSignature kDataset{"dataset", ArgumentForm::kArray,
                                              NumberStyle::kSigned};
  // What is found points into the words.
  static std::vector<std::int64_t> kept;
  kept = words;
  CallArguments arguments;
  arguments.values.push_back({&kDataset, datasets, {}, false});
  arguments.extras = kept;
  return transfer_extras(arguments);
}

TEST(TransferExtras, AnEarlierVersionsEndAtTheFileSelection) {
  const auto found = extras_of({1}, {7, 0, 8, 6, 1, 2, 2, 3});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].object, 7);
  EXPECT_EQ(found[0].file.kind, Kind::kAll);
  EXPECT_EQ(found[0].file.row(0)[1], 3);
  EXPECT_EQ(found[0].memory.kind, Kind::kUnknown);
  EXPECT_FALSE(found[0].actual);
}

TEST(TransferExtras, MemoryAndWhatHdf5DidFollowTheFileSelection) {
  const auto found = extras_of({1}, {7, 1, 8, 2,        //
                                     4, 1, 2, 5, 9,     // two points of one dimension
                                     2, 1, 0, 3, 2, 1,  // regular
                                     4, 0, 2});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].file.kind, Kind::kPoints);
  EXPECT_EQ(found[0].file.entries, 2U);
  EXPECT_EQ(found[0].memory.kind, Kind::kRegular);
  EXPECT_EQ(found[0].memory.row(1)[0], 3);
  ASSERT_TRUE(found[0].actual);
  EXPECT_EQ(found[0].actual->io_mode, 4);
  EXPECT_EQ(found[0].actual->global_cause, 2);
}

TEST(TransferExtras, DatasetsOfOneCallFollowEachOther) {
  const auto found = extras_of({1, 2}, {7, 0, 8, 3, 1, 1, 3, 6, 0,  //
                                        9, 0, 4, 0, 0, 2, 7, 0});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].memory.kind, Kind::kAsInFile);
  EXPECT_EQ(found[1].object, 9);
  EXPECT_EQ(found[1].file.kind, Kind::kNone);
  EXPECT_EQ(found[1].memory.kind, Kind::kOneBlock);
  // As many as the call has datasets, or none.
  EXPECT_TRUE(extras_of({1, 2, 3}, {7, 0, 8, 3, 1, 1, 3, 6, 0}).empty());
  EXPECT_TRUE(extras_of({1, 2}, {}).empty());
}

TEST(TransferExtras, DamagedWordsAreNothingAndNeverACrash) {
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::int64_t> words(random() % 24);
    for (std::int64_t& word : words) {
      word = random() % 8 == 0 ? static_cast<std::int64_t>(random()) << 31
                               : static_cast<std::int64_t>(random() % 10) - 2;
    }
    for (const TransferExtras& one : extras_of({1, 2}, words)) {
      std::int64_t sum = 0;
      for (const Selection* selection : {&one.file, &one.memory}) {
        for (const std::int64_t value : selection->values) sum ^= value;
      }
      EXPECT_LE(one.file.values.size() + one.memory.values.size(), words.size()) << sum;
    }
  }
}

}  // namespace
}  // namespace iotune::recorder
