#include "core/os/glob.h"

#include <cstring>

namespace iotune {

bool glob_matches(const char* pattern, const char* end, const char* text) noexcept {
  const char* star = nullptr;
  const char* star_text = nullptr;
  while (*text != '\0') {
    if (pattern != end && *pattern == '*') {
      star = pattern;
      star_text = text;
    } else if (pattern != end && (*pattern == '?' || *pattern == *text)) {
      ++pattern;
      ++text;
      continue;
    } else if (star != nullptr) {
      ++star_text;
    } else {
      return false;
    }
    pattern = star + 1;
    if (pattern == end) return true;
    // The star goes on to where what follows it can begin.
    if (*pattern != '*' && *pattern != '?') {
      while (*star_text != '\0' && *star_text != *pattern) ++star_text;
    }
    text = star_text;
  }
  while (pattern != end && *pattern == '*') ++pattern;
  return pattern == end;
}

bool glob_matches(const char* pattern, const char* text) noexcept {
  return glob_matches(pattern, pattern + std::strlen(pattern), text);
}

bool any_glob_matches(const char* globs, const char* text) noexcept {
  while (globs != nullptr && *globs != '\0') {
    const char* const colon = std::strchr(globs, ':');
    const char* const end = colon == nullptr ? globs + std::strlen(globs) : colon;
    if (end != globs && glob_matches(globs, end, text)) return true;
    globs = colon == nullptr ? nullptr : colon + 1;
  }
  return false;
}

}  // namespace iotune
