#include "prefetch/files/file_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "prefetch/files/file_follower.h"

namespace iotune::prefetch {
namespace {

struct Release {
  void operator()(FileOrder* order) const { order->release(); }
};
using Order = std::unique_ptr<FileOrder, Release>;

Order order_of(const std::vector<std::string>& names) {
  Order order(FileOrder::make());
  for (const std::string& name : names) EXPECT_TRUE(order->add(name.data(), name.size()));
  return order;
}

std::vector<std::string> names_of(const FileOrder& order) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < order.size(); ++i) names.emplace_back(order.name_at(i));
  return names;
}

std::uint64_t hash_of(const std::string& name) {
  return FileOrder::hash_of(name.data(), name.size());
}

std::vector<std::byte> encoded(const FileOrder& order, std::size_t room = 1 << 20) {
  std::vector<std::byte> bytes(room);
  bytes.resize(order.encode(bytes));
  return bytes;
}

std::vector<std::string> shuffled(std::size_t count, unsigned seed, const char* format) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, format, i);
    names.emplace_back(name);
  }
  std::shuffle(names.begin(), names.end(), std::mt19937(seed));
  return names;
}

TEST(FileOrder, NamesOfAllKindsComeBack) {
  const std::vector<std::string> names{"000017.npy",
                                       "000018.npy",
                                       "17.npy",
                                       "0",
                                       "00",
                                       "c/3/0",
                                       "c/12/0",
                                       "c/12/00",
                                       "a.jpg",
                                       "n01440764_10026.JPEG",
                                       "123456789012345678901234567890",
                                       "1.2.3.4.5.6.7.8.9.10",
                                       std::string("\x01"),
                                       "x\x01y7",
                                       "000017.npy",
                                       "7",
                                       "8",
                                       "9",
                                       std::string(512, '7'),
                                       std::string(511, 'z') + "1",
                                       "\xff\xfe 12"};
  const Order order = order_of(names);
  const Order again(FileOrder::make());
  ASSERT_TRUE(again->decode(encoded(*order)));
  EXPECT_EQ(names_of(*again), names);
  EXPECT_EQ(again->last_place(hash_of("000017.npy")), 14u);
  EXPECT_EQ(again->place_before(14), 0u);
  EXPECT_EQ(again->place_before(0), FileOrder::kNone);
  EXPECT_EQ(again->last_place(hash_of("000019.npy")), FileOrder::kNone);
}

TEST(FileOrder, NumberedNamesTakeThreeBytesAndAnotherEpochOfTheOrderNone) {
  std::vector<std::string> names = shuffled(1000, 1, "%06zu.npy");
  const std::size_t once = encoded(*order_of(names)).size();
  EXPECT_LT(once, 4 * names.size());
  const std::vector<std::string> epoch = names;
  for (int i = 0; i < 9; ++i) names.insert(names.end(), epoch.begin(), epoch.end());
  EXPECT_LT(encoded(*order_of(names)).size(), once + 100);
}

TEST(FileOrder, NamesWithoutAPatternFitAsTheyAre) {
  std::vector<std::string> names;
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string name;
    for (int k = 0; k < 20; ++k) name += "abcdef0123456789"[random() % 16];
    names.push_back(name);
  }
  const Order again(FileOrder::make());
  ASSERT_TRUE(again->decode(encoded(*order_of(names))));
  EXPECT_EQ(names_of(*again), names);
}

TEST(FileOrder, WhatDoesNotFitIsLeftOutAtTheEnd) {
  const std::vector<std::string> names = shuffled(1000, 1, "%zu.npy");
  const Order again(FileOrder::make());
  ASSERT_TRUE(again->decode(encoded(*order_of(names), 800)));
  const std::vector<std::string> kept = names_of(*again);
  EXPECT_GE(kept.size(), 100u);
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), names.begin()));
}

TEST(FileOrder, IsFullInTheEnd) {
  const Order order(FileOrder::make());
  std::uint32_t added = 0;
  for (std::uint32_t i = 0; i < FileOrder::kMostFiles + 10; ++i) {
    const std::string name = std::to_string(i);
    added += order->add(name.data(), name.size()) ? 1 : 0;
  }
  EXPECT_EQ(added, FileOrder::kMostFiles);
  EXPECT_EQ(order->size(), FileOrder::kMostFiles);
}

