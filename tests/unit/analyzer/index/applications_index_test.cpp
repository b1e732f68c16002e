// The generators' applications and drawn nests, too large for a model of bytes: against a map of
// what each write left, and against the number of entries that regular ones may have.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model.h"
#include "tests/generators/applications.h"
#include "tests/generators/catalogue.h"
#include "tests/generators/drawn_nest.h"

namespace iotune::analyzer {
namespace {

using generators::Stream;
using generators::Workload;
using testing::built;

// Writes painted over each other in the order of time: piece by its first byte.
class Painted {
 public:
  void write(const IndexPiece& piece) {
    if (piece.length == 0) return;
    split(piece.offset);
    split(piece.end());
    pieces_.erase(pieces_.lower_bound(piece.offset), pieces_.lower_bound(piece.end()));
    pieces_[piece.offset] = piece;
  }
  IndexPiece at(std::int64_t offset) const {
    const auto above = pieces_.upper_bound(offset);
    if (above != pieces_.begin()) {
      const IndexPiece& piece = std::prev(above)->second;
      const std::int64_t in = offset - piece.offset;
      if (in < piece.length) {
        return {offset, piece.length - in, piece.stream, piece.position, piece.physical + in};
      }
    }
    return {offset, (above == pieces_.end() ? INT64_MAX : above->first) - offset};
  }
  const std::map<std::int64_t, IndexPiece>& pieces() const { return pieces_; }

 private:
  void split(std::int64_t at) {
    const auto above = pieces_.lower_bound(at);
    if (above == pieces_.begin()) return;
    IndexPiece& left = std::prev(above)->second;
    if (left.end() <= at) return;
    const std::int64_t in = at - left.offset;
    const IndexPiece right{at, left.length - in, left.stream, left.position, left.physical + in};
    left.length = in;
    pieces_[at] = right;
  }
  std::map<std::int64_t, IndexPiece> pieces_;
};

// Rank by rank in turns, as ranks of a program write: access k of all before k + 1 of any.
void expect_answers(const Workload& work) {
  IndexBuilder builder;
  std::vector<std::int64_t> physical(work.streams.size());
  std::size_t longest = 0;
  for (const Stream& stream : work.streams) {
    longest = std::max(longest, stream.accesses.size());
    const auto last = static_cast<std::int64_t>(stream.accesses.size()) - 1;
    const auto wrong =
        builder.add(stream.rank, stream.accesses, BatchTimes(0, std::max<std::int64_t>(0, last)));
    ASSERT_FALSE(wrong) << wrong->text();
  }
  Painted painted;
  for (std::size_t k = 0; k < longest; ++k) {
    for (std::size_t s = 0; s < work.streams.size(); ++s) {
      const Stream& stream = work.streams[s];
      if (k >= stream.accesses.size()) continue;
      const patterns::Extent& access = stream.accesses[k];
      painted.write(
          {access.offset, access.length, stream.rank, static_cast<std::int64_t>(k), physical[s]});
      physical[s] += access.length;
    }
  }
  const OffsetIndex index = built(builder);
  std::mt19937_64 random(5);
  std::size_t step = painted.pieces().size() / 1000 + 1;
  std::size_t i = 0;
  for (const auto& [start, piece] : painted.pieces()) {
    if (i++ % step != 0) continue;
    const auto in = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(piece.length));
    ASSERT_EQ(index.at(start), painted.at(start)) << work.name << " at " << start;
    ASSERT_EQ(index.at(start + in), painted.at(start + in)) << work.name << " at " << start + in;
    ASSERT_EQ(index.at(piece.end()), painted.at(piece.end())) << work.name << " at " << piece.end();
  }
}

TEST(ApplicationsIndex, EveryGeneratorIsAnswered) {
  for (const generators::Row& row : generators::catalogue(generators::Size::small)) {
    expect_answers(row.make());
    if (HasFatalFailure()) return;
  }
}

TEST(ApplicationsIndex, DrawnNestsAreAnswered) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Workload work = generators::drawn_nest(seed);
    work.name += ", seed " + std::to_string(seed);
    for (Stream& stream : work.streams)
      stream.accesses.resize(std::min<std::size_t>(stream.accesses.size(), 700));
    expect_answers(work);
    if (HasFatalFailure()) return;
  }
}

std::size_t entries(const Workload& work) {
  IndexBuilder builder;
  for (const Stream& stream : work.streams) EXPECT_FALSE(builder.add(stream.rank, stream.accesses));
  const OffsetIndex index = built(builder);
  EXPECT_FALSE(index.contested()) << work.name;
  return index.nests() + index.segments();
}

TEST(ApplicationsIndex, RegularOnesAreFoldedIntoFewNests) {
  EXPECT_EQ(entries(generators::fs_test({.ranks = 64, .writes = 256})), 1U);
  EXPECT_EQ(entries(generators::pattern_io({.ranks = 64})), 1U);
  EXPECT_EQ(entries(generators::milc_a({.extent = 16})), 1U);
  EXPECT_EQ(entries(generators::lanl_app3({.ranks = 64, .writes = 256})), 1U);
}

}  // namespace
}  // namespace iotune::analyzer
