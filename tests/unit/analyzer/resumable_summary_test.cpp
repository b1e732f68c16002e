// A summary that is made in steps, each resumed from a saved state, equals the one made at once.
#include <gtest/gtest.h>

#include <random>

#include "analyzer/summary/summarize.h"
#include "tests/unit/recorder_read/irregular_trace.h"

namespace iotune::analyzer {
namespace {

namespace made = recorder::made;
using made::irregular_trace;
using made::kBatches;
using made::kCallsABatch;

const StopWhen kAtOnce = [] { return true; };

// One step at a time, each from the state that the step before saved.
std::string in_steps(const std::string& path, std::uint64_t calls_at_once, int& steps) {
  std::string state;
  for (steps = 1;; ++steps) {
    Result<ResumableSummary> summary = ResumableSummary::open(path, calls_at_once);
    if (!summary || (steps > 1 && !summary->restore(state)) || steps > 100000) return "broken";
    if (summary->go_on(kAtOnce)) return to_json(summary->finish());
    state = summary->state();
  }
}

TEST(ResumableSummary, StepsOfManyProgramsAreOneSummary) {
  const made::Folder folder;
  const std::string path = folder.file("t.iotrace", irregular_trace());
  const Result<RunSummary> whole = summarize(path);
  ASSERT_TRUE(whole) << whole.error().text();
  ASSERT_EQ(whole->files.size(), 3U);
  int steps = 0;
  EXPECT_EQ(in_steps(path, 0, steps), to_json(*whole));
  EXPECT_GE(steps,
            3 * kBatches * kCallsABatch / 512);  // the calls were divided, not the ranks alone
}

TEST(ResumableSummary, KeptTracesInSteps) {
  for (const char* name : {"four-ranks-hdf5", "merged-ranks", "serial-posix"}) {
    for (const std::uint64_t calls_at_once : {0U, 4096U}) {
      const std::string path = std::string(IOTUNE_TEST_DATA) + "/v3/" + name + ".iotrace";
      const Result<RunSummary> whole = summarize(path);
      ASSERT_TRUE(whole);
      int steps = 0;
      EXPECT_EQ(in_steps(path, calls_at_once, steps), to_json(*whole)) << name;
    }
  }
}

// From a state that was cut or changed, or is of another trace, the summary begins anew.
TEST(ResumableSummary, DamagedStateBeginsAnew) {
  const made::Folder folder;
  const std::string path = folder.file("t.iotrace", irregular_trace());
  const std::string whole = to_json(*summarize(path));
  Result<ResumableSummary> begun = ResumableSummary::open(path, 0);
  ASSERT_TRUE(begun);
  begun->go_on(kAtOnce);
  const std::string state = begun->state();
  std::mt19937_64 draw(3);
  int refused = 0;
  Result<ResumableSummary> again = ResumableSummary::open(path, 0);
  for (int i = 0; i < 60; ++i) {
    if (!again->restore(state.substr(0, draw() % state.size()))) ++refused;
  }
  EXPECT_EQ(refused, 60);
  EXPECT_TRUE(again->go_on([] { return false; }));
  EXPECT_EQ(to_json(again->finish()), whole);
  Result<ResumableSummary> other =
      ResumableSummary::open(std::string(IOTUNE_TEST_DATA) + "/v3/serial-posix.iotrace");
  EXPECT_FALSE(other->restore(state));
}

}  // namespace
}  // namespace iotune::analyzer
