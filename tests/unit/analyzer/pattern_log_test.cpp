// A pattern log gives back what was put in, whatever it was, and what repeats costs once.
#include "analyzer/pattern_log/pattern_log.h"

#include <gtest/gtest.h>

#include <random>

#include "patterns/tuple_loops.h"
#include "tests/generators/applications.h"
#include "tests/generators/catalogue.h"
#include "tests/generators/drawn_nest.h"
#include "tests/generators/transforms.h"
#include "tests/generators/workload_log.h"

namespace iotune::analyzer {
namespace {

using generators::decode_log;
using generators::encode_log;
using generators::Stream;
using generators::Workload;
using patterns::Extent;
using Accesses = std::vector<Extent>;

void expect_lossless(const Workload& of, const std::vector<std::byte>& log) {
  const std::vector<Stream> back = decode_log(log);
  ASSERT_EQ(back.size(), of.streams.size()) << of.name;
  for (std::size_t s = 0; s < back.size(); ++s) {
    EXPECT_EQ(back[s].rank, of.streams[s].rank) << of.name;
    ASSERT_TRUE(back[s].accesses == of.streams[s].accesses) << of.name << ", stream " << s;
  }
}

Accesses all_of(const PatternLogReader& log, std::uint32_t stream,
                std::vector<std::int64_t>* physical = nullptr) {
  Accesses accesses, batch(100);
  std::vector<std::int64_t> offsets(batch.size());
  PatternLogReader::Accesses from = log.accesses(stream);
  while (const std::size_t got = from.read(batch, offsets)) {
    const auto count = static_cast<std::ptrdiff_t>(got);
    accesses.insert(accesses.end(), batch.begin(), batch.begin() + count);
    if (physical) physical->insert(physical->end(), offsets.begin(), offsets.begin() + count);
  }
  EXPECT_FALSE(from.failed());
  return accesses;
}

std::size_t plain_bytes(const Accesses& accesses) {
  return patterns::plain_bytes({&accesses[0].offset, 2 * accesses.size()}, accesses.size(), 2);
}

TEST(PatternLog, gives_back_every_generator) {
  for (const generators::Row& row : generators::catalogue(generators::Size::small)) {
    const Workload workload = row.make();
    expect_lossless(workload, encode_log(workload));
  }
}

TEST(PatternLog, gives_back_drawn_nests) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const Workload workload = generators::drawn_nest(seed);
    expect_lossless(workload, encode_log(workload));
  }
}

// A header, for what one access takes.
constexpr std::size_t kHeaderBytes = 40;

TEST(PatternLog, gives_back_hostile_sequences_and_is_never_longer_than_the_plain_list) {
  std::mt19937_64 draw(7);
  constexpr std::int64_t kValues[] = {0, 1, -1, INT64_MIN, INT64_MAX, 4096, INT64_MIN + 1, 63};
  for (int kind = 0; kind < 7; ++kind) {
    for (const std::size_t size : {1U, 2U, 5U, 40U, 300U, 5000U, 70000U}) {
      Workload workload{"hostile " + std::to_string(kind), "", {{7, {}}}};
      Accesses& accesses = workload.streams[0].accesses;
      std::int64_t at = 0;
      while (accesses.size() < size) {
        const auto any = static_cast<std::int64_t>(draw());
        if (kind == 0) accesses.push_back({any, static_cast<std::int64_t>(draw())});
        if (kind == 1) accesses.push_back({kValues[draw() % 8], kValues[draw() % 8]});
        if (kind == 2) accesses.push_back({any & 1, 0});
        if (kind == 3) accesses.push_back({any & 31, any >> 59});
        if (kind == 4) accesses.push_back({at += any >> 57, 1});
        if (kind == 5)
          accesses.push_back(
              {at = static_cast<std::int64_t>(static_cast<std::uint64_t>(at) * 2 + 1), at});
        if (kind == 6) accesses.push_back({any & 0xfff000, 1 << (any & 15)});
      }
      const std::vector<std::byte> log = encode_log(workload);
      expect_lossless(workload, log);
      EXPECT_LE(log.size(), plain_bytes(accesses) + kHeaderBytes) << workload.name << ' ' << size;
    }
  }
}

