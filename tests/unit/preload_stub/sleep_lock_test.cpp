#include "core/os/sleep_lock.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "prefetch/preload/uses_under_way.h"

namespace iotune {
namespace {

// 'S': it sleeps; 'R': it runs, or could.
char state_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name = text.rfind(')');
  return name == std::string::npos ? '?' : text[name + 2];
}

// Whether a thread that waits by `wait` sleeps, before `release` lets it go on.
template <typename Wait, typename Release>
bool sleeps(Wait wait, Release release) {
  std::atomic<pid_t> waiting{0};
  std::thread thread([&] {
    waiting = static_cast<pid_t>(syscall(SYS_gettid));
    wait();
  });
  while (waiting == 0) std::this_thread::yield();
  int seen = 0;  // a thread that spins is seen asleep now and then at most
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (seen < 5 && std::chrono::steady_clock::now() < end) {
    seen = state_of(waiting) == 'S' ? seen + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  release();
  thread.join();
  return seen == 5;
}

TEST(SleepLock, WhoWaitsSleeps) {
  SleepLock lock;
  lock.lock();
  EXPECT_TRUE(sleeps(
      [&] {
        lock.lock();
        lock.unlock();
      },
      [&] { lock.unlock(); }));
  lock.lock();  // it is free again
  lock.unlock();
}

TEST(SleepLock, LetsOneInAtATime) {
  SleepLock lock;
  int count = 0;
  constexpr int kThreads = 4, kTurns = 20000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        lock.lock();
        ++count;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTurns);
}

TEST(SleepLock, KnowsItsHolder) {
  SleepLock lock;
  EXPECT_FALSE(lock.is_held());
  lock.lock();
  EXPECT_TRUE(lock.is_held());
  std::thread([&] {
    EXPECT_FALSE(lock.is_held());
    release_by_jump(lock);
  }).join();
  EXPECT_TRUE(lock.is_held());
  release_by_jump(lock);
  EXPECT_FALSE(lock.is_held());
}

TEST(SleepLock, IsNotWaitedForBeyondALimit) {
  SleepLock lock;
  lock.lock();
  EXPECT_FALSE(lock.lock_within({0, 1'000'000}));
  lock.unlock();
  EXPECT_TRUE(lock.lock_within({0, 1'000'000}));
  lock.unlock();
}

SleepLock g_of_handler;
std::atomic<int> g_got{-1};

TEST(SleepLock, IsNotWaitedForInASignalHandler) {
  struct sigaction action {};
  action.sa_handler = [](int) { g_got = g_of_handler.lock_unless_in_handler() ? 1 : 0; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  g_of_handler.lock();
  raise(SIGUSR1);
  EXPECT_EQ(g_got, 0);
  g_of_handler.unlock();
  raise(SIGUSR1);
  EXPECT_EQ(g_got, 1);
  g_of_handler.unlock();
  signal(SIGUSR1, SIG_DFL);
}

TEST(UsesUnderWay, WhoWaitsForTheLastSleeps) {
  prefetch::UsesUnderWay uses;
  uses.begin();
  uses.begin();
  uses.end();
  EXPECT_TRUE(sleeps([&] { uses.wait_for_end(); }, [&] { uses.end(); }));
  uses.wait_for_end();
}

}  // namespace
}  // namespace iotune
