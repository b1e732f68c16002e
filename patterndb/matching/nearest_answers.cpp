#include "patterndb/matching/nearest_answers.h"

#include <algorithm>
#include <cmath>

namespace iotune::patterndb {

const char* const kShapeColumns =
    "p.descriptor, p.op, p.element_bytes, p.ranks, p.grid, p.mode, p.chunk, p.filters, "
    "p.dataset_dims";

void bind_platform(sqlite::Statement& statement, const Platform& platform) {
  statement.with(platform.filesystem, platform.mpi, platform.hdf5, platform.host_class);
}

Pattern pattern_row(const sqlite::Statement& row, int first) {
  Pattern pattern;
  const auto descriptor = parse_descriptor(row.text(first));
  if (descriptor) pattern.descriptor = *descriptor;
  pattern.write = row.text(first + 1) == "write";
  pattern.element_bytes = static_cast<std::uint64_t>(row.integer(first + 2));
  pattern.ranks = static_cast<std::uint64_t>(row.integer(first + 3));
  pattern.grid = split_numbers(row.text(first + 4));
  pattern.mode = row.text(first + 5);
  pattern.chunk = split_numbers(row.text(first + 6));
  pattern.filters = static_cast<std::uint64_t>(row.integer(first + 7));
  pattern.dataset_dims = split_numbers(row.text(first + 8));
  return pattern;
}

namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr std::uint64_t kMostRanksApart = 4;
// Up to as many answers are looked at one by one; of more, those around the pattern are, at most so
// many of each number of ranks and of so many numbers of ranks.
constexpr int kFewAnswers = 1000, kMostOfRanks = 200, kMostRanks = 48;

constexpr const char* kAnswered =
    "EXISTS (SELECT 1 FROM tunings t JOIN platforms f ON f.id = t.platform WHERE t.pattern = p.id "
    "AND t.state <> 'untrained' AND f.filesystem = ?1 AND (?2 = '' OR f.mpi = ?2) "
    "AND (?3 = '' OR f.hdf5 = ?3) AND (?4 = '' OR f.host_class = ?4))";

class Search {
 public:
  Search(Connection& db, std::string byte_key, const Pattern& pattern, const Geometry& geometry,
         const Platform& platform, std::size_t most)
      : db_(db),
        byte_key_(std::move(byte_key)),
        ranks_(pattern.ranks),
        piece_(std::log2(geometry.piece_bytes)),
        pieces_(std::log2(geometry.pieces)),
        platform_(platform),
        most_(most) {}

  // All answers behind that wall.
  void few(const std::string& wall) {
    // CROSS: in this order, from the few.
    Statement rows(db_,
                   "SELECT p.id, p.byte_key, p.ranks, p.piece_doublings, p.pieces_doublings "
                   "FROM (SELECT DISTINCT t.pattern AS id FROM tunings t JOIN platforms f ON "
                   "f.id = t.platform WHERE t.state <> 'untrained' AND f.filesystem = ?1 "
                   "AND (?2 = '' OR f.mpi = ?2) AND (?3 = '' OR f.hdf5 = ?3) "
                   "AND (?4 = '' OR f.host_class = ?4)) a CROSS JOIN patterns p ON p.id = a.id "
                   "WHERE p.wall = ?5 AND p.ranks BETWEEN ?6 AND ?7");
    bind_platform(rows, platform_);
    rows.bind(5, wall).bind(6, ranks_ / kMostRanksApart).bind(7, ranks_ * kMostRanksApart);
    while (rows.step()) take(rows);
  }

  // Outwards from the pattern's own number of ranks, and there from its own size of a piece.
  void around(const std::string& wall, int most_ranks) {
    Statement above(db_, "SELECT min(ranks) FROM patterns WHERE wall = ?1 AND ranks >= ?2");
    Statement below(db_, "SELECT max(ranks) FROM patterns WHERE wall = ?1 AND ranks <= ?2");
    std::uint64_t up = next(above, wall, ranks_), down = next(below, wall, ranks_ - 1);
    for (int i = 0; i < most_ranks && (up != 0 || down != 0); ++i) {
      const bool take_up = down == 0 || (up != 0 && apart(up) <= apart(down));
      const std::uint64_t ranks = take_up ? up : down;
      if (apart(ranks) > bound()) break;
      with_ranks(wall, ranks);
      if (take_up) up = next(above, wall, up + 1);
      if (!take_up) down = next(below, wall, down - 1);
    }
  }

  std::vector<NearPattern> found() { return std::move(best_); }

 private:
  // 0: there is none within a quarter to four times.
  std::uint64_t next(Statement& statement, const std::string& wall, std::uint64_t ranks) const {
    statement.reset();
    statement.with(wall, ranks);
    if (!statement.step() || statement.null(0)) return 0;
    const auto found = static_cast<std::uint64_t>(statement.integer(0));
    const bool near = found <= ranks_ * kMostRanksApart && found >= ranks_ / kMostRanksApart;
    return near ? found : 0;
  }