TEST(PatternLog, keeps_ranks_names_and_empty_streams) {
  PatternLogWriter writer;
  const char* const names[] = {"",
                               "a",
                               "checkpoint.0001.h5:/dens",
                               "checkpoint.0002.h5:/dens",
                               "x\x01\xff 00 7",
                               "checkpoint.0002.h5:/dens",
                               "007",
                               "7",
                               "08",
                               "99999999999999999999999"};
  std::int64_t rank = INT64_MIN;
  for (const char* name : names) writer.add(writer.add_stream(rank++, name), {});
  const std::uint32_t last = writer.add_stream(INT64_MAX, "last");
  const Extent access{5, 6};
  writer.add(last, {&access, 1});
  const std::vector<std::byte> bytes = writer.finish();
  const auto log = PatternLogReader::open(bytes);
  ASSERT_TRUE(log);
  ASSERT_EQ(log->streams().size(), std::size(names) + 1);
  for (std::size_t i = 0; i < std::size(names); ++i) {
    EXPECT_EQ(log->streams()[i].name, names[i]);
    EXPECT_EQ(log->streams()[i].rank, INT64_MIN + static_cast<std::int64_t>(i));
    EXPECT_TRUE(all_of(*log, static_cast<std::uint32_t>(i)).empty());
  }
  EXPECT_EQ(all_of(*log, last), Accesses{access});
}

TEST(PatternLog, keeps_physical_offsets) {
  std::mt19937_64 draw(3);
  Accesses accesses;
  std::vector<std::int64_t> physical;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < 3000; ++i) {
    accesses.push_back({i * 4096, 100});
    if (i % 500 == 499) end += static_cast<std::int64_t>(draw() % 1000);
    physical.push_back(end);
    end += 100;
  }
  PatternLogWriter writer;
  const std::uint32_t stream = writer.add_stream(0, "");
  writer.add(stream, std::span(accesses).first(10), std::span(physical).first(10));
  writer.add(stream, std::span(accesses).subspan(10), std::span(physical).subspan(10));
  const std::vector<std::byte> bytes = writer.finish();
  EXPECT_LT(bytes.size(), 120U);
  const auto log = PatternLogReader::open(bytes);
  ASSERT_TRUE(log);
  std::vector<std::int64_t> back;
  EXPECT_EQ(all_of(*log, stream, &back), accesses);
  EXPECT_EQ(back, physical);
}

// Little memory: many sections, of which streams take turns.
TEST(PatternLog, sections_do_not_break_a_loop_and_lose_nothing) {
  PatternLogWriter writer({.leaves_held = 500});
  std::mt19937_64 draw(5);
  std::vector<Accesses> all(4);
  std::size_t bytes = 0;
  std::vector<std::byte> log;
  for (std::uint32_t s = 0; s < all.size(); ++s) writer.add_stream(s, "f");
  for (std::int64_t round = 0; round < 400; ++round) {
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      Accesses some;
      for (std::int64_t k = 0; k < 20; ++k) {
        const auto random = static_cast<std::int64_t>(draw() % 100000);
        some.push_back({s == 0 ? random : (round * 20 + k) * 100, s == 1 ? random : 8});
      }
      all[s].insert(all[s].end(), some.begin(), some.end());
      writer.add(s, some);
    }
    const std::vector<std::byte> part = writer.take();
    bytes += part.size();
    log.insert(log.end(), part.begin(), part.end());
  }
  EXPECT_GT(bytes, 1000U);  // came out before the end
  const std::vector<std::byte> rest = writer.finish();
  log.insert(log.end(), rest.begin(), rest.end());
  const auto reader = PatternLogReader::open(log);
  ASSERT_TRUE(reader);
  for (std::uint32_t s = 0; s < all.size(); ++s) ASSERT_TRUE(all_of(*reader, s) == all[s]) << s;
  // The regular streams are a term each.
  for (const std::uint32_t s : {2U, 3U}) {
    std::size_t terms = 0;
    ASSERT_TRUE(reader->visit_terms(
        s, [&](std::uint32_t, const pattern_log::Shapes&, const pattern_log::TermList& list) {
          terms += list.terms.size();
        }));
    EXPECT_EQ(terms, 1U);
  }
}

