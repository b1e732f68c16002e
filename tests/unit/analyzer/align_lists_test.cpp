// Ranks that do the same are written as one table wherever their loops happen to be cut.
#include <gtest/gtest.h>

#include "analyzer/pattern_log/pattern_log.h"
#include "tests/generators/applications.h"
#include "tests/generators/workload_log.h"

namespace iotune::analyzer {
namespace {

using generators::Stream;
using generators::Workload;

// How many terms each stream of the log has, in order.
std::vector<std::size_t> terms_of(const std::vector<std::byte>& log) {
  std::vector<std::size_t> terms;
  const auto reader = PatternLogReader::open(log);
  if (!reader) return terms;
  for (std::uint32_t s = 0; s < reader->streams().size(); ++s) {
    terms.push_back(0);
    EXPECT_TRUE(reader->visit_terms(
        s, [&](std::uint32_t, const pattern_log::Shapes&, const pattern_log::TermList& list) {
          terms.back() += list.terms.size();
        }));
  }
  return terms;
}

void expect_back(const Workload& of, const std::vector<std::byte>& log) {
  const std::vector<Stream> back = generators::decode_log(log);
  ASSERT_EQ(back.size(), of.streams.size());
  for (std::size_t s = 0; s < back.size(); ++s) {
    EXPECT_EQ(back[s].rank, of.streams[s].rank);
    EXPECT_EQ(back[s].accesses, of.streams[s].accesses) << "stream " << s;
  }
}

// Cells of BT-IO wrap around the grid at another place in each rank.
TEST(AlignLists, ranks_cut_at_other_places_become_one_form) {
  const Workload cells = generators::btio({.ranks = 16, .extent = 64, .dumps = 8});
  const auto log = generators::encode_log(cells);
  EXPECT_EQ(terms_of(log), std::vector<std::size_t>(16, 1));
  expect_back(cells, log);
}

// An access before a loop, and what is left of an iteration behind it.
TEST(AlignLists, what_stands_beside_a_loop_joins_it) {
  Workload rows{"", "", {}};
  rows.streams.push_back({0, {}});
  for (std::int64_t record = 0; record < 20; ++record) {
    for (std::int64_t k = 0; k < 5; ++k) {
      // The last of a record and the first two of the next one are in even steps.
      const std::int64_t offset = record * 100000 + (k == 4   ? 90000
                                                     : k == 0 ? 0
                                                              : 10000 + 7 * k * k);
      rows.streams[0].accesses.push_back({offset, k == 4 || k < 2 ? 64 : 9});
    }
  }
  const auto log = generators::encode_log(rows);
  EXPECT_EQ(terms_of(log), std::vector<std::size_t>(1, 1));
  expect_back(rows, log);
}

// One that has an access too many stays as it is.
TEST(AlignLists, what_does_not_fit_stays) {
  Workload cells = generators::btio({.ranks = 16, .extent = 64, .dumps = 8});
  cells.streams[3].accesses.push_back({1, 1});
  cells.streams[6].accesses.erase(cells.streams[6].accesses.begin());
  expect_back(cells, generators::encode_log(cells));
}

}  // namespace
}  // namespace iotune::analyzer
