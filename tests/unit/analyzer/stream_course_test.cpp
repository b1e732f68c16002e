// Streams that are like one before, or nearly: nothing is lost, and nothing that would be found in
// one alone is missed.
#include "analyzer/pattern_log/stream_course.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/pattern_log/channels.h"
#include "analyzer/pattern_log/pattern_log.h"
#include "tests/generators/drawn_nest.h"

namespace iotune::analyzer {
namespace {

using pattern_log::CourseFollower;
using pattern_log::Piece;
using pattern_log::Shapes;
using pattern_log::StreamCourse;
using patterns::Extent;
using Accesses = std::vector<Extent>;

// What a stream alone is found to be.
std::vector<Piece> pieces_of(const Accesses& accesses, Shapes& shapes) {
  pattern_log::FoundTurns found;
  pattern_log::Channels channels(found);
  channels.add(accesses, shapes);
  channels.finish(shapes);
  std::vector<Piece> pieces;
  for (std::uint32_t channel = 0; channel < pattern_log::kChannels; ++channel) {
    if (!channels.list(channel).terms.empty()) {
      pieces.push_back({0, channel, std::move(channels.list(channel))});
    }
  }
  return pieces;
}

// Rows of five, three of them in each of a few places, then a header.
Accesses rows_at(std::initializer_list<std::int64_t> places) {
  Accesses made;
  for (const std::int64_t place : places) {
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t k = 0; k < 5; ++k) made.push_back({place + row * 1000 + k * 64, 64});
    }
  }
  made.push_back({7, 24});
  return made;
}

TEST(StreamCourse, what_is_like_it_has_its_terms_at_other_places) {
  Shapes shapes;
  const Accesses like = rows_at({100000, 250000, 270000});
  const std::vector<Piece> pieces = pieces_of(like, shapes);
  const auto course = StreamCourse::of(shapes, pieces, like.size());
  ASSERT_TRUE(course);
  const Accesses other = rows_at({20000, 90000, 500000});
  CourseFollower follower;
  follower.begin(course);
  EXPECT_EQ(follower.take(std::span(other).first(11)), 11U);
  EXPECT_FALSE(follower.complete());
  EXPECT_EQ(follower.take(std::span(other).subspan(11)), other.size() - 11);
  ASSERT_TRUE(follower.complete());
  Accesses taken;
  follower.append_taken(taken);
  EXPECT_EQ(taken, other);
  std::vector<Piece> made;
  follower.append_pieces(3, made, *std::pmr::new_delete_resource());
  const std::vector<Piece> alone = pieces_of(other, shapes);
  ASSERT_EQ(made.size(), alone.size());
  for (std::size_t p = 0; p < made.size(); ++p) {
    EXPECT_EQ(made[p].stream, 3U);
    EXPECT_EQ(made[p].channel, alone[p].channel);
    EXPECT_EQ(made[p].list.terms, alone[p].list.terms);
    EXPECT_EQ(made[p].list.leaves, alone[p].list.leaves);
  }
}

TEST(StreamCourse, is_left_where_an_access_differs_or_there_are_more) {
  Shapes shapes;
  const Accesses like = rows_at({100000, 250000, 270000});
  const auto course = StreamCourse::of(shapes, pieces_of(like, shapes), like.size());
  ASSERT_TRUE(course);
  for (const std::size_t at : {4U, 7U, 44U}) {
    Accesses other = like;
    other[at].offset += 1;
    CourseFollower follower;
    follower.begin(course);
    EXPECT_EQ(follower.take(other), at);
    Accesses taken;
    follower.append_taken(taken);
    EXPECT_EQ(taken, Accesses(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(at)));
  }
  Accesses longer = like;
  longer.push_back({1, 1});
  CourseFollower follower;
  follower.begin(course);
  EXPECT_LT(follower.take(longer), longer.size());
}

// Three places in even steps are one loop more: the stream before, which has none, is no model.
TEST(StreamCourse, a_more_regular_stream_keeps_its_loops) {
  Shapes shapes;
  const Accesses like = rows_at({100000, 250000, 270000});
  const auto course = StreamCourse::of(shapes, pieces_of(like, shapes), like.size());
  const Accesses even = rows_at({100000, 200000, 300000});
  CourseFollower follower;
  follower.begin(course);
  EXPECT_EQ(follower.take(even), even.size());
  EXPECT_FALSE(follower.complete());
  // A place that the rows before go on to.
  const Accesses on = rows_at({100000, 103000, 900000});
  follower.begin(course);
  EXPECT_EQ(follower.take(on), on.size());
  EXPECT_FALSE(follower.complete());
}

