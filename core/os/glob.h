// Globs: '*' is any run of bytes, slashes too, '?' one byte, the rest itself.
#pragma once

namespace iotune {

// True where `pattern` matches all of `text`.
bool glob_matches(const char* pattern, const char* text) noexcept;
// The same of the pattern that ends before `end`.
bool glob_matches(const char* pattern, const char* end, const char* text) noexcept;

// Whether one of a list separated by ':' matches `text`; nullptr is an empty list.
bool any_glob_matches(const char* globs, const char* text) noexcept;

}  // namespace iotune
