#include "prefetch/budget/storage_budget.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace iotune::prefetch {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDevice = 4711;
constexpr std::uint64_t kMs = 1'000'000;

// An entry belongs to the thread that joined: threads stand for processes here.
class StorageBudgetTest : public testing::Test {
 protected:
  StorageBudgetTest() {
    std::string pattern = "/dev/shm/iotune-budget-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~StorageBudgetTest() override { fs::remove_all(folder_); }

  // Joined by the calling thread, which has the storage's number 0 then.
  std::unique_ptr<StorageBudget> joined(unsigned nodes = 1) const {
    auto made = std::make_unique<StorageBudget>();
    if (!made->join(folder_.c_str(), nodes) || made->number_of(kDevice) != 0) return nullptr;
    return made;
  }
  static void learn(StorageBudget& budget, int batches, std::uint64_t duration_ns) {
    for (int i = 0; i < 8 * batches; ++i) budget.learn(0, 128 << 10, duration_ns);
  }

  std::string folder_;
  const std::atomic<bool> never_{false};
};

TEST_F(StorageBudgetTest, AllTogetherHaveNoMoreThanOneMay) {
  constexpr int kThreads = 4;
  std::atomic<unsigned> now{0}, most{0}, joined_count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto budget = joined();
      if (budget == nullptr) return;
      ++joined_count;
      while (joined_count < kThreads) std::this_thread::yield();
      for (int round = 0; round < 300; ++round) {
        unsigned had = 0;
        for (unsigned wanted = 0; wanted < 3 && budget->try_request(0); ++wanted) {
          ++had;
          const unsigned count = ++now;
          for (unsigned before = most;
               before < count && !most.compare_exchange_weak(before, count);) {
          }
        }
        if (round % 8 == 0) std::this_thread::yield();
        for (; had > 0; --had) {
          --now;
          budget->end_request(0);
        }
      }
      ++joined_count;
      while (joined_count < 2 * kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(joined_count, 2 * kThreads);
  EXPECT_GE(most, 3U);
  EXPECT_LE(most, kFirstRequests);
}

TEST_F(StorageBudgetTest, WhatProgramsWaitForTakesRoom) {
  const auto budget = joined();
  ASSERT_NE(budget, nullptr);
  for (unsigned i = 0; i < kFirstRequests; ++i) ASSERT_TRUE(budget->begin_transfer(0));
  EXPECT_FALSE(budget->try_request(0));
  budget->end_transfer(0);
  EXPECT_TRUE(budget->try_request(0));
}

TEST_F(StorageBudgetTest, WhatAKilledProcessHadComesBack) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto budget = joined();
    bool good = budget != nullptr;
    for (unsigned i = 0; i < kFirstRequests; ++i) good = good && budget->try_request(0);
    if (write(ready[1], &good, 1) != 1) _exit(1);
    for (;;) pause();
  }
  bool good = false;
  ASSERT_EQ(read(ready[0], &good, sizeof good), 1);
  ASSERT_TRUE(good);
  const auto budget = joined();
  ASSERT_NE(budget, nullptr);
  EXPECT_FALSE(budget->try_request(0));
  kill(child, SIGKILL);
  EXPECT_TRUE(budget->wait_for_request(0, never_));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(StorageBudgetTest, WhoGivesUpWaitsNoMore) {
  const auto budget = joined();
  ASSERT_NE(budget, nullptr);
  while (budget->try_request(0)) {
  }
  const std::atomic<bool> given_up{true};
  EXPECT_FALSE(budget->wait_for_request(0, given_up));
}

TEST_F(StorageBudgetTest, FollowsWhatTheStorageCanTake) {
  const auto budget = joined();
  ASSERT_NE(budget, nullptr);
  EXPECT_EQ(budget->budget(0), kFirstRequests);
  learn(*budget, 20, 2 * kMs);
  EXPECT_EQ(budget->budget(0), kMostRequests);
  learn(*budget, 20, 5 * kMs);  // they queue
  EXPECT_EQ(budget->budget(0), kLeastRequests);
  learn(*budget, 3, 2 * kMs);
  EXPECT_EQ(budget->budget(0), kLeastRequests + 3);
  learn(*budget, 20, kMs / 100);  // out of memory
  EXPECT_EQ(budget->budget(0), kLeastRequests + 3);
}

// On a busy node a thread may get its processor late: that says nothing about the storage.
TEST_F(StorageBudgetTest, AFewSlowRequestsAreNotTheStorages) {
  const auto budget = joined();
  ASSERT_NE(budget, nullptr);
  learn(*budget, 20, 2 * kMs);
  for (int i = 0; i < 160; ++i) budget->learn(0, 128 << 10, (i % 3 == 0 ? 20 : 2) * kMs);
  EXPECT_EQ(budget->budget(0), kMostRequests);
}

TEST_F(StorageBudgetTest, AJobOnSeveralNodesHasAShareOnEach) {
  const auto budget = joined(4);
  ASSERT_NE(budget, nullptr);
  learn(*budget, 20, 2 * kMs);
  EXPECT_EQ(budget->budget(0), kMostRequests / 4);
}

TEST_F(StorageBudgetTest, WhatNobodyUsesAnyMoreIsForgotten) {
  std::thread([this] {
    const auto budget = joined();
    ASSERT_NE(budget, nullptr);
    learn(*budget, 20, 2 * kMs);
    EXPECT_EQ(budget->budget(0), kMostRequests);
  }).join();
  const auto budget = joined();
  ASSERT_NE(budget, nullptr);
  EXPECT_EQ(budget->budget(0), kFirstRequests);
}

TEST_F(StorageBudgetTest, ATableThatOthersMayReadIsNotTaken) {
  ASSERT_NE(joined(), nullptr);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    ASSERT_EQ(chmod(entry.path().c_str(), 0644), 0);
  }
  EXPECT_EQ(joined(), nullptr);
  StorageBudget homeless;
  EXPECT_FALSE(homeless.join(nullptr, 1));
}

}  // namespace
}  // namespace iotune::prefetch
