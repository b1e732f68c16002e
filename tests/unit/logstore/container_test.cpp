// Containers on a file system: made, read back, and refused where they are of somebody who means
// harm.
#include "logstore/read/container.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "fake_files.h"
#include "logstore/read/make_container.h"

namespace iotune::logstore {
namespace {

namespace fs = std::filesystem;
using testing::FakeClock;
using testing::FakeWriter;
using testing::kId;

class ContainerTest : public ::testing::Test {
 protected:
  ContainerTest() {
    std::string made = (fs::temp_directory_path() / "container.XXXXXX").string();
    root_ = mkdtemp(made.data());
    path_ = root_ / "file.h5";
    const auto wrong = make_container(path_, {kId, 1000});
    EXPECT_FALSE(wrong) << wrong->text();
  }
  ~ContainerTest() override { fs::remove_all(root_); }

  void put(const std::string& name, std::span<const std::byte> bytes) {
    std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void put(const FakeWriter& writer) {
    put(writer.name + ".log", writer.log.bytes);
    put(writer.name + ".index", writer.index.bytes);
  }
  // A writer with one write, closed and put.
  void write(const std::string& name, std::int64_t offset, const std::string& text) {
    FakeWriter writer(name, clock_);
    ASSERT_EQ(writer.writer.append(offset, text.data(), text.size()),
              static_cast<std::int64_t>(text.size()));
    ASSERT_EQ(writer.writer.sync(), 0);
    put(writer);
  }
  std::string error() const {
    const auto container = Container::open(path_);
    return container ? "" : container.error().text();
  }
  std::string text() const {
    const auto container = Container::open(path_);
    if (!container) return container.error().text();
    std::string all(100, '?');
    const auto size = container->read(0, std::as_writable_bytes(std::span(all)));
    if (!size) return size.error().text();
    all.resize(*size);
    for (char& c : all) c = c == '\0' ? '.' : c;
    return all;
  }

  fs::path root_, path_;
  FakeClock clock_;
};

TEST_F(ContainerTest, is_a_directory_that_says_what_it_is) {
  EXPECT_TRUE(Container::is_at(path_));
  EXPECT_FALSE(Container::is_at(root_));
  EXPECT_FALSE(Container::is_at(path_ / "README"));
  std::ifstream readme(path_ / "README");
  const std::string said((std::istreambuf_iterator<char>(readme)), {});
  EXPECT_NE(said.find("iotune log flatten"), std::string::npos);
  EXPECT_EQ(text(), "");
  EXPECT_EQ(Container::open(path_)->description().made_ns, 1000);
}

TEST_F(ContainerTest, is_not_made_where_something_is) {
  EXPECT_TRUE(make_container(path_, {kId, 1}));
  EXPECT_TRUE(make_container(root_ / "no" / "file", {kId, 1}));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);  // nothing is left behind
}

TEST_F(ContainerTest, reads_what_writers_left) {
  write("node1.10.0", 0, "hello");
  write("node2.11.0", 7, "world");
  write("node1.12.0", 3, "LO");
  EXPECT_EQ(text(), "helLO..world");
  const auto container = Container::open(path_);
  std::string some(4, '?');
  EXPECT_EQ(*container->read(4, std::as_writable_bytes(std::span(some))), 4U);
  EXPECT_EQ(some, std::string("O\0\0w", 4));
  EXPECT_EQ(*container->read(12, std::as_writable_bytes(std::span(some))), 0U);
}

TEST_F(ContainerTest, a_missing_index_and_a_missing_log_are_reported) {
  write("a", 0, "aaaa");
  write("b", 2, "bbbb");
  write("c", 5, "cccc");
  fs::remove(path_ / "a.index");
  fs::remove(path_ / "b.log");
  const auto container = Container::open(path_);
  ASSERT_TRUE(container);
  EXPECT_FALSE(container->reports()[0].is_whole());
  EXPECT_EQ(container->reports()[0].unplaced_bytes, 4);
  EXPECT_EQ(container->reports()[1].missing_bytes, 4);
  EXPECT_TRUE(container->reports()[2].is_whole());
  EXPECT_NE(text().find("b.log: has lost bytes that were synced"), std::string::npos);
}

TEST_F(ContainerTest, other_names_are_left_alone) {
  write("a", 0, "aaaa");
  for (const char* name : {"merged.idx", ".hidden.log", "-x.index", "core.1234", "a.log.bak"}) {
    put(name, {});
  }
  EXPECT_EQ(text(), "aaaa");
  EXPECT_EQ(Container::open(path_)->strangers().size(), 5U);
}

TEST_F(ContainerTest, links_and_what_is_no_file_are_refused) {
  write("a", 0, "aaaa");
  fs::rename(path_ / "a.log", root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", path_ / "a.log");
  EXPECT_NE(error().find("a.log: is a link"), std::string::npos) << error();
  fs::remove(path_ / "a.log");
  fs::create_directory(path_ / "a.log");
  EXPECT_NE(error().find("is no regular file"), std::string::npos) << error();
  fs::remove(path_ / "a.log");
  ASSERT_EQ(mkfifo((path_ / "a.log").c_str(), 0600), 0);
  EXPECT_NE(error().find("is no regular file"), std::string::npos) << error();
  fs::remove(path_ / "container");
  EXPECT_NE(error().find("is no container"), std::string::npos) << error();
  fs::create_symlink("/dev/zero", path_ / "container");
  EXPECT_NE(error().find("is a link"), std::string::npos) << error();
}

TEST_F(ContainerTest, a_log_that_becomes_a_link_later_is_not_followed) {
  write("a", 0, "aaaa");
  const auto container = Container::open(path_);
  ASSERT_TRUE(container);
  fs::remove(path_ / "a.log");
  fs::create_symlink("/etc/passwd", path_ / "a.log");
  std::string some(4, '?');
  const auto size = container->read(0, std::as_writable_bytes(std::span(some)));
  ASSERT_FALSE(size);
  EXPECT_NE(size.error().text().find("is a link"), std::string::npos);
}

TEST_F(ContainerTest, newer_and_foreign_ones_are_refused) {
  FakeWriter writer("a", clock_);
  writer.writer.append(0, "aaaa", 4);
  writer.writer.sync();
  writer.index.bytes[16] = std::byte{2};
  put(writer);
  EXPECT_NE(error().find("a.index: is of version 2"), std::string::npos) << error();
  write("a", 0, "aaaa");
  fs::remove(path_ / "container");
  std::array<std::byte, kHeadBytes> head{};
  write_description({kId + 1, 1}, head);
  put("container", head);
  EXPECT_NE(error().find("a.index: is of another container"), std::string::npos) << error();
  head[16] = std::byte{7};
  put("container", head);
  EXPECT_NE(error().find("of version 7"), std::string::npos) << error();
  put("container", std::span(head).first(63));
  EXPECT_NE(error().find("is no container"), std::string::npos) << error();
}

TEST_F(ContainerTest, sizes_beyond_the_limits_are_refused) {
  write("a", 0, "aaaa");
  fs::resize_file(path_ / "a.index", std::uintmax_t{1} << 40);  // sparse
  EXPECT_NE(error().find("larger than the limit"), std::string::npos) << error();
  write("a", 0, "aaaa");
  fs::resize_file(path_ / "a.log", std::uintmax_t{1} << 40);
  EXPECT_EQ(text(), "aaaa");
  EXPECT_EQ(Container::open(path_)->reports()[0].unplaced_bytes, (std::int64_t{1} << 40) - 4);
  ReadLimits limits;
  limits.writers = 1;
  write("b", 0, "bbbb");
  EXPECT_FALSE(Container::open(path_, limits));
}

TEST_F(ContainerTest, what_is_synced_meanwhile_is_seen_by_who_reads_again) {
  FakeWriter writer("a", clock_);
  put(writer);
  EXPECT_EQ(text(), "");
  writer.writer.append(0, "one", 3);
  writer.writer.sync();
  writer.writer.append(3, "two", 3);
  put(writer);
  EXPECT_EQ(text(), "one");
  writer.writer.sync();
  put(writer);
  EXPECT_EQ(text(), "onetwo");
}

// A real file, for a process that is killed.
LogFile file_of(int& fd) {
  return {
      &fd,
      [](void* self, const void* from, std::size_t size, std::int64_t offset) noexcept {
        const ssize_t some = pwrite(*static_cast<int*>(self), from, size, offset);
        return some < 0 ? std::int64_t{-errno} : std::int64_t{some};
      },
      [](void* self) noexcept { return fdatasync(*static_cast<int*>(self)) != 0 ? -errno : 0; }};
}

// Writes 8 bytes at a time, says on the pipe how many are synced, and goes on until it dies.
[[noreturn]] void write_until_killed(const fs::path& path, int reported) {
  int log = open((path / "w.log").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  int index = open((path / "w.index").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  FakeClock clock;
  std::vector<std::uint64_t> arena(LogWriter::arena_bytes() / 8 + 1);
  LogWriter writer(file_of(log), file_of(index), clock.clock(),
                   std::as_writable_bytes(std::span(arena)));
  writer.begin(kId);
  for (std::int64_t i = 0;; ++i) {
    writer.append(i % 3 == 0 ? i * 8 : (i * 7919 % 100000) * 8, &i, sizeof i);
    if (i % 200 != 199 || writer.sync() != 0) continue;
    if (write(reported, &i, sizeof i) != sizeof i) _exit(1);
  }
}

TEST_F(ContainerTest, a_killed_process_loses_nothing_that_it_synced) {
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(path_, ends[1]);
    close(ends[1]);
    std::int64_t synced = -1;
    for (int k = 0; k <= 2 * round; ++k) {
      ASSERT_EQ(read(ends[0], &synced, sizeof synced), static_cast<ssize_t>(sizeof synced));
    }
    usleep(static_cast<useconds_t>(500 * round));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    for (std::int64_t more; read(ends[0], &more, sizeof more) == sizeof more;) synced = more;
    close(ends[0]);
    const auto container = Container::open(path_);
    ASSERT_TRUE(container) << container.error().text();
    std::vector<std::int64_t> last(200000, -1);
    for (std::int64_t i = 0; i <= synced; ++i) {
      last[static_cast<std::size_t>(i % 3 == 0 ? i : i * 7919 % 100000)] = i;
    }
    for (std::size_t at = 0; at < last.size(); ++at) {
      if (last[at] < 0) continue;
      std::int64_t value = -1;
      const auto size = container->read(static_cast<std::int64_t>(at) * 8,
                                        std::as_writable_bytes(std::span(&value, 1)));
      ASSERT_TRUE(size);
      ASSERT_GE(value, last[at]) << "of " << synced;  // or a later write of the same place
    }
    fs::remove(path_ / "w.log");
    fs::remove(path_ / "w.index");
  }
}

}  // namespace
}  // namespace iotune::logstore
