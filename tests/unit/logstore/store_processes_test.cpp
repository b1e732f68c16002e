// Several processes and one file: appends, forks, threads, and the last one that compacts.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include "store_fixture.h"

namespace iotune::logstore {
namespace {

using testing::StoreTest;
namespace fs = std::filesystem;

class StoreProcessesTest : public StoreTest {};

TEST_F(StoreProcessesTest, appends_of_several_processes_lie_behind_each_other) {
  constexpr int kProcesses = 4;
  constexpr int kAppends = 60;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork_safely();
    if (child == 0) {
      const auto file = open();
      const std::string line(static_cast<std::size_t>(5 + i), static_cast<char>('a' + i));
      for (int k = 0; k < kAppends; ++k) {
        std::int64_t at = -1;
        if (file->append(line.data(), line.size(), at) != std::int64_t(line.size())) _exit(1);
        if (text(*file, at, line.size()) != line) _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  std::int64_t wanted = 0;
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    ASSERT_EQ(waitpid(children[static_cast<std::size_t>(i)], &status, 0),
              children[static_cast<std::size_t>(i)]);
    EXPECT_EQ(status, 0);
    wanted += kAppends * (5 + i);
  }
  const std::string all = text(*open(), 0, 10'000);
  ASSERT_EQ(static_cast<std::int64_t>(all.size()), wanted);
  for (std::size_t at = 0; at < all.size();) {
    const auto length = static_cast<std::size_t>(5 + all[at] - 'a');
    ASSERT_EQ(all.substr(at, length), std::string(length, all[at]));
    at += length;
  }
}

TEST_F(StoreProcessesTest, parent_and_child_have_a_writer_each_after_a_fork) {
  const auto file = open();
  put(*file, 0, "parent");
  EXPECT_EQ(text(*file), "parent");
  EXPECT_EQ(in_child([&] {
              if (text(*file) != "parent") return 1;
              if (put(*file, 2, "CC") != 2 || text(*file) != "paCCnt") return 2;
              return file->flush();
            }),
            0);
  put(*file, 5, "T");
  EXPECT_EQ(text(*file), "parenT");
  file->refresh();
  EXPECT_EQ(text(*file), "paCCnT");
  EXPECT_EQ(files_ending(".log"), 2U);
}

TEST_F(StoreProcessesTest, the_last_of_many_who_end_compacts) {
  const auto merged = fs::path(path_) / "merged.index";
  auto keeps_open = open();
  put(*keeps_open, 0, "............");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([&] {
                const auto file = open();
                put(*file, i, std::string(1, static_cast<char>('a' + i)));
                LoggedFile::at_exit();  // with the file open
                // Whatever is written after that is in the file, too.
                return put(*file, 30 + i, "x") == 1 ? 0 : 1;
              }),
              0);
    EXPECT_FALSE(fs::exists(merged));  // somebody writes
  }
  EXPECT_EQ(in_child([&] {
              keeps_open.reset();
              LoggedFile::at_exit();  // the parent's writer is none of its own
              return fs::exists(merged) ? 1 : 0;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              const auto file = open();
              put(*file, 25, "!");
              LoggedFile::at_exit();
              return fs::exists(merged) ? 1 : 0;
            }),
            0);
  // As if it were another process from here on: it has no writer any more.
  LoggedFile::before_fork();
  LoggedFile::after_fork(true);
  EXPECT_EQ(in_child([&] {
              const auto file = open();
              put(*file, 26, "!");
              LoggedFile::at_exit();
              if (!fs::exists(merged) || files_ending(".index") > 1) return 1;
              put(*file, 0, "A");
              return 0;
            }),
            0);
  keeps_open->refresh();
  EXPECT_EQ(text(*keeps_open), "Abcdefghijklmnopqrst.....!!...xxxxxxxxxxxxxxxxxxxx");
  EXPECT_EQ(flushed_text(), text(*keeps_open));
}

TEST_F(StoreProcessesTest, what_the_parent_read_ahead_of_its_log_is_not_the_child_s) {
  const auto file = open();
  const auto write_and_read = [&](char fill) {
    put(*file, 0, std::string(1000, fill));
    for (std::int64_t at = 0; at < 1000; at += 10) {
      if (text(*file, at, 10) != std::string(10, fill)) return 1;
    }
    return 0;
  };
  EXPECT_EQ(write_and_read('p'), 0);
  EXPECT_EQ(in_child([&] { return write_and_read('c'); }), 0);
}

TEST_F(StoreProcessesTest, a_child_of_a_fork_never_sees_zeros_for_a_removed_file) {
  const auto file = open();
  put(*file, 0, "parent");
  ASSERT_EQ(remove_container(path_), 0);
  EXPECT_EQ(in_child([&] {
              if (text(*file) != "error " + std::to_string(ESTALE)) return 1;
              return put(*file, 0, "x") == 1 ? 0 : 2;
            }),
            0);
  EXPECT_EQ(text(*file), "parent");
}

TEST_F(StoreProcessesTest, threads_may_read_and_write_at_once) {
  const auto file = open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::array<char, 64> mine;
      mine.fill(static_cast<char>('a' + t));
      for (std::int64_t i = 0; i < 300; ++i) {
        const std::int64_t at = (i * 4 + t) * 64;
        file->write(at, mine.data(), mine.size());
        std::array<char, 64> back;
        const std::int64_t size = file->read(at, back.data(), back.size());
        EXPECT_EQ(size, 64);
        EXPECT_EQ(back, mine);
        if (i % 50 == 0) open();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(file->size(), 4 * 300 * 64);
}

// Two processes write to the same bytes in turns, as fast as they can tell each other: of each byte
// the second one's write must hold.
TEST_F(StoreProcessesTest, of_two_processes_that_take_turns_the_later_write_holds) {
  constexpr int kTurns = 20'000;
  auto* const turn = static_cast<std::atomic<int>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(turn), MAP_FAILED);
  std::mt19937 draw(42);
  std::vector<bool> parent_first;
  for (int i = 0; i < kTurns; ++i) parent_first.push_back(draw() % 2 == 0);
  // Of byte i, the first one writes at turn 2i, and the second one at 2i + 1.
  const auto write_all = [&](bool is_parent) {
    const auto file = open();
    for (int i = 0; i < kTurns; ++i) {
      const bool first = parent_first[std::size_t(i)] == is_parent;
      const int own = 2 * i + (first ? 0 : 1);
      for (int spins = 0; turn->load(std::memory_order_acquire) != own; ++spins) {
        if (spins % 200 == 199) sched_yield();
      }
      if (put(*file, i, first ? "1" : "2") != 1) return 1;
      turn->store(own + 1, std::memory_order_release);
    }
    return file->flush();
  };
  const pid_t child = fork_safely();
  if (child == 0) _exit(write_all(false));
  EXPECT_EQ(write_all(true), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  munmap(turn, 4096);
  LoggedFile::close_idle();
  const auto container = Container::open(path_);
  ASSERT_TRUE(container) << container.error().text();
  std::string all(kTurns, '?');
  const auto size = container->read(0, std::as_writable_bytes(std::span(all)));
  ASSERT_TRUE(size && *size == kTurns);
  EXPECT_EQ(all.find_first_not_of('2'), std::string::npos);
}

}  // namespace
}  // namespace iotune::logstore
