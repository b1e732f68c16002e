#include "recorder/wrappers/object_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <utility>

#include "core/process/thread_state.h"

namespace iotune::recorder {
namespace {

TEST(ObjectTable, KnowsNothingBeforeTheFirstObject) {
  EXPECT_EQ(find_object(0, 360287970189639680), 0);
  forget_object(0, 360287970189639680);
  EXPECT_EQ(find_object(0, 360287970189639680), 0);
}

TEST(ObjectTable, ForgetsAllOfALibraryThatHasLeft) {
  std::map<std::int64_t, std::int64_t> stays;
  for (std::int64_t id = 1; id <= 500; ++id) {
    add_object(7, id);
    stays[id] = add_object(8, id);
  }
  forget_objects_of(7);
  for (const auto& [id, number] : stays) {
    EXPECT_EQ(find_object(7, id), 0);
    EXPECT_EQ(find_object(8, id), number);
  }
  forget_objects_of(8);
  EXPECT_TRUE(knows_no_objects());
}

// Ids as HDF5 makes them (type and serial number), few and many at a time, closed in any order.
TEST(ObjectTable, FindsWhatIsOpenAndNothingElse) {
  std::mt19937_64 draw(1);
  std::map<std::pair<std::uint16_t, std::int64_t>, std::int64_t> open;
  std::int64_t serial = 0;
  for (const std::size_t most : {3u, 700u, 40u, 2u, 300u, 0u}) {
    for (int step = 0; step < 4000; ++step) {
      const auto provider = static_cast<std::uint16_t>(draw() % 3);
      if (open.size() < most && draw() % 3 != 0) {
        const std::int64_t id = (std::int64_t{5} << 56) + serial++ % 5000;
        if (open.contains({provider, id})) continue;
        const std::int64_t number = add_object(provider, id);
        ASSERT_GT(number, 0);
        open[{provider, id}] = number;
      } else if (!open.empty()) {
        auto chosen = open.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(draw() % open.size()));
        forget_object(chosen->first.first, chosen->first.second);
        ASSERT_EQ(find_object(chosen->first.first, chosen->first.second), 0);
        open.erase(chosen);
      }
    }
    for (const auto& [object, number] : open) {
      ASSERT_EQ(find_object(object.first, object.second), number);
      ASSERT_EQ(find_object(7, object.second), 0);
    }
  }
  EXPECT_TRUE(open.empty());
}

}  // namespace
}  // namespace iotune::recorder
