// Compaction that dies, or is refused a change, at each of its changes: the old container or the
// new one is there, and the next compaction cleans up.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <random>

#include "job_files.h"
#include "logstore/compact/compaction.h"
#include "tests/unit/drawn_cases.h"

namespace iotune::logstore {
namespace {

using testing::JobFiles;

// A container that was compacted once, and to which more was written.
void fill(JobFiles& job, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  job.session(draw, 40);
  CompactOptions options;
  options.keeps_indexes = seed % 3 == 0;
  ASSERT_TRUE(compact(job.path(), options));
  job.clock().now -= 1'000'000'000'000;
  job.session(draw, 40);
}

void expect_clean(const JobFiles& job) {
  const auto container = Container::open(job.path());
  ASSERT_TRUE(container);
  EXPECT_TRUE(container->compaction().spare_files.empty())
      << container->compaction().spare_files[0];
  std::size_t logs = 0;
  for (const std::string& name : job.names()) logs += name.ends_with(".log") ? 1 : 0;
  EXPECT_EQ(logs, container->reports().size());
  EXPECT_FALSE(job.names().contains("merged.index.new"));
}

CompactOptions all_anew() {
  CompactOptions options;
  options.least_live = 2;
  return options;
}

TEST(CompactionDeath, at_any_change_leaves_the_old_or_the_new) {
  for (std::uint64_t seed = 0; seed < iotune::testing::drawn_cases(6); ++seed) {
    bool died = true;
    for (int last = 0; died; ++last) {
      JobFiles job;
      fill(job, seed);
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        CompactOptions options = all_anew();
        options.before_change = [&, left = last](const char*) mutable {
          if (left-- == 0) kill(getpid(), SIGKILL);
          return 0;
        };
        _exit(compact(job.path(), options) ? 0 : 1);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      died = WIFSIGNALED(status);
      ASSERT_TRUE(died || WEXITSTATUS(status) == 0);
      job.expect_whole("after a death at change " + std::to_string(last));
      const auto again = compact(job.path(), all_anew());
      ASSERT_TRUE(again) << again.error().text();
      job.expect_whole("compacted after a death at change " + std::to_string(last));
      expect_clean(job);
      if (HasFailure()) FAIL() << "seed " << seed << ", change " << last;
      ASSERT_TRUE(died || last > 10);
    }
  }
}

TEST(CompactionDeath, a_change_that_fails_leaves_the_old_or_the_new) {
  for (const int why : {ENOSPC, EIO}) {
    bool failed = true;
    for (int last = 0; failed; ++last) {
      JobFiles job;
      fill(job, 7);
      failed = false;
      CompactOptions options = all_anew();
      options.before_change = [&, left = last](const char*) mutable {
        if (left-- != 0) return 0;
        failed = true;
        return why;
      };
      const auto report = compact(job.path(), options);
      EXPECT_EQ(static_cast<bool>(report), !failed) << last;
      if (!report) {
        EXPECT_NE(report.error().text().find(std::strerror(why)), std::string::npos)
            << report.error().text();
      }
      job.expect_whole("after change " + std::to_string(last) + " failed");
      const auto again = compact(job.path(), all_anew());
      ASSERT_TRUE(again) << again.error().text();
      job.expect_whole("compacted after change " + std::to_string(last) + " failed");
      expect_clean(job);
      if (HasFailure()) FAIL() << "change " << last;
    }
  }
}

// All pieces, read anew where a compaction came between.
std::string read_while_compacted(const JobFiles& job) {
  for (int tries = 0;; ++tries) {
    const auto container = Container::open(job.path());
    if (!container) return container.error().text();
    std::string all(2 * JobFiles::kSpan, '?');
    const auto size = container->read(0, std::as_writable_bytes(std::span(all)));
    if (size) return all.substr(0, *size);
    if (!container->is_replaced() || tries == 100) return size.error().text();
  }
}

TEST(CompactionDeath, kills_at_random_and_readers_meanwhile) {
  std::mt19937_64 draw(11);
  JobFiles job;
  for (int round = 0; round < 25; ++round) {
    job.session(draw, 10);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) {
        CompactOptions options = all_anew();
        options.least_live = 2;
        if (!compact(job.path(), options)) _exit(1);
        usleep(100);
      }
    }
    const auto until = static_cast<int>(draw() % 30);
    for (int i = 0; i < until; ++i) {
      const std::string now = read_while_compacted(job);
      EXPECT_TRUE(now == job.content()) << now;
    }
    usleep(static_cast<useconds_t>(draw() % 3000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it gave up by itself";
    job.expect_whole("after a kill");
    if (HasFailure()) FAIL() << "round " << round;
  }
  ASSERT_TRUE(compact(job.path(), all_anew()));
  job.expect_whole("at the end");
  expect_clean(job);
}

}  // namespace
}  // namespace iotune::logstore
