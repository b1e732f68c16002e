// Accesses one by one, drawn so that some repeat as loops do.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "analyzer/order/access_runs.h"

namespace iotune::analyzer::drawn {

struct Access {
  std::int64_t start, length;
  std::uint64_t segment;
  auto operator<=>(const Access&) const = default;
};

class AccessDraw {
 public:
  explicit AccessDraw(std::uint64_t seed) : draw_(seed) {}

  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(draw_);
  }

  // With rising segments, all of that length.
  std::vector<Access> accesses(std::int64_t length) {
    std::vector<Access> found;
    std::uint64_t segment = 0;
    for (std::int64_t parts = between(1, 4); parts > 0; --parts) {
      if (between(0, 2) == 0) {
        for (std::int64_t i = between(1, 6); i > 0; --i) {
          found.push_back({between(0, 400), length, segment});
          segment += static_cast<std::uint64_t>(between(0, 1));
        }
        continue;
      }
      add_loops(length, segment, found);
    }
    return found;
  }

 private:
  void add_loops(std::int64_t length, std::uint64_t& segment, std::vector<Access>& to) {
    const std::int64_t rows = between(1, 5), columns = between(1, 6), start = between(0, 200);
    const std::int64_t row_bytes = 8 * between(-3, 12), column_bytes = between(-4, 24);
    const auto within = static_cast<std::uint64_t>(between(0, 1));
    const auto after = static_cast<std::uint64_t>(between(0, 2));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        to.push_back({start + row * row_bytes + column * column_bytes, length, segment});
        segment += within;
      }
      segment += after;
    }
  }

  std::mt19937_64 draw_;
};

inline void expand(const AccessRun& run, std::size_t level, std::int64_t start,
                   std::uint64_t segment, std::vector<Access>& to) {
  if (level == run.levels.size()) {
    to.push_back({start, run.length, segment});
    return;
  }
  const RunLevel& loop = run.levels[level];
  for (std::int64_t i = 0; i < loop.count; ++i) {
    expand(run, level + 1, start + i * loop.stride,
           segment + static_cast<std::uint64_t>(i * loop.segment_step), to);
  }
}

inline std::vector<Access> expanded(const std::vector<AccessRun>& runs) {
  std::vector<Access> found;
  for (const AccessRun& run : runs) expand(run, 0, run.start, run.segment, found);
  return found;
}

}  // namespace iotune::analyzer::drawn