TEST(PatternLog, more_ranks_of_one_pattern_cost_almost_nothing) {
  const auto bytes = [](std::uint32_t ranks) {
    return encode_log(generators::fs_test({.ranks = ranks, .writes = 300})).size();
  };
  EXPECT_LE(bytes(64), bytes(8) + 4);
  EXPECT_LE(bytes(64), 32U);
}

// Datasets, files and steps that are alike are alike for the dictionary too.
TEST(PatternLog, what_repeats_over_streams_is_stored_once) {
  const auto bytes = [](int files, bool alike) {
    PatternLogWriter writer;
    for (int file = 0; file < files; ++file) {
      std::mt19937_64 draw(static_cast<std::uint64_t>(alike ? 1 : file + 1));
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        Accesses accesses;
        // Irregular, and rank 0 does more than the others.
        if (rank == 0) accesses.assign(static_cast<std::size_t>(file) + 1, Extent{file, 96});
        for (int k = 0; k < 150; ++k) {
          accesses.push_back({static_cast<std::int64_t>(draw() % (1U << 30U)), 512});
        }
        writer.add(writer.add_stream(rank, "step" + std::to_string(file)), accesses);
      }
    }
    return writer.finish().size();
  };
  const std::size_t one = bytes(1, true);
  EXPECT_GT(one, 2000U);
  EXPECT_LT(bytes(10, true), one + one / 4);
  EXPECT_GT(bytes(10, false), 8 * one);
}

TEST(PatternLog, noise_does_not_break_a_nest) {
  const generators::DrawnNest nest{.ranks = 4,
                                   .nests = {{{{100, 100000}, {60, 640}}, {{0, 64}}, 0, 64}},
                                   .noise_percent = 1,
                                   .turn = 1};
  const Workload workload = generators::expand(nest, 11);
  const std::vector<std::byte> log = encode_log(workload);
  expect_lossless(workload, log);
  const auto reader = PatternLogReader::open(log);
  ASSERT_TRUE(reader);
  std::size_t noise = 0;
  for (const Stream& stream : workload.streams) noise += stream.accesses.size() - 6000;
  ASSERT_GT(noise, 150U);
  for (std::uint32_t stream = 0; stream < 4; ++stream) {
    std::size_t terms = 0;
    ASSERT_TRUE(reader->visit_terms(stream, [&](std::uint32_t channel, const pattern_log::Shapes&,
                                                const pattern_log::TermList& list) {
      if (channel == 0) terms += list.terms.size();
    }));
    // Two or three accesses in a row that do not belong may break it, and some come before it is
    // seen: far fewer terms than noise.
    EXPECT_LE(terms, noise / 4 / 2);
  }
  // Two random numbers and a gap: some seven bytes each.
  EXPECT_LT(log.size(), noise * 9 + 300);
}