TEST(StreamCourse, of_irregular_and_of_long_streams_there_is_none) {
  Shapes shapes;
  std::mt19937_64 draw(1);
  Accesses random(200), loop(5000);
  for (Extent& access : random) access = {static_cast<std::int64_t>(draw() >> 20U), 8};
  for (std::size_t i = 0; i < loop.size(); ++i) loop[i] = {static_cast<std::int64_t>(i) * 9, 8};
  EXPECT_FALSE(StreamCourse::of(shapes, pieces_of(random, shapes), random.size()));
  EXPECT_FALSE(StreamCourse::of(shapes, pieces_of(loop, shapes), loop.size()));
  // What is said of other accesses is not believed.
  const Accesses rows = rows_at({100000, 250000});
  EXPECT_FALSE(StreamCourse::of(shapes, pieces_of(rows, shapes), rows.size() + 1));
}

// Streams of a few kinds, most of them moved, some with other lengths, cut off, gone on with, or
// with an access that differs; several at a time, piece by piece, in sections of any size.
TEST(StreamCourse, streams_that_are_nearly_alike_come_back) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 draw(seed);
    std::vector<Accesses> kinds;
    for (std::uint64_t kind = 0; kind < 1 + seed % 3; ++kind) {
      Accesses accesses = generators::drawn_nest(seed * 5 + kind).streams[0].accesses;
      accesses.resize(std::min<std::size_t>(accesses.size(), 50 + draw() % 1200));
      kinds.push_back(std::move(accesses));
    }
    std::vector<Accesses> streams;
    for (std::size_t s = 0; s < 30; ++s) {
      Accesses made = kinds[draw() % kinds.size()];
      const auto by = static_cast<std::int64_t>(draw() % 100000);
      const bool longer = draw() % 8 == 0;
      for (Extent& access : made) {
        access.offset += access.length * (by % 7) + by;
        if (longer) access.length += 5;
      }
      if (draw() % 5 == 0) made.resize(draw() % made.size());
      if (draw() % 5 == 0 && !made.empty()) made[draw() % made.size()].offset ^= 64;
      if (draw() % 5 == 0) made.push_back({by, 1});
      streams.push_back(std::move(made));
    }
    PatternLogWriter writer(
        {.leaves_held = seed % 4 == 0 ? std::size_t{40} : std::size_t{1} << 18U});
    const bool physical = seed % 3 == 0;
    const std::size_t at_once = 1 + seed % 4;
    for (std::size_t begin = 0; begin < streams.size(); begin += at_once) {
      const std::size_t end = std::min(begin + at_once, streams.size());
      std::vector<std::size_t> done(streams.size());
      for (std::size_t s = begin; s < end; ++s) writer.add_stream(static_cast<int>(s), "");
      for (bool more = true; more;) {
        more = false;
        for (std::size_t s = begin; s < end; ++s) {
          const auto rest = std::span(streams[s]).subspan(done[s]);
          const auto now = rest.first(std::min<std::size_t>(rest.size(), draw() % 400));
          std::vector<std::int64_t> places(physical ? now.size() : 0, 17);
          writer.add(static_cast<std::uint32_t>(s), now, places);
          done[s] += now.size();
          more = more || done[s] < streams[s].size();
        }
      }
      if (seed % 2 == 0) continue;
      for (std::size_t s = begin; s < end; ++s) writer.end_stream(static_cast<std::uint32_t>(s));
    }
    const std::vector<std::byte> bytes = writer.finish();
    const auto log = PatternLogReader::open(bytes);
    ASSERT_TRUE(log);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      Accesses back(streams[s].size() + 1);
      std::vector<std::int64_t> places(back.size());
      auto from = log->accesses(static_cast<std::uint32_t>(s));
      back.resize(from.read(back, places));
      ASSERT_TRUE(back == streams[s]) << "seed " << seed << ", stream " << s;
      if (physical && !back.empty()) {
        EXPECT_EQ(places[back.size() - 1], 17);
      }
      EXPECT_FALSE(from.failed());
    }
  }
}

}  // namespace
}  // namespace iotune::analyzer
