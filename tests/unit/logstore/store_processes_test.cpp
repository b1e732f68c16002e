// Several processes and one file: appends, forks, and random calls against a file in memory.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
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

enum class Call { kWrite, kAppend, kTruncate, kPunch, kRead, kSize, kData, kHole, kReopen, kEnd };

struct Order {
  Call call;
  std::int64_t offset;
  std::int64_t length;
  char fill;
  bool flushes;
};
struct Answer {
  std::int64_t result;
  std::int64_t place;
  std::array<char, 512> bytes;
};

// A process that has the file open and does what it is told, one call at a time.
class Worker {
 public:
  template <class Open>
  Worker(Open open, pid_t (*forks)()) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    child_ = forks();
    if (child_ == 0) {
      close(ends[0]);
      serve(ends[1], open);
    }
    close(ends[1]);
    end_ = ends[0];
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Closing would not do: workers that were made later have this end open, too.
  ~Worker() {
    const Order order{Call::kEnd, 0, 0, 0, false};
    EXPECT_EQ(write(end_, &order, sizeof order), static_cast<ssize_t>(sizeof order));
    close(end_);
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, 0);
  }

  Answer call(const Order& order) const {
    Answer answer{};
    EXPECT_EQ(write(end_, &order, sizeof order), static_cast<ssize_t>(sizeof order));
    EXPECT_EQ(recv(end_, &answer, sizeof answer, MSG_WAITALL), static_cast<ssize_t>(sizeof answer));
    return answer;
  }

 private:
  template <class Open>
  [[noreturn]] static void serve(int end, Open open) {
    auto file = open();
    Order order{};
    while (recv(end, &order, sizeof order, MSG_WAITALL) == static_cast<ssize_t>(sizeof order)) {
      Answer answer{};
      const std::string bytes(static_cast<std::size_t>(order.length), order.fill);
      switch (order.call) {
        case Call::kWrite:
          answer.result = file->write(order.offset, bytes.data(), bytes.size());
          break;
        case Call::kAppend:
          answer.result = file->append(bytes.data(), bytes.size(), answer.place);
          break;
        case Call::kTruncate:
          answer.result = file->truncate(order.offset);
          break;
        case Call::kPunch:
          answer.result = file->punch(order.offset, order.length);
          break;
        case Call::kRead:
          answer.result = file->read(order.offset, answer.bytes.data(), bytes.size());
          break;
        case Call::kSize:
          answer.result = file->size();
          break;
        case Call::kData:
          answer.result = file->next_data(order.offset);
          break;
        case Call::kHole:
          answer.result = file->next_hole(order.offset);
          break;
        case Call::kReopen:
          file.reset();
          if (order.flushes) LoggedFile::close_idle();
          file = open();
          break;
        case Call::kEnd:
          LoggedFile::at_exit();
          _exit(0);
      }
      if (order.flushes) file->flush();
      if (write(end, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) _exit(1);
      // For the next call: what others flush until then is seen.
      file->refresh();
    }
    _exit(0);
  }

  pid_t child_ = 0;
  int end_ = -1;
};

// The file as a program knows it: bytes, and which of them were written.
class Model {
 public:
  static constexpr std::int64_t kSpan = 500;

  std::int64_t size() const { return size_; }
  void write(std::int64_t offset, std::int64_t length, char fill) {
    for (std::int64_t i = offset; i < offset + length; ++i) at(i) = fill;
    size_ = std::max(size_, offset + length);
  }
  void clear(std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = offset; i < std::min(offset + length, kMost); ++i) at(i) = '\0';
  }
  void truncate(std::int64_t size) {
    clear(size, kMost);
    size_ = size;
  }
  std::string read(std::int64_t offset, std::int64_t length) const {
    if (offset >= size_) return "";
    return {bytes_.data() + offset, static_cast<std::size_t>(std::min(length, size_ - offset))};
  }
  std::int64_t next(std::int64_t offset, bool data) const {
    if (offset >= size_) return -ENXIO;
    while (offset < size_ && (bytes_[static_cast<std::size_t>(offset)] != '\0') != data) ++offset;
    return offset == size_ && data ? -ENXIO : offset;
  }

 private:
  static constexpr std::int64_t kMost = 1 << 16;
  char& at(std::int64_t offset) { return bytes_[static_cast<std::size_t>(offset)]; }
  std::vector<char> bytes_ = std::vector<char>(kMost, '\0');
  std::int64_t size_ = 0;
};

class StoreModelTest : public StoreTest {
 protected:
  // `processes`: each call is of one of them, which flushes; alone it flushes when it likes.
  void run(std::uint64_t seed, std::size_t processes, int steps) {
    std::mt19937_64 draw(seed);
    const auto below = [&](std::int64_t most) {
      return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most));
    };
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::size_t i = 0; i < processes; ++i) {
      workers.push_back(std::make_unique<Worker>([this] { return open(); }, &fork_safely));
    }
    Model model;
    for (int step = 0; step < steps; ++step) {
      Order order{};
      order.call = static_cast<Call>(below(static_cast<int>(Call::kEnd)));
      if (below(3) == 0) order.call = Call::kWrite;
      order.offset = below(Model::kSpan);
      order.length = 1 + below(below(4) == 0 ? 400 : 30);
      order.fill = static_cast<char>('a' + below(26));
      order.flushes = processes > 1 || below(6) == 0;
      if (order.call == Call::kTruncate && below(3) == 0) order.offset = 0;
      const Answer answer = workers[draw() % processes]->call(order);
      check(order, answer, model);
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
    workers.clear();
    EXPECT_EQ(text(*open(), 0, 100'000), dots(model.read(0, 100'000))) << "seed " << seed;
  }

 private:
  static std::string dots(std::string bytes) {
    std::ranges::replace(bytes, '\0', '.');
    return bytes;
  }
  static void check(const Order& order, const Answer& answer, Model& model) {
    switch (order.call) {
      case Call::kWrite:
        ASSERT_EQ(answer.result, order.length);
        model.write(order.offset, order.length, order.fill);
        break;
      case Call::kAppend:
        ASSERT_EQ(answer.result, order.length);
        ASSERT_EQ(answer.place, model.size());
        model.write(model.size(), order.length, order.fill);
        break;
      case Call::kTruncate:
        ASSERT_EQ(answer.result, 0);
        model.truncate(order.offset);
        break;
      case Call::kPunch:
        ASSERT_EQ(answer.result, 0);
        model.clear(order.offset, order.length);
        break;
      case Call::kRead: {
        const std::string wanted = model.read(order.offset, order.length);
        ASSERT_EQ(answer.result, static_cast<std::int64_t>(wanted.size()));
        ASSERT_EQ(dots({answer.bytes.data(), wanted.size()}), dots(wanted));
        break;
      }
      case Call::kSize:
        ASSERT_EQ(answer.result, model.size());
        break;
      case Call::kData:
        ASSERT_EQ(answer.result, model.next(order.offset, true));
        break;
      case Call::kHole:
        ASSERT_EQ(answer.result, model.next(order.offset, false));
        break;
      case Call::kReopen:
      case Call::kEnd:
        break;
    }
  }
};

TEST_F(StoreModelTest, one_process_sees_a_plain_file) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    fs::remove_all(path_);
    ASSERT_EQ(LoggedFile::make(path_, 0644), 0);
    run(seed, 1, 300);
    if (HasFatalFailure()) return;
  }
}

TEST_F(StoreModelTest, three_processes_see_a_plain_file) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    fs::remove_all(path_);
    ASSERT_EQ(LoggedFile::make(path_, 0644), 0);
    run(seed, 3, 200);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace iotune::logstore
