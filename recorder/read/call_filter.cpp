#include "recorder/read/call_filter.h"

#include <fnmatch.h>

#include <algorithm>

namespace iotune::recorder {
namespace {

bool matches(const std::string& pattern, const char* text) {
  return pattern == text || ::fnmatch(pattern.c_str(), text, 0) == 0;
}

// "/a/b/c.h5" is itself, c.h5 and b/c.h5.
bool matches_end(const std::string& pattern, const std::string& path) {
  if (matches(pattern, path.c_str())) return true;
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    if (matches(pattern, path.c_str() + at + 1)) return true;
  }
  return false;
}

}  // namespace

bool CallFilter::wants_rank(std::int64_t rank) const {
  return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [rank](const auto& range) {
           return rank >= range.first && rank <= range.second;
         });
}

bool CallFilter::wants_stream(const CallStream& stream) const {
  if (layers != 0 && (stream.signature == nullptr ||
                      (layers & 1U << static_cast<unsigned>(stream.signature->layer)) == 0)) {
    return false;
  }
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& pattern) {
           return matches(pattern, stream.name.c_str());
         });
}

bool CallFilter::wants_file(const std::string& path) const {
  return files.empty() || std::any_of(files.begin(), files.end(), [&](const std::string& pattern) {
           return matches_end(pattern, path);
         });
}

}  // namespace iotune::recorder
