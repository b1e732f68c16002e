#include "analyzer/order/accesses/changed_bytes.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "analyzer/index/nest.h"
#include "recorder/call_table.h"

namespace iotune::analyzer {
namespace {

// As Linux has them.
constexpr std::int64_t kTruncate = 01000, kProtWrite = 2, kMapShared = 1, kMapKind = 0x0f;
constexpr std::int64_t kMapSharedValidate = 3;
constexpr std::int64_t kPunchHole = 2, kCollapse = 8, kZero = 16, kInsert = 32;

enum class Way : std::uint8_t { kNone, kOpens, kOpensByMode, kCreates, kSetsSize, kMaps, kSpace };

bool has(const recorder::CallSignature& signature, std::string_view argument) {
  return std::any_of(signature.arguments.begin(), signature.arguments.end(),
                     [&](const auto& one) { return one.name == argument; });
}

// By meaning and arguments. MPI-IO's own truncation is seen as that of POSIX below it.
Way way_of(const recorder::CallSignature& signature) {
  using recorder::Thing;
  using recorder::Verb;
  const recorder::CallMeaning& meaning = signature.meaning;
  const bool file = meaning.thing == Thing::kFile, path = meaning.thing == Thing::kPath;
  if (signature.layer == Layer::kStdio) {
    return meaning.opens() && file && has(signature, "mode") ? Way::kOpensByMode : Way::kNone;
  }
  if (signature.layer != Layer::kPosix) return Way::kNone;
  if (file && meaning.verb == Verb::kOpens) return Way::kOpens;
  if (file && meaning.verb == Verb::kCreates) return Way::kCreates;
  if (meaning.thing == Thing::kMapping && meaning.verb == Verb::kOpens) return Way::kMaps;
  if (meaning.verb != Verb::kChanges || !(file || path) || !has(signature, "bytes")) {
    return Way::kNone;
  }
  if (!has(signature, "offset")) return Way::kSetsSize;
  return has(signature, "mode") ? Way::kSpace : Way::kNone;
}

}  // namespace

bool changes_bytes(const recorder::CallSignature& signature) {
  static const std::vector<bool> all = [] {
    std::vector<bool> changes;
    for (const recorder::CallSignature& one : recorder::call_table()) {
      changes.push_back(way_of(one) != Way::kNone);
    }
    return changes;
  }();
  return all[static_cast<std::size_t>(&signature - recorder::call_table().data())];
}

std::optional<ChangedBytes> changed_bytes(const recorder::Call& call,
                                          recorder::CallArguments& scratch) {
  const recorder::CallSignature& signature = *call.signature();
  if (!changes_bytes(signature) || !read_arguments(call, scratch)) return std::nullopt;
  const Way way = way_of(signature);
  const std::int64_t result = scratch.result.value_or(-1);
  if (result < 0) return std::nullopt;
  const auto number = [&](const char* name) { return scratch.number(signature, name).value_or(0); };
  const auto from = [](std::int64_t offset) {
    return ChangedBytes{offset, kMostBytes - offset, true, true, {}};
  };
  switch (way) {
    case Way::kOpens:
      if ((number("flags") & kTruncate) == 0) return std::nullopt;
      return from(0);
    case Way::kCreates:
      return from(0);
    case Way::kOpensByMode: {
      const auto* const mode = scratch.find("mode");
      if (mode == nullptr || !mode->text.starts_with('w')) return std::nullopt;
      return from(0);
    }
    case Way::kSetsSize: {
      ChangedBytes changed = from(number("bytes"));
      if (const auto* const path = scratch.find("path")) changed.path = path->text;
      return changed;
    }
    case Way::kMaps: {
      const std::int64_t kind = number("flags") & kMapKind;
      const bool shared = kind == kMapShared || kind == kMapSharedValidate;
      return ChangedBytes{number("offset"),
                          number("bytes"),
                          shared && (number("protection") & kProtWrite) != 0,
                          false,
                          {}};
    }
    case Way::kSpace: {
      const std::int64_t mode = number("mode"), offset = number("offset");
      if ((mode & (kCollapse | kInsert)) != 0) {
        return ChangedBytes{offset, kMostBytes - offset, true, false, {}};
      }
      if ((mode & (kPunchHole | kZero)) == 0) return std::nullopt;
      return ChangedBytes{offset, number("bytes"), true, false, {}};
    }
    case Way::kNone:
      break;
  }
  return std::nullopt;
}

}  // namespace iotune::analyzer
