// What a call means, as recorder/calls.table says it: the head of the table explains the words.
// call_meanings.h, generated from the table at build time, has the meaning of every call.
#pragma once

#include <cstdint>

namespace iotune::recorder {

enum class Verb : std::uint8_t {
  kOpens,
  kCreates,
  kDuplicates,
  kCloses,
  kReads,
  kWrites,
  kSeeks,
  kSyncs,
  kFlushes,
  kCompletes,
  kAsks,
  kChanges,
  kSends,
  kReceives,
  kExchanges,
  kMatches,
  kStarts,
  kFrees,
  kOrders,
  kNotes  // pseudo calls of iotune's own
};

enum class Thing : std::uint8_t {
  kNone,
  kFile,
  kDirectory,
  kPath,
  kPipe,
  kMapping,
  kView,
  kLock,
  kCache,
  kGroup,
  kDataset,
  kAttribute,
  kObject,
  kLink,
  kType,
  kSpace,
  kPlist,
  kEvents,
  kRead,
  kWrite,
  kRequest,
  kProcess,
  kMpi,
  kMessage,
  kPart,
  kRanks,
  kWindow,
  // Of pseudo calls:
  kSetting,
  kDecision,
  kDecisionAgain,
  kPrefetch,
  kGather,
  kSampledOut,
  kRegionBegin,
  kRegionEnd,
  kRegionSum
};

struct CallMeaning {
  static constexpr std::int8_t kNowhere = -1;

  Verb verb = Verb::kAsks;
  Thing thing = Thing::kNone;
  bool pointer = false;
  bool shared = false;
  bool ordered = false;
  bool collective = false;
  bool split = false;
  bool begins = false;
  bool chunk = false;
  bool untimed = false;
  bool calls_back = false;
  bool selects = false;
  bool persistent = false;
  // It orders processes and is about no file: recorded where that was asked for (IOTUNE_ORDER).
  bool order = false;
  // Indices among the arguments and the texts.
  std::int8_t handle_argument = kNowhere;
  std::int8_t named_text = kNowhere;
  // Indices among the numbers of a record: kNowhere also behind an array, whose length varies, and
  // of a descriptor, which is a key.
  std::int8_t handle_place = kNowhere;
  std::int8_t offset_place = kNowhere;
  std::int8_t bytes_place = kNowhere;       // what it moved: bytes, or items …
  std::int8_t item_bytes_place = kNowhere;  // … of so many bytes each
  std::int8_t count_place = kNowhere;       // the bytes that were asked for
  std::int8_t result_place = kNowhere;

  constexpr bool opens() const noexcept { return verb == Verb::kOpens || verb == Verb::kCreates; }
  constexpr bool moves_data() const noexcept {
    return (verb == Verb::kReads || verb == Verb::kWrites) &&
           (thing == Thing::kFile || thing == Thing::kDataset);
  }
};

}  // namespace iotune::recorder
