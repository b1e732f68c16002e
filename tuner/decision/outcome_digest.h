// What became of settings in a run, by kind of file, for the site's log of it (applied_log.h),
// and that log's line. Bounded: what has no place is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/os/short_text.h"
#include "tuner/decision/outcome_notes.h"

namespace iotune::tuner {

// Files that are alike: their base names differ in numbers alone, and one answer decided them.
struct DecidedKind {
  char name[64];  // the base name, each number in it as '#'
  char source[16];
  std::int64_t row;      // of the database, -1: none
  std::uint64_t files;   // that were decided so
  std::uint32_t latest;  // the greater, the later it was the answer for its name
};

struct CountedOutcome {
  char parameter[32], value[48];  // the value that was wanted; cut where it is longer
  char why[96];                   // empty where it was applied
  std::uint64_t count;            // files, or datasets
  std::uint32_t kind;             // index
  std::uint8_t verdict;           // Verdict
  std::uint8_t reason;            // Reason
};

// All zero is empty. Plain bytes without pointers: ranks of one build send them to each other.
class OutcomeDigest {
 public:
  static constexpr std::size_t kMostKinds = 8, kMostOutcomes = 32;

  void add_decision(const char* file, const Decision& decision) noexcept;
  void add_outcome(const char* file, const char* parameter, const char* wanted, Verdict verdict,
                   const Why& why) noexcept;
  // What another rank has. It comes as bytes over the network: nothing of it is trusted.
  void add(const OutcomeDigest& other) noexcept;
  void clear() noexcept { *this = {}; }

  bool is_empty() const noexcept { return kind_count_ == 0 && left_out_ == 0; }
  std::size_t kind_count() const noexcept { return kind_count_; }
  const DecidedKind& kind(std::size_t index) const noexcept { return kinds_[index]; }
  std::size_t outcome_count() const noexcept { return outcome_count_; }
  const CountedOutcome& outcome(std::size_t index) const noexcept { return outcomes_[index]; }
  std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  // nullptr where there is no place.
  DecidedKind* kind_of(const char* name, std::int64_t row, const char* source) noexcept;
  CountedOutcome* outcome_of(const CountedOutcome& like) noexcept;

  std::uint32_t kind_count_ = 0, outcome_count_ = 0, latest_ = 0;
  std::uint64_t left_out_ = 0;  // decisions and outcomes
  DecidedKind kinds_[kMostKinds] = {};
  CountedOutcome outcomes_[kMostOutcomes] = {};
};

// Below PIPE_BUF, and below what any file system takes in one piece.
using AppliedLine = ShortText<4000>;

struct RunFacts {
  const char* version;  // of iotune
  const char* run;      // its id
  const char* program;  // base name
  const char* script;   // base name; empty: none is known
  const char* node;
  std::uint64_t user, ranks, at_unix_seconds;
};

// One object and a newline, whole whatever there is to say: what does not fit is counted in it.
void write_applied_line(const OutcomeDigest& digest, const RunFacts& facts,
                        AppliedLine& to) noexcept;

}  // namespace iotune::tuner