TEST(FileOrder, DamageIsNoOrderAndHarmsNobody) {
  const std::vector<std::string> names = shuffled(50, 3, "c/%zu/0");
  const std::vector<std::byte> whole = encoded(*order_of(names));
  for (std::size_t end = 0; end < whole.size(); ++end) {
    const Order order(FileOrder::make());
    EXPECT_FALSE(order->decode(std::span(whole).first(end))) << end;
  }
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> bytes = whole;
    for (int k = 0; k < 3; ++k) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 256);
    }
    const Order order(FileOrder::make());
    if (!order->decode(bytes)) continue;
    for (const std::string& name : names_of(*order)) EXPECT_LE(name.size(), kMostNameBytes);
  }
}

// Files that are handed out until there is none more.
std::vector<std::string> handed_out(FileFollower& follower, const FileOrder& order) {
  std::vector<std::string> names;
  for (std::uint32_t place = follower.next(); place != FileFollower::kNone;
       place = follower.next()) {
    names.emplace_back(order.name_at(place));
  }
  return names;
}

TEST(FileFollower, TheNextFilesAreReadAheadOnceFilesWait) {
  const std::vector<std::string> names = shuffled(100, 1, "%zu");
  const Order order = order_of(names);
  FileFollower follower;
  follower.follow(order.get(), 0);
  EXPECT_EQ(handed_out(follower, *order), std::vector<std::string>());
  follower.begins(hash_of(names[0]), true);
  EXPECT_EQ(handed_out(follower, *order), std::vector<std::string>());
  EXPECT_TRUE(follower.begins(hash_of(names[1]), true).foreseen);
  std::vector<std::string> ahead = handed_out(follower, *order);
  ASSERT_GE(ahead.size(), 2u);
  // All that follow are read ahead, each once, and never more than so many.
  for (std::size_t i = 2; i < names.size(); ++i) {
    follower.set_bytes(hash_of(names[i]), 1000);
    const FileFollower::Begun begun = follower.begins(hash_of(names[i]), false);
    EXPECT_TRUE(begun.foreseen && begun.ahead) << i;
    EXPECT_EQ(begun.bytes, 1000u);
    for (std::string& name : handed_out(follower, *order)) ahead.push_back(name);
    EXPECT_LE(ahead.size(), i + FileFollower::kMostAhead);
  }
  EXPECT_EQ(ahead, std::vector<std::string>(names.begin() + 2, names.end()));
}

TEST(FileFollower, NothingIsReadAheadOfFilesInMemory) {
  const std::vector<std::string> names = shuffled(100, 1, "%zu");
  const Order order = order_of(names);
  FileFollower follower;
  follower.follow(order.get(), 0);
  for (const std::string& name : names) {
    follower.begins(hash_of(name), false);
    EXPECT_EQ(handed_out(follower, *order), std::vector<std::string>());
  }
}

TEST(FileFollower, AnotherOrderIsGivenUp) {
  const Order order = order_of(shuffled(100, 1, "%zu"));
  FileFollower follower;
  follower.follow(order.get(), 0);
  for (int i = 0; i < 4; ++i) follower.begins(hash_of("x" + std::to_string(i)), true);
  EXPECT_EQ(follower.order(), nullptr);
  EXPECT_EQ(follower.next(), FileFollower::kNone);
}

TEST(FileFollower, FilesThatChangePlacesAreForeseen) {
  std::vector<std::string> names = shuffled(100, 1, "%zu");
  const Order order = order_of(names);
  for (std::size_t i = 0; i + 1 < names.size(); i += 2) std::swap(names[i], names[i + 1]);
  FileFollower follower;
  follower.follow(order.get(), 0);
  std::size_t ahead = 0;
  for (const std::string& name : names) {
    const FileFollower::Begun begun = follower.begins(hash_of(name), true);
    EXPECT_TRUE(begun.foreseen) << name;
    ahead += begun.ahead ? 1 : 0;
    handed_out(follower, *order);
  }
  EXPECT_GE(ahead, 95u);
}

TEST(FileFollower, BytesAheadAreBounded) {
  const std::vector<std::string> names = shuffled(100, 1, "%zu");
  const Order order = order_of(names);
  FileFollower follower;
  follower.follow(order.get(), 0);
  std::size_t most = 0, held = 0;
  for (const std::string& name : names) {
    if (follower.begins(hash_of(name), true).ahead) --held;
    for (std::uint32_t place = follower.next(); place != FileFollower::kNone;
         place = follower.next()) {
      ++held;
      follower.set_bytes(order->hash_at(place), 8 << 20);
    }
    most = std::max(most, held);
  }
  EXPECT_EQ(most, 4u);
}

}  // namespace
}  // namespace iotune::prefetch
