#include "prefetch/slices/pending_writes.h"

#include <gtest/gtest.h>

namespace iotune::prefetch {
namespace {

constexpr FileIdentity kFile{1, 2}, kOther{1, 3};

TEST(PendingWrites, AReadWaitsForWhatIsStillToBeWritten) {
  PendingWrites writes;
  EXPECT_FALSE(writes.overlap(kFile, {0, 1000}));
  writes.slice_wrote(kFile, {100, 50});
  EXPECT_TRUE(writes.overlap(kFile, {149, 1}));
  EXPECT_FALSE(writes.overlap(kFile, {150, 10}));
  EXPECT_FALSE(writes.overlap(kFile, {0, 100}));
  EXPECT_FALSE(writes.overlap(kOther, {100, 50}));
  writes.program_wrote(kOther, {100, 50});
  EXPECT_TRUE(writes.overlap(kFile, {100, 50}));
  writes.program_wrote(kFile, {100, 50});
  EXPECT_FALSE(writes.overlap(kFile, {100, 50}));
}

TEST(PendingWrites, AWriteInPiecesIsThereWithTheLastOne) {
  PendingWrites writes;
  writes.slice_wrote(kFile, {0, 300});
  writes.program_wrote(kFile, {0, 100});
  EXPECT_FALSE(writes.overlap(kFile, {0, 100}));
  EXPECT_TRUE(writes.overlap(kFile, {100, 1}));
  writes.program_wrote(kFile, {200, 100});
  EXPECT_TRUE(writes.overlap(kFile, {0, 300}));
  writes.program_wrote(kFile, {100, 100});
  EXPECT_FALSE(writes.overlap(kFile, {0, 300}));
}

TEST(PendingWrites, TheProgramMayBeAheadOfItsSlice) {
  PendingWrites writes;
  writes.program_wrote(kFile, {0, 100});
  writes.program_wrote(kFile, {100, 100});
  writes.slice_wrote(kFile, {0, 200});
  EXPECT_FALSE(writes.overlap(kFile, {0, 200}));
  // Once each: the same bytes again are another write.
  writes.slice_wrote(kFile, {0, 200});
  EXPECT_TRUE(writes.overlap(kFile, {0, 1}));
}

TEST(PendingWrites, OfVeryManyTheOldestAreForgotten) {
  PendingWrites writes;
  for (std::int64_t i = 0; i < 1000; ++i) writes.slice_wrote(kFile, {i * 10, 10});
  EXPECT_FALSE(writes.overlap(kFile, {0, 10}));
  EXPECT_TRUE(writes.overlap(kFile, {9990, 10}));
}

}  // namespace
}  // namespace iotune::prefetch
