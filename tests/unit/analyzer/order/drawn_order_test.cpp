// Drawn programs against a brute force that expands everything and asks for paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "drawn_program.h"
#include "tests/unit/drawn_cases.h"

namespace iotune::analyzer {
namespace {

class Paths {
 public:
  explicit Paths(const DrawnProgram& program) {
    std::size_t nodes = 0;
    for (const Script& script : program.scripts) {
      first_.push_back(nodes);
      nodes += 2 * script.events.size();
    }
    next_.resize(nodes);
    for (std::size_t p = 0; p < program.scripts.size(); ++p) {
      for (std::size_t i = 0; i + 1 < 2 * program.scripts[p].events.size(); ++i) {
        next_[first_[p] + i].push_back(first_[p] + i + 1);
      }
    }
    for (const TrueEdge& edge : program.edges) {
      next_[start(edge.start)].push_back(end(edge.end));
    }
    reach_.assign(nodes, {});
    for (std::size_t node = 0; node < nodes; ++node) {
      reach_[node].assign(nodes, 0);
      std::vector<std::size_t> open{node};
      reach_[node][node] = 1;
      while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        for (const std::size_t to : next_[at]) {
          if (reach_[node][to] == 0) {
            reach_[node][to] = 1;
            open.push_back(to);
          }
        }
      }
    }
  }
  std::size_t start(Moment of) const { return first_[of.process] + 2 * of.event; }
  std::size_t end(Moment of) const { return start(of) + 1; }
  bool between(std::size_t from, std::size_t to) const { return reach_[from][to] != 0; }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::vector<std::size_t>> next_;
  std::vector<std::vector<char>> reach_;
};

class BruteForce {
 public:
  explicit BruteForce(const DrawnProgram& program) : program_(program), paths_(program) {}

  // From the end of an event of p, or from its start, to segment j of q.
  bool to_segment(std::size_t from, std::size_t q, std::uint64_t j) const {
    return j > 0 && paths_.between(from, paths_.end({q, j - 1}));
  }

  bool visible(ConsistencyModel model, std::size_t p, std::uint64_t i, std::size_t q,
               std::uint64_t j) const {
    const std::uint64_t events = program_.scripts[p].events.size();
    switch (model) {
      case ConsistencyModel::kPosix:
        return i < events && to_segment(paths_.start({p, i}), q, j);
      case ConsistencyModel::kCommit:
        return through(kCommits, 0, p, i, q, j);
      case ConsistencyModel::kSession:
        return through(kClosesSession, kOpensSession, p, i, q, j);
      case ConsistencyModel::kMpiIo:
        return through(kMpiSyncsOut, kMpiSyncsIn, p, i, q, j);
    }
    return false;
  }

 private:
  bool through(std::uint8_t out, std::uint8_t in, std::size_t p, std::uint64_t i, std::size_t q,
               std::uint64_t j) const {
    for (const FileEvent& leaves : program_.scripts[p].file_events) {
      if ((leaves.roles & out) == 0 || leaves.number < i) continue;
      const std::size_t from = paths_.end({p, leaves.number});
      if (in == 0) {
        if (to_segment(from, q, j)) return true;
        continue;
      }
      for (const FileEvent& enters : program_.scripts[q].file_events) {
        if ((enters.roles & in) == 0 || enters.number >= j) continue;
        if (paths_.between(from, paths_.start({q, enters.number}))) return true;
      }
    }
    return false;
  }

  const DrawnProgram& program_;
  Paths paths_;
};

TEST(DrawnOrder, EverySegmentIsVisibleWhereTheBruteForceSaysSo) {
  std::uint64_t compared = 0, visible = 0;
  const std::uint64_t programs = testing::drawn_cases(60000);
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    const DrawnProgram program = draw_program(seed);
    const BruteForce truth(program);
    const HappensBefore order = order_of(program.scripts);
    ASSERT_TRUE(order.unknown().empty()) << "seed " << seed << ": " << order.unknown()[0].reason;
    for (std::uint32_t p = 0; p < program.scripts.size(); ++p) {
      for (std::uint32_t q = 0; q < program.scripts.size(); ++q) {
        if (p == q) continue;
        for (std::uint64_t i = 0; i <= program.scripts[p].events.size(); ++i) {
          for (const ConsistencyModel model : kConsistencyModels) {
            std::uint64_t first = HappensBefore::kNever;
            for (std::uint64_t j = program.scripts[q].events.size() + 1; j-- > 0;) {
              if (!truth.visible(model, p, i, q, j)) break;
              first = j;
            }
            ASSERT_EQ(order.first_visible(model, p, i, q, 0, false), first)
                << "seed " << seed << ", " << name_of(model) << ", process " << p << " segment "
                << i << " to process " << q;
            ++compared;
            visible += first != HappensBefore::kNever ? 1 : 0;
          }
        }
      }
    }
  }
  // The drawing is worth something.
  EXPECT_GT(visible, compared / 20);
  EXPECT_LT(visible, compared / 2);
}

}  // namespace
}  // namespace iotune::analyzer
