#include "analyzer/order/changed_bytes.h"

#include <cstddef>
#include <map>
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

Way way_of(std::string_view name) {
  static const std::map<std::string_view, Way> ways = {
      {"open", Way::kOpens},          {"openat", Way::kOpens},
      {"creat", Way::kCreates},       {"fopen", Way::kOpensByMode},
      {"freopen", Way::kOpensByMode}, {"ftruncate", Way::kSetsSize},
      {"truncate", Way::kSetsSize},   {"MPI_File_set_size", Way::kSetsSize},
      {"mmap", Way::kMaps},           {"fallocate", Way::kSpace}};
  const auto found = ways.find(name);
  return found == ways.end() ? Way::kNone : found->second;
}

}  // namespace

bool changes_bytes(const recorder::CallSignature& signature) {
  static const std::vector<bool> all = [] {
    std::vector<bool> changes;
    for (const recorder::CallSignature& one : recorder::call_table()) {
      changes.push_back(way_of(one.name) != Way::kNone);
    }
    return changes;
  }();
  return all[static_cast<std::size_t>(&signature - recorder::call_table().data())];
}

std::optional<ChangedBytes> changed_bytes(const recorder::Call& call,
                                          recorder::CallArguments& scratch) {
  const recorder::CallSignature& signature = *call.signature();
  if (!changes_bytes(signature) || !read_arguments(call, scratch)) return std::nullopt;
  const Way way = way_of(signature.name);
  const std::int64_t result = scratch.result.value_or(-1);
  if (result < 0 || (signature.layer == Layer::kMpiIo && result != 0)) return std::nullopt;
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
