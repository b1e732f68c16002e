#include "patterndb/matching/telling_number.h"

#include <algorithm>
#include <map>

namespace iotune::patterndb {

namespace {

// Kinds of a time step, twice: what needs more is a series whose files change.
constexpr std::size_t kMostRemembered = 24;
constexpr double kAlike = 1.25;

}  // namespace

bool is_alike(const FileKind& a, const FileKind& b) {
  const auto [less, more] = std::minmax(a.bytes, b.bytes);
  return a.collective == b.collective &&
         static_cast<double>(more) <= kAlike * static_cast<double>(less);
}

void TellingNumber::closed(const std::vector<std::string>& numbers, const FileKind& kind) {
  if (position_) return;
  newest_.push_back({numbers, kind});
  if (newest_.size() > kMostRemembered) newest_.pop_front();
  for (std::size_t position = 0; position < numbers.size() && !position_; ++position) {
    if (tells(position)) position_ = position;
  }
  if (position_) newest_.clear();
}

// Each of its values belongs to files that are alike, was there again, and there are two kinds.
bool TellingNumber::tells(std::size_t position) const {
  std::map<std::string, std::vector<const FileKind*>> by_value;
  for (const Closed& file : newest_) {
    if (position >= file.numbers.size()) return false;
    by_value[file.numbers[position]].push_back(&file.kind);
  }
  bool differs = false;
  const FileKind* const one = by_value.begin()->second.front();
  for (const auto& [value, kinds] : by_value) {
    if (kinds.size() < 2) return false;
    for (const FileKind* kind : kinds) {
      if (!is_alike(*kind, *kinds.front())) return false;
    }
    differs = differs || !is_alike(*one, *kinds.front());
  }
  return differs;
}

}  // namespace iotune::patterndb
