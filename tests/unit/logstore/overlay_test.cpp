// What lies over the map, against an array of bytes; and reads of many pieces.
#include "logstore/store/overlay.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <random>
#include <string>

#include "logstore/read/read_plan.h"

namespace iotune::logstore {
namespace {

TEST(Overlay, writes_that_continue_each_other_are_one_extent) {
  Overlay overlay;
  for (std::int64_t i = 0; i < 100; ++i) overlay.put(i * 8, 8, 1000 + i * 8);
  EXPECT_EQ(overlay.extents(), 1U);
  overlay.put(800, 8, 5000);
  EXPECT_EQ(overlay.extents(), 2U);
  overlay.put(0, 1000, Overlay::kHole);
  EXPECT_EQ(overlay.extents(), 1U);
  EXPECT_FALSE(overlay.at(1000).covered);
  EXPECT_EQ(overlay.at(1000).end, INT64_MAX);
}

TEST(Overlay, says_what_was_put_last) {
  std::mt19937_64 draw(7);
  for (int round = 0; round < 300; ++round) {
    Overlay overlay;
    constexpr std::int64_t kNothing = -2;
    std::array<std::int64_t, 100> bytes;
    bytes.fill(kNothing);
    std::int64_t log = 0;
    for (int step = 0; step < 40; ++step) {
      const auto offset = static_cast<std::int64_t>(draw() % bytes.size());
      const auto most =
          static_cast<std::uint64_t>(bytes.size()) - static_cast<std::uint64_t>(offset);
      const auto length = static_cast<std::int64_t>(1 + draw() % std::min<std::uint64_t>(most, 20));
      const bool hole = draw() % 4 == 0;
      overlay.put(offset, length, hole ? Overlay::kHole : log);
      for (std::int64_t i = 0; i < length; ++i) {
        bytes[static_cast<std::size_t>(offset + i)] = hole ? Overlay::kHole : log + i;
      }
      log += hole ? 0 : length;
      for (std::int64_t at = 0; at < static_cast<std::int64_t>(bytes.size());) {
        const Overlay::Piece piece = overlay.at(at);
        ASSERT_GT(piece.end, at);
        for (std::int64_t i = at; i < std::min<std::int64_t>(piece.end, bytes.size()); ++i) {
          const std::int64_t physical =
              piece.physical == Overlay::kHole ? Overlay::kHole : piece.physical + i - at;
          ASSERT_EQ(piece.covered ? physical : kNothing, bytes[static_cast<std::size_t>(i)])
              << "round " << round << ", byte " << i;
        }
        at = piece.end;
      }
    }
  }
}

TEST(SizeChange, is_what_writes_and_truncations_do) {
  SizeChange change;
  EXPECT_EQ(change.apply(5), 5);
  change.write(10);
  EXPECT_EQ(change.apply(5), 10);
  EXPECT_EQ(change.apply(15), 15);
  change.truncate(3);
  EXPECT_EQ(change.apply(15), 3);
  change.write(8);
  EXPECT_EQ(change.apply(15), 8);
}

class ReadPlanTest : public ::testing::Test {
 protected:
  ReadPlanTest() { EXPECT_EQ(write(fd_, "abcdefghij", 10), 10); }
  ~ReadPlanTest() override { close(fd_); }

  int fd_ = memfd_create("log", 0);
  ReadPlan::Open open_ = [this](std::uint32_t log, LogToRead& to) {
    EXPECT_EQ(log, 7U);
    to.fd = fd_;
    return 0;
  };
};

TEST_F(ReadPlanTest, what_lies_together_in_a_log_need_not_in_the_file) {
  ReadPlan plan;
  plan.add_data(2, 7, 6);
  plan.add_zeros(3);
  plan.add_data(2, 7, 4);
  plan.add_data(1, 7, 8);
  plan.add_data(1, 7, 9);
  ASSERT_EQ(plan.bytes(), 9);
  std::string bytes(9, '?');
  ReadPlan::Wrong wrong;
  EXPECT_EQ(plan.run(reinterpret_cast<std::byte*>(bytes.data()), open_, wrong), 9);
  EXPECT_EQ(bytes, std::string("gh\0\0\0efij", 9));
  EXPECT_EQ(wrong.error, 0);
}

TEST_F(ReadPlanTest, bytes_before_the_first_that_is_not_there_are_right) {
  for (std::int64_t there = 0; there < 10; ++there) {
    ASSERT_EQ(ftruncate(fd_, there), 0);
    // Of the read's bytes 0 to 3 the log has 6 to 9, of 4 to 9 it has 0 to 5.
    ReadPlan plan;
    plan.add_data(4, 7, 6);
    plan.add_data(6, 7, 0);
    std::string bytes(10, '?');
    ReadPlan::Wrong wrong;
    const std::int64_t right = plan.run(reinterpret_cast<std::byte*>(bytes.data()), open_, wrong);
    EXPECT_EQ(right, there > 6 ? there - 6 : 0) << there;
    EXPECT_EQ(wrong.error, -EIO);
    EXPECT_EQ(wrong.log, 7U);
    ASSERT_EQ(ftruncate(fd_, 0), 0);
    ASSERT_EQ(pwrite(fd_, "abcdefghij", 10, 0), 10);
  }
}

}  // namespace
}  // namespace iotune::logstore
