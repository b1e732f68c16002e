// Streams that differ in nothing but where they begin, as one: what `iotune analyze` prints of a
// run of many ranks. analyzer/streams/README.md has the JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/pattern_log/find_terms.h"
#include "analyzer/streams/analyze_part.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

// first, first + step, … up to last.
struct RankRun {
  std::int64_t first, last, step;
};

// Collects the streams of a group: who they are, and where they begin, as loops.
class Members {
 public:
  void add(std::int64_t rank, std::int64_t start);
  std::uint64_t count() const noexcept { return count_; }
  const std::vector<RankRun>& ranks() const noexcept { return ranks_; }
  // Behind those in ranks().
  std::uint64_t more_ranks() const noexcept { return more_; }
  std::int64_t first_start() const noexcept { return first_start_; }
  // The starts in the order of the streams, in the notation of term_text.h without lengths.
  std::string starts_text();

 private:
  static constexpr std::size_t kMostRuns = 64;
  std::uint64_t count_ = 0, more_ = 0;
  std::int64_t first_start_ = 0;
  std::vector<RankRun> ranks_;
  pattern_log::TermFinder finder_;
  pattern_log::Shapes shapes_;
  pattern_log::TermList list_;
};

struct StreamGroup {
  std::string name;  // of the streams: analyze_part.h
  Members members;
  std::uint64_t accesses = 0, bytes = 0, right = 0;  // of all
  std::uint64_t terms = 0;                           // of one stream, outermost
  std::vector<std::string> nests;                    // of the first stream, a channel each
  std::vector<patterns::Prediction> next;            // of the first stream
};

// The groups of one name, those with the most accesses first; what is not among the first `kept`
// is in the sums.
struct NamedStreams {
  std::string name;
  std::uint64_t streams = 0, accesses = 0, bytes = 0, right = 0, groups = 0;
  std::vector<StreamGroup> shown;
};

struct GroupOptions {
  unsigned ahead = 0;  // as the records were written
  std::size_t kept = 64;
  std::size_t shown_terms = 8;
};

// Reads a log, section by section, and the records that belong to it, one file after the other. In
// memory for one section and some 100 bytes a stream. By name, in the order of first use.
recorder::Result<std::vector<NamedStreams>> group_streams(const std::string& log,
                                                          const std::vector<std::string>& records,
                                                          const GroupOptions& options);

}  // namespace iotune::analyzer
