// Any byte of a log may be wrong: reading it ends, with an error or with some accesses, in bounded
// memory (run under the asan preset).
#include <gtest/gtest.h>

#include "analyzer/pattern_log/pattern_log.h"
#include "tests/generators/applications.h"
#include "tests/generators/transforms.h"
#include "tests/generators/workload_log.h"

namespace iotune::analyzer {
namespace {

using generators::Workload;

// Returns whether an error was noticed. A damaged count may make a loop endless: a reader stops
// where it has had enough.
bool read_some(const std::vector<std::byte>& log) {
  const auto reader = PatternLogReader::open(log);
  if (!reader) return false;
  std::vector<patterns::Extent> batch(64);
  bool whole = true;
  const std::size_t streams = std::min<std::size_t>(reader->streams().size(), 4);
  for (std::uint32_t stream = 0; stream < streams; ++stream) {
    PatternLogReader::Accesses accesses = reader->accesses(stream);
    for (int i = 0; i < 4 && accesses.read(batch) > 0; ++i) {
    }
    whole = whole && !accesses.failed();
  }
  return whole;
}

std::size_t damage_everywhere(const std::vector<std::byte>& log, unsigned step) {
  std::size_t noticed = 0;
  for (std::size_t at = 0; at < log.size(); ++at) {
    read_some({log.begin(), log.begin() + static_cast<std::ptrdiff_t>(at)});
    for (unsigned value = 0; value < 256; value += step) {
      std::vector<std::byte> damaged = log;
      damaged[at] = static_cast<std::byte>(value);
      noticed += read_some(damaged) ? 0 : 1;
    }
  }
  return noticed;
}

TEST(PatternLogDamage, of_a_table_over_ranks) {
  const auto log = encode_log(generators::btio({.ranks = 9, .extent = 11, .dumps = 3}));
  EXPECT_GT(damage_everywhere(log, 37), 0U);
}

TEST(PatternLogDamage, of_noise_and_names) {
  PatternLogWriter writer({.leaves_held = 60});
  const Workload noisy =
      generators::with_noise(generators::fs_test({.ranks = 3, .writes = 200}), 2.0, 1);
  for (const generators::Stream& stream : noisy.streams) {
    const auto number = writer.add_stream(stream.rank, "dump" + std::to_string(stream.rank));
    writer.add(number, stream.accesses);
    writer.end_stream(number);
  }
  EXPECT_GT(damage_everywhere(writer.finish(), 119), 0U);
}

TEST(PatternLogDamage, an_empty_file_is_no_log) {
  EXPECT_FALSE(PatternLogReader::open({}));
}

// Of 2^63 streams and more: twice as many numbers are few again (libFuzzer found it).
TEST(PatternLogDamage, a_count_whose_double_is_small) {
  std::vector<std::byte> log;
  for (const unsigned byte : {0xdb, 0xef, 0xd4, 0xef, 0xdb, 0xef}) {
    log.push_back(static_cast<std::byte>(byte));
  }
  EXPECT_FALSE(PatternLogReader::open(log));
}

}  // namespace
}  // namespace iotune::analyzer
