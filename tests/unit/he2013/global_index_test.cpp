// Local and global entries on every generator: nothing is lost, and the papers' rates come out.
#include "analyzer/baselines/he2013/global_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "tests/generators/applications.h"
#include "tests/generators/catalogue.h"
#include "tests/generators/drawn_nest.h"

namespace iotune::he2013 {
namespace {

std::vector<LocalIndex> local_indices(const generators::Workload& of,
                                      const LocalOptions& how = {}) {
  std::vector<LocalIndex> locals;
  for (const generators::Stream& stream : of.streams) {
    locals.emplace_back(stream.rank, how);
    for (const patterns::Extent& access : stream.accesses) locals.back().add(access);
    locals.back().close();
  }
  return locals;
}

std::vector<RawEntry> plain(const generators::Stream& stream) {
  std::vector<RawEntry> pieces;
  std::int64_t physical = 0;
  for (const patterns::Extent& access : stream.accesses) {
    pieces.push_back({stream.rank, access.offset, access.length, physical});
    physical += access.length;
  }
  return pieces;
}

void expect_nothing_lost(const generators::Workload& of, const LocalOptions& how = {}) {
  const std::vector<LocalIndex> locals = local_indices(of, how);
  std::vector<RawEntry> all;
  for (std::size_t k = 0; k < locals.size(); ++k) {
    const std::vector<RawEntry> pieces = plain(of.streams[k]);
    ASSERT_EQ(locals[k].expand(), pieces) << of.name;
    all.insert(all.end(), pieces.begin(), pieces.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const RawEntry& a, const RawEntry& b) {
    return std::tie(a.chunk_id, a.physical) < std::tie(b.chunk_id, b.physical);
  });
  ASSERT_EQ(GlobalIndex(locals).expand(), all) << of.name;
}

double global_rate(const generators::Workload& of) {
  return static_cast<double>(kRawEntryBytes * of.accesses()) /
         static_cast<double>(GlobalIndex(local_indices(of)).memory_bytes());
}

TEST(He2013Index, loses_nothing_on_any_generator) {
  for (const generators::Row& row : generators::catalogue(generators::Size::small)) {
    expect_nothing_lost(row.make());
    expect_nothing_lost(row.make(), {.window = 16, .buffer_entries = 37});
  }
}

TEST(He2013Index, loses_nothing_on_drawn_nests) {
#ifdef __SANITIZE_ADDRESS__
  constexpr std::uint64_t kSeeds = 1;  // it takes ten times as long
#else
  constexpr std::uint64_t kSeeds = 4;
#endif
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    generators::Workload drawn = generators::drawn_nest(seed);
    drawn.streams.resize(std::min<std::size_t>(drawn.streams.size(), 3));
    expect_nothing_lost(drawn, {.window = 6, .buffer_entries = 1000});
  }
}

TEST(He2013Index, looks_up_the_pieces_of_every_generator) {
  for (const generators::Row& row : generators::catalogue(generators::Size::small)) {
    const std::vector<LocalIndex> locals = local_indices(row.make());
    const GlobalIndex global(locals);
    std::size_t tried = 0;
    for (const LocalIndex& local : locals) {
      for (const RawEntry& piece : local.expand()) {
        if (++tried % 17 != 0) continue;
        const std::optional<Piece> found = global.find(piece.logical + piece.length - 1);
        ASSERT_TRUE(found) << row.name;
        // Another piece may lie over it; what is found has at least the rank of a later one.
        const bool same = found->chunk_id == piece.chunk_id &&
                          found->physical == piece.physical + piece.length - 1;
        ASSERT_TRUE(same || found->chunk_id > piece.chunk_id || found->physical > piece.physical)
            << row.name;
      }
    }
  }
}

TEST(He2013Index, milc_a_has_the_papers_rate) {
  EXPECT_NEAR(global_rate(generators::milc_a()), 37.0, 1.0);
}

TEST(He2013Index, milc_b_has_the_papers_rate) {
  EXPECT_NEAR(global_rate(generators::milc_b()), 3.0, 0.1);
}

TEST(He2013Index, fs_test_is_six_kilobytes) {
  const auto of = generators::fs_test({.ranks = 512, .writes = 100});
  const GlobalIndex global(local_indices(of));
  EXPECT_EQ(global.patterns().size(), 1U);
  EXPECT_EQ(global.memory_bytes(), 128U + 12 * 512);
  // Ids 0, 1, 2, … are one unit: an entry of four.
  EXPECT_EQ(global.memory_bytes_ids_compressed(), 44U + 4 * 28);
}

TEST(He2013Index, app3_is_one_entry) {
  const GlobalIndex global(local_indices(generators::lanl_app3({.writes = 1000})));
  EXPECT_EQ(global.patterns().size(), 1U);
  EXPECT_TRUE(global.raw().empty());
}

TEST(He2013Index, a_full_buffer_is_searched_at_once) {
  LocalIndex local(0, {.window = 6, .buffer_entries = 10});
  for (std::int64_t k = 0; k < 25; ++k) local.add({8 * k, 8});
  EXPECT_EQ(local.patterns().size(), 2U);
  EXPECT_EQ(local.memory_bytes(), 2 * (48 + 3 * 28) + 5 * kRawEntryBytes);
  local.close();
  EXPECT_EQ(local.patterns().size(), 3U);
}

TEST(He2013Index, entries_of_other_lengths_or_places_in_the_log_are_not_joined) {
  // Rank 1 has written something else before: what the authors' code would join names wrong bytes.
  std::vector<LocalIndex> locals;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    locals.emplace_back(rank);
    if (rank == 1) locals.back().add({5000, 3});
    for (std::int64_t k = 0; k < 10; ++k) locals.back().add({(2 * k + rank) * 8, 8});
    locals.back().close();
  }
  const GlobalIndex global(locals);
  EXPECT_EQ(global.patterns().size(), 2U);
  EXPECT_EQ(global.find(8), (Piece{1, 3, 8}));
}

TEST(He2013Index, accesses_without_a_byte_and_empty_processes) {
  std::vector<LocalIndex> locals(2, LocalIndex(0));
  for (int k = 0; k < 4; ++k) locals[1].add({100, 0});
  for (LocalIndex& local : locals) local.close();
  const GlobalIndex global(locals);
  EXPECT_EQ(global.expand().size(), 4U);
  EXPECT_EQ(global.find(100), std::nullopt);
  EXPECT_EQ(GlobalIndex({}).find(0), std::nullopt);
}

}  // namespace
}  // namespace iotune::he2013
