// The writer on files that are full, slow, interrupted or fail: what it said is so.
#include "logstore/write/log_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_files.h"
#include "logstore/read/log_map.h"

namespace iotune::logstore {
namespace {

using testing::FakeClock;
using testing::FakeFile;
using testing::FakeWriter;
using testing::kId;

LogMap merged(const std::vector<FakeWriter*>& writers, std::vector<WriterReport>* out = nullptr) {
  std::vector<WriterBytes> bytes;
  for (const FakeWriter* one : writers) {
    bytes.push_back(
        {one->name, one->index.bytes, static_cast<std::int64_t>(one->log.bytes.size())});
  }
  std::vector<WriterReport> reports;
  auto map = LogMap::merge(kId, std::move(bytes), reports);
  EXPECT_TRUE(map) << map.error().text();
  if (out != nullptr) *out = reports;
  return std::move(*map);
}

// The file as text; holes are dots, missing bytes question marks.
std::string text(const LogMap& map, const std::vector<FakeWriter*>& writers) {
  std::string all;
  map.for_each_piece(0, map.size(), [&](const LogPiece& piece) {
    for (std::int64_t i = 0; i < piece.length; ++i) {
      if (piece.kind == LogPiece::Kind::kHole) {
        all += '.';
      } else if (piece.kind == LogPiece::Kind::kMissing) {
        all += '?';
      } else {
        all += static_cast<char>(
            writers[piece.writer]->log.bytes[static_cast<std::size_t>(piece.physical + i)]);
      }
    }
  });
  return all;
}
std::string text(const std::vector<FakeWriter*>& writers) {
  return text(merged(writers), writers);
}

std::int64_t put(FakeWriter& to, std::int64_t offset, const std::string& what) {
  return to.writer.append(offset, what.data(), what.size());
}

TEST(LogWriter, what_was_written_is_found) {
  FakeClock clock;
  FakeWriter a("a", clock), b("b", clock);
  EXPECT_EQ(put(a, 0, "hello"), 5);
  EXPECT_EQ(put(b, 7, "world"), 5);
  EXPECT_EQ(put(a, 3, "LO"), 2);
  EXPECT_EQ(put(b, 0, ""), 0);
  EXPECT_EQ(text({&a, &b}), "");  // not yet in the index
  EXPECT_EQ(a.writer.flush(), 0);
  EXPECT_EQ(b.writer.close(), 0);
  EXPECT_EQ(text({&a, &b}), "helLO..world");
}

TEST(LogWriter, the_later_write_holds_no_matter_who_made_it) {
  FakeClock clock;
  FakeWriter a("a", clock), b("b", clock);
  put(b, 0, "bbbbbb");
  put(a, 2, "aa");
  put(b, 3, "B");
  a.writer.flush();
  b.writer.flush();
  EXPECT_EQ(text({&a, &b}), "bbaBbb");
}

TEST(LogWriter, at_the_same_time_the_larger_name_holds) {
  FakeClock clock;
  clock.step = [] { return std::int64_t{0}; };
  FakeWriter a("a", clock), b("b", clock);
  put(b, 0, "bbbb");
  put(a, 0, "aa");
  a.writer.flush();
  b.writer.flush();
  EXPECT_EQ(text({&a, &b}), "bbbb");
}

TEST(LogWriter, truncation_and_holes_are_entries_like_others) {
  FakeClock clock;
  FakeWriter a("a", clock), b("b", clock);
  put(a, 0, "0123456789");
  EXPECT_EQ(b.writer.truncate(4), 0);
  EXPECT_EQ(a.writer.flush(), 0);
  EXPECT_EQ(b.writer.flush(), 0);
  EXPECT_EQ(text({&a, &b}), "0123");
  put(a, 6, "xy");
  EXPECT_EQ(a.writer.punch(1, 2), 0);
  a.writer.flush();
  EXPECT_EQ(text({&a, &b}), "0..3..xy");
  EXPECT_EQ(b.writer.truncate(10), 0);
  b.writer.flush();
  EXPECT_EQ(text({&a, &b}), "0..3..xy..");
  EXPECT_EQ(a.writer.punch(0, 0), -EINVAL);
  EXPECT_EQ(a.writer.truncate(-1), -EINVAL);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(a.writer.truncate(i), 0);
  a.writer.flush();
  EXPECT_EQ(text({&a, &b}), std::string(49, '.'));
}

TEST(LogWriter, a_file_made_anew_needs_no_times) {
  FakeClock clock;
  FakeWriter a("a", clock), b("b", clock);
  b.writer.truncate(0);
  for (int i = 0; i < 100; ++i) put(i % 2 == 0 ? a : b, i * 4, "abcd");
  a.writer.flush();
  b.writer.flush();
  EXPECT_FALSE(merged({&a, &b}).index().contested());
}

TEST(LogWriter, short_writes_go_on) {
  FakeClock clock;
  FakeWriter a("a", clock);
  a.log.most = 3;
  a.index.most = 1;
  EXPECT_EQ(put(a, 0, "0123456789"), 10);
  a.index.interruptions = 3;
  EXPECT_EQ(a.writer.flush(), 0);
  EXPECT_EQ(text({&a}), "0123456789");
}

TEST(LogWriter, an_interrupted_write_is_reported_and_nothing_was_written) {
  FakeClock clock;
  FakeWriter a("a", clock);
  a.log.interruptions = 1;
  EXPECT_EQ(put(a, 0, "0123"), -EINTR);
  EXPECT_EQ(put(a, 4, "4567"), 4);
  a.writer.flush();
  EXPECT_EQ(text({&a}), "....4567");
}

TEST(LogWriter, on_a_full_disk_what_was_written_is_reported) {
  FakeClock clock;
  FakeWriter a("a", clock);
  a.log.room = 6;
  EXPECT_EQ(put(a, 0, "0123"), 4);
  EXPECT_EQ(put(a, 4, "4567"), 2);
  EXPECT_EQ(put(a, 6, "67"), -ENOSPC);
  a.log.room = 100;
  EXPECT_EQ(put(a, 6, "ab"), 2);
  a.writer.flush();
  EXPECT_EQ(text({&a}), "012345ab");
}

TEST(LogWriter, an_index_that_is_full_loses_nothing_and_takes_no_more) {
  FakeClock clock;
  FakeWriter a("a", clock, {.terms = 16, .knots = 8});
  a.index.room = a.index.bytes.size() + 20;
  std::string model(4000, '.');
  std::uint64_t seed = 1;
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto offset = static_cast<std::int64_t>(seed >> 33U) % 3999;
    const std::string letter(1, static_cast<char>('a' + i % 26));
    if (i == 300) a.index.room = SIZE_MAX;
    const std::int64_t done = put(a, offset, letter);
    if (done == 1) {
      model[static_cast<std::size_t>(offset)] = letter[0];
    } else {
      EXPECT_EQ(done, -ENOSPC);
      ++refused;
    }
    if (i == 299) {
      EXPECT_EQ(a.writer.sync(), -ENOSPC);
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 300);
  EXPECT_EQ(a.writer.sync(), 0);
  model.resize(model.find_last_not_of('.') + 1);
  EXPECT_EQ(text({&a}), model);
}

TEST(LogWriter, sync_is_data_before_index) {
  FakeClock clock;
  FakeWriter a("a", clock);
  put(a, 0, "0123");
  std::vector<std::string> order;
  const std::size_t before = a.index.bytes.size();
  a.log.at_sync = [&] { order.push_back(a.index.bytes.size() == before ? "log" : "late log"); };
  a.index.at_sync = [&] { order.push_back("index"); };
  EXPECT_EQ(a.writer.sync(), 0);
  EXPECT_EQ(order, (std::vector<std::string>{"log", "index"}));
  EXPECT_EQ(a.writer.sync(), 0);
  EXPECT_EQ(order.size(), 2U);  // nothing new
  // What flush() wrote already is vouched for by a block of its own.
  put(a, 4, "4567");
  a.writer.flush();
  EXPECT_EQ(a.writer.sync(), 0);
  std::vector<WriterReport> reports;
  merged({&a}, &reports);
  EXPECT_EQ(reports[0].durable_bytes, 8);
  EXPECT_TRUE(reports[0].is_whole());
}

TEST(LogWriter, a_sync_that_failed_is_never_called_a_success) {
  FakeClock clock;
  FakeWriter a("a", clock);
  put(a, 0, "0123");
  a.log.sync_error = EIO;
  EXPECT_EQ(a.writer.sync(), -EIO);
  a.log.sync_error = 0;
  EXPECT_EQ(a.writer.sync(), -EIO);
  EXPECT_EQ(a.writer.close(), 0);
  std::vector<WriterReport> reports;
  merged({&a}, &reports);
  EXPECT_EQ(reports[0].durable_bytes, 0);
}

TEST(LogWriter, a_loop_stays_one_term_while_its_times_are_written) {
  FakeClock clock;
  std::uint64_t seed = 1;
  clock.step = [&] {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>(seed >> 40U) % 100000;  // hopeless jitter
  };
  FakeWriter a("a", clock, {.terms = 64, .knots = 64});
  for (std::int64_t i = 0; i < 5000; ++i) put(a, i * 8, "ab");
  a.writer.close();
  const LogMap map = merged({&a});
  EXPECT_EQ(map.index().nests(), 1U);
  EXPECT_EQ(map.index().segments(), 0U);
  EXPECT_EQ(map.size(), 4999 * 8 + 2);
}

TEST(LogWriter, growing_writes_and_rows_within_rows) {
  FakeClock clock;
  FakeWriter a("a", clock, {.terms = 32, .knots = 16});
  std::string model(20000, '.');
  const auto both = [&](std::int64_t offset, std::size_t size, char letter) {
    const std::string what(size, letter);
    ASSERT_EQ(put(a, offset, what), static_cast<std::int64_t>(size));
    model.replace(static_cast<std::size_t>(offset), size, what);
  };
  for (int i = 0; i < 60; ++i) both(i * 70, static_cast<std::size_t>(i + 1), 'g');
  for (int row = 0; row < 12; ++row) {
    both(5000 + row * 900, 3, 'h');
    for (int i = 0; i < 8; ++i) both(5050 + row * 900 + i * 90, 20, static_cast<char>('a' + i));
  }
  for (int i = 30; i > 0; --i) both(100 * i, 7, 'r');
  for (int i = 0; i < 9; ++i) both(33, 5, static_cast<char>('0' + i));
  a.writer.close();
  model.resize(model.find_last_not_of('.') + 1);
  EXPECT_EQ(text({&a}), model);
}

TEST(LogWriter, numbers_that_no_file_has_are_refused) {
  FakeClock clock;
  FakeWriter a("a", clock);
  EXPECT_EQ(put(a, -1, "x"), -EINVAL);
  EXPECT_EQ(put(a, INT64_MAX, "x"), -EFBIG);
  EXPECT_EQ(put(a, kLargestFile, "x"), -EFBIG);
  EXPECT_EQ(put(a, kLargestFile - 1, "xy"), 1);
  EXPECT_EQ(a.writer.truncate(INT64_MAX), -EFBIG);
  EXPECT_EQ(a.writer.punch(kLargestFile - 1, INT64_MAX), 0);
  a.writer.flush();
  const LogMap map = merged({&a});
  EXPECT_EQ(map.size(), kLargestFile);
  EXPECT_EQ(map.pieces(kLargestFile - 1, 5).at(0).kind, LogPiece::Kind::kHole);
}

}  // namespace
}  // namespace iotune::logstore
