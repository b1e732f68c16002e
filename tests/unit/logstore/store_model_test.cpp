// Random calls of one and of several processes, with compactions between them, against a file in
// memory.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>

#include "logstore/compact/compaction.h"
#include "store_fixture.h"
#include "tests/unit/drawn_cases.h"

namespace iotune::logstore {
namespace {

using testing::StoreTest;
namespace fs = std::filesystem;

enum class Call {
  kWrite,
  kAppend,
  kTruncate,
  kPunch,
  kRead,
  kSize,
  kData,
  kHole,
  kReopen,  // drawn
  kClose,
  kCompact,
  kOpen,
  kEnd
};

struct Order {
  Call call;
  std::int64_t offset;
  std::int64_t length;
  char fill;
  bool flushes;
  char path[256];
};
struct Answer {
  std::int64_t result;
  std::int64_t place;
  std::array<char, 512> bytes;
};

// A process that has the file open and does what it is asked, one call at a time.
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
    const Order order{Call::kEnd, 0, 0, 0, false, {}};
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
        case Call::kClose:
          file.reset();
          break;
        case Call::kCompact: {
          CompactOptions how;
          how.least_live = order.flushes ? 2 : 0.5;  // of all logs one, or as at close
          answer.result = compact(order.path, how) ? 0 : -errno;
          break;
        }
        case Call::kOpen:
          file = open();
          break;
        case Call::kEnd:
          LoggedFile::at_exit();
          _exit(0);
      }
      if (order.flushes && file) file->flush();
      if (write(end, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) _exit(1);
      // For the next call: what others flush until then is seen.
      if (file) file->refresh();
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
      if (below(30) == 0) compact_by(workers, draw() % processes, below(2) == 0);
      order.call = static_cast<Call>(below(static_cast<int>(Call::kClose)));
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
  // While nobody writes: the writers of all stay, idle, and must not be written to any more.
  void compact_by(const std::vector<std::unique_ptr<Worker>>& workers, std::size_t which,
                  bool all) {
    Order order{Call::kClose, 0, 0, 0, false, {}};
    for (const auto& worker : workers) worker->call(order);
    order.call = Call::kCompact;
    order.flushes = all;
    ASSERT_LT(path_.size(), sizeof order.path);
    std::ranges::copy(path_, order.path);
    ASSERT_EQ(workers[which]->call(order).result, 0);
    order.call = Call::kOpen;
    order.flushes = false;
    for (const auto& worker : workers) worker->call(order);
  }
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
      default:
        break;
    }
  }
};

TEST_F(StoreModelTest, one_process_sees_a_plain_file) {
  for (std::uint64_t seed = 1; seed <= iotune::testing::drawn_cases(40); ++seed) {
    fs::remove_all(path_);
    ASSERT_EQ(LoggedFile::make(path_, 0644), 0);
    run(seed, 1, 300);
    if (HasFatalFailure()) return;
  }
}

TEST_F(StoreModelTest, three_processes_see_a_plain_file) {
  for (std::uint64_t seed = 1; seed <= iotune::testing::drawn_cases(15); ++seed) {
    fs::remove_all(path_);
    ASSERT_EQ(LoggedFile::make(path_, 0644), 0);
    run(seed, 3, 200);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace iotune::logstore
