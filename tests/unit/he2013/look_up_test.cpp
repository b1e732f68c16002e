// Algorithms 2 and 3 on the papers' examples and against a brute-force model.
#include <gtest/gtest.h>

#include "analyzer/baselines/he2013/global_index.h"
#include "tests/generators/drawing.h"

namespace iotune::he2013 {
namespace {

// Sanitizers slow these down some 15-fold.
#ifdef __SANITIZE_ADDRESS__
constexpr int kSlower = 10;
#else
constexpr int kSlower = 1;
#endif

// The rule of GlobalIndex::find, byte by byte.
std::optional<Piece> by_force(const std::vector<RawEntry>& pieces, std::int64_t offset) {
  std::optional<Piece> best;
  for (const RawEntry& piece : pieces) {
    if (offset < piece.logical || offset >= piece.logical + piece.length) continue;
    const std::int64_t shift = offset - piece.logical;
    const Piece found{piece.chunk_id, piece.physical + shift, piece.length - shift};
    if (!best || found.chunk_id > best->chunk_id ||
        (found.chunk_id == best->chunk_id && found.physical > best->physical)) {
      best = found;
    }
  }
  return best;
}

// (4,7,6), (2,8,9) and both again, a global stride of four rows each.
std::vector<LocalIndex> figure_10() {
  const std::uint32_t order[] = {4, 7, 6, 2, 8, 9};
  std::vector<LocalIndex> locals;
  for (std::uint32_t place = 0; place < 6; ++place) {
    LocalIndex local(order[place]);
    for (std::int64_t again = 0; again < 2; ++again) {
      const std::int64_t start = 1000 + 120 * (2 * again + place / 3) + 10 * (place % 3);
      for (std::int64_t row = 0; row < 4; ++row) local.add({start + 30 * row, 10});
    }
    local.close();
    locals.push_back(std::move(local));
  }
  return locals;
}

TEST(He2013LookUp, figure_10_is_one_entry) {
  const std::vector<LocalIndex> locals = figure_10();
  const GlobalIndex global(locals);
  ASSERT_EQ(global.patterns().size(), 1U);
  EXPECT_TRUE(global.raw().empty());
  const GlobalEntry& entry = global.patterns().front();
  EXPECT_EQ(expand(entry.ids), (std::vector<std::int64_t>{4, 7, 6, 2, 8, 9, 4, 7, 6, 2, 8, 9}));
  EXPECT_EQ(entry.logical.start, 1000);
  EXPECT_EQ(entry.logical.deltas, std::vector<std::int64_t>{30});
  EXPECT_EQ(entry.logical.count, 4U);
}

TEST(He2013LookUp, figure_10_the_papers_example) {
  const std::vector<LocalIndex> locals = figure_10();
  // Global stride 2, row 0, column 1, the 7th id from 0: process 7, which wrote 40 bytes before.
  EXPECT_EQ(GlobalIndex(locals).find(1250), (Piece{7, 40, 10}));
}

TEST(He2013LookUp, figure_10_all_48_pieces) {
  const std::vector<LocalIndex> locals = figure_10();
  const GlobalIndex global(locals);
  std::vector<RawEntry> pieces;
  for (const LocalIndex& local : locals) {
    for (const RawEntry& piece : local.expand()) pieces.push_back(piece);
  }
  ASSERT_EQ(pieces.size(), 48U);
  for (const RawEntry& piece : pieces) {
    EXPECT_EQ(global.find(piece.logical), (Piece{piece.chunk_id, piece.physical, 10}));
    EXPECT_EQ(global.find(piece.logical + 7), (Piece{piece.chunk_id, piece.physical + 7, 3}));
  }
  EXPECT_EQ(global.find(999), std::nullopt);
  EXPECT_EQ(global.find(1480), std::nullopt);
}

TEST(He2013LookUp, a_global_stride_that_is_not_full_ends_at_its_last_id) {
  std::vector<LocalIndex> locals = figure_10();
  locals.pop_back();  // process 9, the last column
  const GlobalIndex global(locals);
  ASSERT_EQ(global.patterns().size(), 2U);  // broken where 9 is missing
  EXPECT_EQ(global.find(1000 + 3 * 120 + 10), (Piece{8, 40, 10}));
  EXPECT_EQ(global.find(1000 + 3 * 120 + 20), std::nullopt);
  EXPECT_EQ(global.find(1000 + 1 * 120 + 20), std::nullopt);
}

LocalEntry three_deltas(std::int64_t length) {
  return {3, {0, {3, 4, 7}, 3, 9}, {{length, {0}, 8, 9}}, {{0, {length}, 8, 9}}};
}

TEST(He2013LookUp, offset_29_is_in_the_element_at_28) {
  EXPECT_EQ(find(three_deltas(2), 29), (Piece{3, 6 * 2 + 1, 1}));
  EXPECT_EQ(find(three_deltas(1), 29), std::nullopt);
}

TEST(He2013LookUp, the_last_elements_length_counts) {
  EXPECT_EQ(find(three_deltas(2), 35), (Piece{3, 16, 2}));
  EXPECT_EQ(find(three_deltas(2), 36), (Piece{3, 17, 1}));
  EXPECT_EQ(find(three_deltas(2), 37), std::nullopt);
  EXPECT_EQ(find(three_deltas(2), -1), std::nullopt);
}

TEST(He2013LookUp, a_file_rewritten_in_place_answers_with_the_last) {
  LocalIndex local(1);
  for (int k = 0; k < 5; ++k) local.add({100, 8});
  local.close();
  ASSERT_EQ(local.patterns().size(), 1U);
  EXPECT_EQ(find(local.patterns()[0], 103), (Piece{1, 4 * 8 + 3, 5}));
}

// Strides of any sign, zero among them, lengths that reach over the next piece, holes.
TEST(He2013LookUp, local_entries_agree_with_brute_force) {
  generators::Drawing draw(2013);
  for (int round = 0; round < 120 / kSlower; ++round) {
    LocalIndex local(5);
    std::int64_t at = draw.between(200, 400);
    std::vector<std::int64_t> deltas;
    for (std::int64_t k = draw.between(1, 4); k > 0; --k) deltas.push_back(draw.between(-12, 20));
    const std::int64_t length_step = draw.percent(50) ? 0 : draw.between(0, 3);
    const std::int64_t count = draw.between(1, 30);
    for (std::int64_t k = 0; k < count; ++k) {
      local.add({at, draw.percent(2) ? 0 : 9 + length_step * (k % 3)});
      at += draw.percent(4) ? draw.between(-40, 40)
                            : deltas[static_cast<std::size_t>(k) % deltas.size()];
    }
    local.close();
    for (const LocalEntry& entry : local.patterns()) {
      std::vector<RawEntry> pieces;
      append_pieces(entry, pieces);
      for (std::int64_t offset = -300; offset < 1200; ++offset) {
        ASSERT_EQ(find(entry, offset), by_force(pieces, offset))
            << "round " << round << ", offset " << offset << ", " << entry.logical.text();
      }
    }
    const GlobalIndex global(std::span(&local, 1));
    const std::vector<RawEntry> all = local.expand();
    for (std::int64_t offset = -300; offset < 1200; ++offset) {
      ASSERT_EQ(global.find(offset), by_force(all, offset)) << round << ' ' << offset;
    }
  }
}

TEST(He2013LookUp, global_entries_agree_with_brute_force) {
  generators::Drawing draw(77);
  std::size_t grids = 0;
  for (int round = 0; round < 150 / kSlower; ++round) {
    const std::int64_t ranks = draw.between(1, 6);
    const std::int64_t length = draw.between(1, 9);
    const std::int64_t rows = draw.between(1, 6);
    const std::int64_t groups = draw.between(1, 4);
    std::vector<LocalIndex> locals;
    std::vector<RawEntry> all;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      locals.emplace_back(static_cast<std::uint32_t>((rank * 5 + 3) % 7));
      if (draw.percent(15)) locals.back().add({draw.between(0, 300), draw.between(1, 20)});
      for (std::int64_t group = 0; group < groups; ++group) {
        for (std::int64_t row = 0; row < rows; ++row) {
          if (draw.percent(2)) continue;
          locals.back().add({50 + ((group * rows + row) * ranks + rank) * length, length});
        }
      }
      locals.back().close();
      for (const RawEntry& piece : locals.back().expand()) all.push_back(piece);
    }
    const GlobalIndex global(locals);
    for (const GlobalEntry& entry : global.patterns()) grids += entry.id_count > 1 ? 1 : 0;
    for (std::int64_t offset = 0; offset < 1500; ++offset) {
      ASSERT_EQ(global.find(offset), by_force(all, offset)) << round << ' ' << offset;
    }
  }
  EXPECT_GT(grids, 50U / kSlower);
}

}  // namespace
}  // namespace iotune::he2013