// An access that belongs to none of the loops in turn shifts no turn.
TEST(PatternLog, noise_does_not_break_nests_in_turns) {
  // Deep: most of the time the innermost loop has hardly begun.
  const generators::DrawnNest nest{
      .ranks = 1,
      .nests = {{{{9, 700000}, {7, 5000000}, {5, 990000}, {20, 0}},
                 {{0, 512}, {512, 9000}, {9600, 64}},
                 0,
                 0},
                {{{12, 77000000}, {7, 24000000}, {50, 480000}}, {{0, 700}, {800, 24}}, 1 << 28, 0},
                {{{5, 7777777}, {12, 147000}, {4, 0}, {26, 5600}}, {{0, 4000}}, 1 << 29, 0}},
      .noise_percent = 1,
      .turn = 4};
  const Workload workload = generators::expand(nest, 11);
  const std::vector<std::byte> log = encode_log(workload);
  expect_lossless(workload, log);
  const std::size_t noise = workload.accesses() - 18900 - 8400 - 6240;
  ASSERT_GT(noise, 150U);
  // Two random numbers, and where it is: in lists of turns.
  EXPECT_LT(log.size(), noise * 12 + 300);
}

// A section may end while it is not decided yet in which turns the loops of a stream come.
TEST(PatternLog, sections_may_end_before_turns_are_known) {
  PatternLogWriter writer({.leaves_held = 6200});
  std::mt19937_64 draw(3);
  std::vector<Accesses> all(8);
  for (std::uint32_t s = 0; s < all.size(); ++s) writer.add_stream(s, "f");
  std::int64_t row = 0;
  for (std::int64_t k = 0; k < 2000; ++k) {
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      // Three strides and, in turn with them, rows of two whose places are drawn: as they come,
      // nothing in them repeats.
      row = k % 2 == 0 ? static_cast<std::int64_t>(draw() >> 30U) : row + 5;
      const Accesses four = {{k * 640, 64}, {row, 5}, {k * 7, 7}, {k * 77 + (1 << 30), 70}};
      all[s].insert(all[s].end(), four.begin(), four.end());
      writer.add(s, four);
    }
  }
  const std::vector<std::byte> log = writer.finish();
  const auto reader = PatternLogReader::open(log);
  ASSERT_TRUE(reader);
  for (std::uint32_t s = 0; s < all.size(); ++s) ASSERT_TRUE(all_of(*reader, s) == all[s]) << s;
}

// No loop of the nest is without noise for long enough to be found whole.
TEST(PatternLog, frequent_noise_does_not_hide_a_deep_nest) {
  const generators::DrawnNest nest{.ranks = 1,
                                   .nests = {{{{7, 90000000}, {9, 561354}, {4, -35084}, {8, 4385}},
                                              {{0, 2048}, {2048, 973}, {3046, 262}},
                                              1000000,
                                              0}},
                                   .noise_percent = 2,
                                   .turn = 1};
  const Workload workload = generators::expand(nest, 11);
  const std::vector<std::byte> log = encode_log(workload);
  expect_lossless(workload, log);
  const std::size_t noise = workload.streams[0].accesses.size() - 7UL * 9 * 4 * 8 * 3;
  ASSERT_GT(noise, 80U);
  EXPECT_LT(log.size(), noise * 9 + 200);
}

// Three in turn, with noise, of which one ends when a quarter of all accesses were made.
TEST(PatternLog, the_others_go_on_where_one_in_turn_ends) {
  const generators::DrawnNest nests = generators::draw_nest(500552);
  ASSERT_EQ(nests.nests.size(), 3U);
  const Workload workload = generators::expand(nests, 500552);
  const std::vector<std::byte> log = encode_log(workload);
  expect_lossless(workload, log);
  EXPECT_LT(log.size(), 6000U);
}

TEST(PatternLog, nests_in_turns_are_distinguished) {
  generators::DrawnNest nests{.ranks = 4, .nests = {}, .noise_percent = 0, .turn = 1};
  nests.nests.push_back({{{30, 100000}, {17, 640}}, {{0, 64}}, 0, 64});
  nests.nests.push_back({{{40, 7777}, {11, 3}}, {{0, 5}}, 1 << 30, 1 << 20});
  const Workload workload = generators::expand(nests, 1);
  const std::vector<std::byte> log = encode_log(workload);
  expect_lossless(workload, log);
  EXPECT_LT(log.size(), 100U);
}

}  // namespace
}  // namespace iotune::analyzer
