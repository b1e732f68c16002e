#include "patterndb/matching/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

namespace {

using namespace iotune::patterndb;

Pattern pattern_of(const char* descriptor, std::uint64_t element_bytes,
                   std::vector<std::uint64_t> dims, std::uint64_t ranks, const char* mode) {
  Pattern pattern;
  auto parsed = parse_descriptor(descriptor);
  EXPECT_TRUE(bool(parsed)) << descriptor;
  pattern.descriptor = *parsed;
  pattern.element_bytes = element_bytes;
  pattern.dataset_dims = std::move(dims);
  pattern.ranks = ranks;
  pattern.mode = mode;
  return pattern;
}

double value(const Features& features, const char* name) {
  for (std::size_t i = 0; i < kFeatureCount; ++i) {
    if (std::strcmp(kFeatureNames[i], name) == 0) return features[i];
  }
  ADD_FAILURE() << "no feature is called " << name;
  return NAN;
}

Features features(const Pattern& pattern, const char* settings = "",
                  const FeatureQuestion& question = {}) {
  Features found{};
  auto parsed = Settings::parse(settings);
  EXPECT_TRUE(bool(parsed)) << settings;
  EXPECT_TRUE(features_of(pattern, question, *parsed, found));
  for (const double one : found) EXPECT_TRUE(std::isfinite(one));
  return found;
}

// 16,384 rows of 256 doubles; each of four ranks has 64 of every row.
Pattern columns(const char* mode) {
  return pattern_of("<2D,(*,BLOCK),(16384,64)>", 8, {16384, 256}, 4, mode);
}

TEST(Features, NamesAreDifferent) {
  EXPECT_EQ(std::set<std::string>(std::begin(kFeatureNames), std::end(kFeatureNames)).size(),
            kFeatureCount);
}

TEST(Features, SayWhatTheFileSystemSees) {
  const Features found = features(columns("independent"));
  EXPECT_EQ(value(found, "log2_piece_bytes"), 9);  // 512 bytes
  EXPECT_EQ(value(found, "log2_pieces"), 14);      // 16,384
  EXPECT_DOUBLE_EQ(value(found, "log2_gap_bytes"), std::log2(3 * 512));
  EXPECT_EQ(value(found, "log2_rank_bytes"), 23);  // 8 MiB
  EXPECT_EQ(value(found, "log2_file_bytes"), 25);
  EXPECT_EQ(value(found, "is_interleaved"), 1);
  // Independent writes go piece by piece.
  EXPECT_EQ(value(found, "is_sieved"), 0);
  EXPECT_EQ(value(found, "log2_system_calls"), 14);
  EXPECT_EQ(value(found, "log2_call_bytes"), 9);
}

TEST(Features, ACollectiveCallIsMovedByAggregators) {
  const Features one = features(columns("collective"));
  EXPECT_EQ(value(one, "is_two_phase"), 1);
  EXPECT_EQ(value(one, "log2_aggregators"), 0);  // one a node
  EXPECT_EQ(value(one, "log2_exchanges"), 1);    // 32 MiB by 16
  const Features four = features(columns("collective"), "cb_nodes=4;cb_config_list=*:4");
  EXPECT_EQ(value(four, "log2_aggregators"), 2);
  EXPECT_EQ(value(four, "log2_aggregator_bytes"), 23);
  EXPECT_EQ(value(four, "log2_exchanges"), 0);
  // Without the list ROMIO allows one a node, whatever cb_nodes says.
  EXPECT_EQ(value(features(columns("collective"), "cb_nodes=4"), "log2_aggregators"), 0);
  FeatureQuestion question;
  question.nodes = 4;
  EXPECT_EQ(value(features(columns("collective"), "", question), "log2_aggregators"), 2);
  EXPECT_EQ(value(features(columns("collective"), "", question), "log2_ranks_per_node"), 0);
}

TEST(Features, WithoutExchangeGapsAreSievedUnlessThatIsOff) {
  const Features sieved = features(columns("collective"), "romio_cb_write=disable");
  EXPECT_EQ(value(sieved, "is_two_phase"), 0);
  EXPECT_EQ(value(sieved, "is_sieved"), 1);
  // Some 32 MiB by 512 KiB, each read and written.
  EXPECT_EQ(value(sieved, "log2_system_calls"), 7);
  EXPECT_NEAR(value(sieved, "log2_moved_ratio"), 3, 0.01);
  const Features plain =
      features(columns("collective"), "romio_cb_write=disable;romio_ds_write=disable");
  EXPECT_EQ(value(plain, "is_sieved"), 0);
  EXPECT_EQ(value(plain, "log2_system_calls"), 14);
  EXPECT_EQ(value(plain, "log2_moved_ratio"), 0);
}

TEST(Features, WhatIsIndependentForHdf5IsNeverSieved) {
  // It calls MPI-IO for each piece: 8,202 system calls of four ranks, whatever is set.
  for (const char* settings : {"", "romio_ds_write=enable", "ind_wr_buffer_size=16777216"}) {
    EXPECT_EQ(value(features(columns("independent"), settings), "is_sieved"), 0) << settings;
    EXPECT_EQ(value(features(columns("independent"), settings), "log2_system_calls"), 14);
  }
  Pattern reads = columns("independent");
  reads.write = false;
  EXPECT_EQ(value(features(reads, "romio_ds_read=enable"), "is_sieved"), 0);
}

TEST(Features, PiecesFarApartAreSievedOneByOne) {
  // Four rows of 256 KiB pieces, and 768 KiB of others' between two: none shares a window.
  const Pattern far = pattern_of("<2D,(*,BLOCK),(4,65536)>", 4, {4, 262144}, 4, "collective");
  const Features found = features(far, "romio_cb_write=disable");
  EXPECT_EQ(value(found, "is_sieved"), 1);
  EXPECT_EQ(value(found, "log2_system_calls"), 3);                    // four reads, four writes
  EXPECT_NEAR(value(found, "log2_moved_ratio"), std::log2(3), 0.01);  // reads twice, writes once
}

TEST(Features, ContiguousBlocksAreNotExchangedUnlessAskedFor) {
  const Pattern block = pattern_of("<1D,(BLOCK),(1048576)>", 4, {4194304}, 4, "collective");
  EXPECT_EQ(value(features(block), "is_two_phase"), 0);
  EXPECT_EQ(value(features(block), "log2_system_calls"), 0);
  EXPECT_EQ(value(features(block, "romio_cb_write=enable"), "is_two_phase"), 1);
}

TEST(Features, StripesCountWhereTheFileSystemHasThem) {
  const Pattern block = pattern_of("<1D,(BLOCK),(4194304)>", 4, {16777216}, 4, "independent");
  const char* const settings = "striping_factor=8;striping_unit=1048576";
  EXPECT_EQ(value(features(block, settings), "log2_stripe_count"), 0);
  FeatureQuestion question;
  question.striped = true;
  const Features striped = features(block, settings, question);
  EXPECT_EQ(value(striped, "log2_stripe_count"), 3);
  EXPECT_EQ(value(striped, "log2_stripes_of_a_rank"), 3);  // 16 MiB touch all eight
  EXPECT_EQ(value(striped, "log2_ranks_of_a_stripe"), 2);
  question.stripe_count = 4;
  question.stripe_bytes = 64 << 20;
  EXPECT_EQ(value(features(block, "", question), "log2_stripe_count"), 2);
  EXPECT_EQ(value(features(block, "", question), "log2_ranks_of_a_stripe"), 0);
}

TEST(Features, AChunkCacheIsCountedInChunks) {
  Pattern rows = pattern_of("<2D,(*,*),(1,1024)>", 8, {1024, 1024}, 1, "independent");
  rows.write = false;
  rows.chunk = {128, 1024};
  EXPECT_EQ(value(features(rows), "log2_chunk_bytes"), 20);
  EXPECT_EQ(value(features(rows), "log2_cached_chunks"), 0);
  EXPECT_EQ(value(features(rows, "chunk_cache=33554432"), "log2_cached_chunks"), 5);
}

TEST(Features, AnIrregularPatternHasNone) {
  Pattern irregular = pattern_of("<1D,(IRREGULAR),(100)>", 8, {4000}, 4, "independent");
  Features found{};
  EXPECT_FALSE(features_of(irregular, {}, Settings(), found));
}

TEST(Features, HintsThatSayTheSameMoveBytesTheSame) {
  const Pattern block = pattern_of("<1D,(BLOCK),(1048576)>", 4, {4194304}, 4, "collective");
  EXPECT_EQ(features(block, "romio_no_indep_rw=true"), features(block, "romio_cb_write=enable"));
  EXPECT_NE(features(block, "romio_no_indep_rw=true"), features(block));
  const Pattern pieces = pattern_of("<2D,(*,BLOCK),(16384,64)>", 8, {16384, 256}, 4, "collective");
  EXPECT_EQ(value(features(pieces), "is_two_phase"), 1);
  EXPECT_EQ(value(features(pieces, "collective_buffering=false"), "is_two_phase"), 0);
}

}  // namespace
