// A run of many ranks that nobody makes: FS-TEST's N-1 strided writes (He et al., HPDC 2013, 3.1),
// with writers' names and the times of each write, drawn from a seed. Names have no order: which
// rank has which writer's number is a permutation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/generators/drawing.h"

namespace iotune::bench {

enum class Pace {
  even,    // writes of 10 us, give or take a tenth, 0.2 us between them
  uneven,  // the same, but one write in 256 takes 1 to 10 ms
};

struct SimulatedRun {
  std::uint32_t ranks;
  std::int64_t writes;  // a rank
  std::int64_t record_bytes;
  Pace pace;
  std::uint64_t seed;

  std::int64_t offset(std::int64_t write, std::uint32_t rank) const noexcept {
    return (write * ranks + rank) * record_bytes;
  }
  std::int64_t entries() const noexcept { return writes * ranks; }
};

// When a rank's writes begin and end, ns since 1970, one after the other. The same rank gives the
// same times, no matter who asks.
class RankTimes {
 public:
  struct Interval {
    std::int64_t begin_ns, end_ns;
  };

  RankTimes(const SimulatedRun& run, std::uint32_t rank) noexcept;

  std::int64_t now_ns() const noexcept { return now_; }
  Interval next() noexcept {
    const std::int64_t begin = now_ + 180 + draw_.between(0, 40);
    std::int64_t takes = 9000 + draw_.between(0, 2000);
    if (uneven_ && draw_.between(0, 255) == 0) takes = draw_.between(1'000'000, 10'000'000);
    now_ = begin + takes;
    return {begin, now_};
  }

 private:
  generators::Drawing draw_;
  std::int64_t now_;
  bool uneven_;
};

// HOST.PID.0 as faces name them, of nodes of 16 processes, by rank.
std::vector<std::string> writer_names(const SimulatedRun& run);

// The number of each rank's writer: its place among the sorted names.
std::vector<std::uint32_t> writer_numbers(const std::vector<std::string>& names);

}  // namespace iotune::bench