  double apart(std::uint64_t ranks) const {
    return std::fabs(std::log2(static_cast<double>(ranks) / static_cast<double>(ranks_)));
  }

  // Nothing further than this is of any use.
  double bound() const { return best_.size() < most_ ? 1e300 : best_.back().distance; }

  void with_ranks(const std::string& wall, std::uint64_t ranks) {
    for (const bool up : {true, false}) {
      Statement rows(db_, std::string("SELECT p.id, p.byte_key, p.ranks, p.piece_doublings, "
                                      "p.pieces_doublings FROM patterns p WHERE p.wall = ?5 "
                                      "AND p.ranks = ?6 AND p.piece_doublings ") +
                              (up ? ">= ?7 AND " : "< ?7 AND ") + kAnswered +
                              " ORDER BY p.piece_doublings " + (up ? "" : "DESC"));
      bind_platform(rows, platform_);
      rows.bind(5, wall).bind(6, ranks).bind(7, piece_);
      for (int i = 0; i < kMostOfRanks && rows.step(); ++i) {
        if (apart(ranks) + 0.5 * std::fabs(rows.real(3) - piece_) > bound()) break;
        take(rows);
      }
    }
  }

  void take(const Statement& row) {
    NearPattern one;
    one.id = row.integer(0);
    one.byte_key = row.text(1);
    if (one.byte_key == byte_key_) return;
    one.distance = apart(static_cast<std::uint64_t>(row.integer(2))) +
                   0.5 * std::fabs(row.real(3) - piece_) + 0.5 * std::fabs(row.real(4) - pieces_);
    for (const NearPattern& known : best_) {
      if (known.byte_key == one.byte_key) return;  // the same to the file system
    }
    const auto place = std::upper_bound(
        best_.begin(), best_.end(), one, [](const NearPattern& a, const NearPattern& b) {
          return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
        });
    best_.insert(place, std::move(one));
    if (best_.size() > most_) best_.pop_back();
  }

  Connection& db_;
  std::string byte_key_;
  std::uint64_t ranks_;
  double piece_, pieces_;
  const Platform& platform_;
  std::size_t most_;
  std::vector<NearPattern> best_;
};

bool few_answers(Connection& db) {
  Statement count(db, "SELECT count(*) FROM (SELECT 1 FROM tunings LIMIT ?)");
  count.bind(1, std::int64_t{kFewAnswers + 1});
  return count.step() && count.integer(0) <= kFewAnswers;
}

}  // namespace

std::vector<NearPattern> nearest_answers(Connection& db, const std::string& byte_key,
                                         const Pattern& pattern, const Geometry& geometry,
                                         const Platform& platform, std::size_t most) {
  Search search(db, byte_key, pattern, geometry, platform, most);
  const std::string wall = wall_of(pattern, geometry);
  if (few_answers(db)) {
    search.few(wall);
  } else {
    search.around(wall, kMostRanks);
  }
  return search.found();
}

std::vector<NearPattern> nearest_behind_walls(Connection& db, const std::string& byte_key,
                                              const Pattern& pattern, const Geometry& geometry,
                                              const Platform& platform) {
  constexpr int kMostWalls = 64, kRanksEach = 2;
  Search search(db, byte_key, pattern, geometry, platform, 1);
  const std::string own = wall_of(pattern, geometry), direction = own.substr(0, own.find(' '));
  const bool few = few_answers(db);
  Statement next(db, "SELECT min(wall) FROM patterns WHERE wall > ?");
  std::string wall = direction;
  for (int i = 0; i < kMostWalls; ++i) {
    next.reset();
    next.bind(1, wall);
    if (!next.step() || next.null(0)) break;
    wall = next.text(0);
    if (wall.compare(0, direction.size() + 1, direction + " ") != 0) break;
    if (wall == own) continue;
    if (few) {
      search.few(wall);
    } else {
      search.around(wall, kRanksEach);
    }
  }
  return search.found();
}

void fill_geometry(Connection& db) {
  Statement rows(db, std::string("SELECT p.id, ") + kShapeColumns + " FROM patterns p");
  Statement fill(db,
                 "UPDATE patterns SET wall=?, piece_doublings=?, pieces_doublings=? WHERE id=?");
  while (rows.step()) {
    Geometry geometry;
    const Pattern pattern = pattern_row(rows, 1);
    if (!geometry_of(pattern, geometry)) continue;
    fill.with(wall_of(pattern, geometry), std::log2(geometry.piece_bytes),
              std::log2(geometry.pieces), rows.integer(0));
    fill.run();
  }
}

}  // namespace iotune::patterndb
