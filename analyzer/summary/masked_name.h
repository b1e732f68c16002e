// Files of a series have one name but for their numbers: vpic00012.h5 and vpic00013.h5 are both
// vpic#.h5. A name may also be masked in part: out_h0_#.nc is masked but for its first number.
// No allocation, no exceptions: the preload uses these as well.
#pragma once

#include <cstddef>
#include <string_view>

namespace iotune::analyzer {

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The part of `text` behind `at` characters, `most` of them at most. Unlike substr it throws
// nothing: the preload has no library of C++ that it could throw by.
constexpr std::string_view part_of(std::string_view text, std::size_t at,
                                   std::size_t most = std::string_view::npos) noexcept {
  if (at > text.size()) at = text.size();
  const std::size_t rest = text.size() - at;
  return {text.data() + at, most < rest ? most : rest};
}

// Whether the digit in `ending`, the part behind a name's last dot, names a format: h5, nc4, hdf5,
// bp5, s3d. What counts ranks or steps (p0, t1, rank3, 0001) does not.
constexpr bool names_format(std::string_view ending) noexcept {
  constexpr std::size_t kMostBytes = 5;
  constexpr std::string_view kCounters[] = {
      "rank", "proc", "cpu", "step", "part", "node", "task", "iter", "seg", "blk", "dom",
      "lev",  "grp",  "id",  "it",   "st",   "ts",   "rs",   "pe",   "lv",  "th",  "tid"};
  if (ending.size() < 2 || ending.size() > kMostBytes || !is_letter(ending[0])) return false;
  std::size_t digits = 0, at = 0;
  for (std::size_t i = 0; i < ending.size(); ++i) {
    if (is_digit(ending[i])) {
      ++digits;
      at = i;
    } else if (!is_letter(ending[i])) {
      return false;
    }
  }
  if (digits != 1) return false;
  if (at + 1 < ending.size()) return true;
  const std::string_view word = part_of(ending, 0, at);
  if (word.size() == 1) return word == "h" || word == "n" || word == "H" || word == "N";
  for (const std::string_view counter : kCounters) {
    if (word == counter) return false;
  }
  return true;
}

// Where the ending of a base name begins whose digit is no number, with its dot; else the size.
constexpr std::size_t format_ending(std::string_view name) noexcept {
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && names_format(part_of(name, dot + 1)) ? dot : name.size();
}

// The number that begins at `at`, a digit, of a base name without its format ending.
constexpr std::string_view number_at(std::string_view name, std::size_t at) noexcept {
  std::size_t end = at;
  while (end < name.size() && is_digit(name[end])) ++end;
  return part_of(name, at, end - at);
}

// The characters of a base name one by one, with each number as one '#'.
template <typename Visit>
constexpr void each_masked_character(std::string_view name, Visit visit) {
  const std::string_view numbered = part_of(name, 0, format_ending(name));
  for (std::size_t i = 0; i < numbered.size();) {
    const bool digit = is_digit(numbered[i]);
    visit(digit ? '#' : numbered[i]);
    i += digit ? number_at(numbered, i).size() : 1;
  }
  for (const char c : part_of(name, numbered.size())) visit(c);
}

// How many numbers of the base name `name` stand as they are in `masked`, a name that is masked in
// whole or in part; -1 where it is not one of this name. Names that older versions masked in their
// ending too (vpic#.h#) fit as well.
constexpr int shared_numbers(std::string_view masked, std::string_view name) noexcept {
  const std::string_view numbered = part_of(name, 0, format_ending(name));
  int shared = 0;
  std::size_t at = 0;  // in `masked`
  for (std::size_t i = 0; i < name.size();) {
    const bool number = i < numbered.size() && is_digit(name[i]);
    const std::string_view digits = number ? number_at(numbered, i) : part_of(name, i, 1);
    const std::string_view rest = part_of(masked, at);
    if (is_digit(name[i]) && !rest.empty() && rest[0] == '#') {
      at += 1;
    } else if (rest.starts_with(digits) &&
               !(number && rest.size() > digits.size() && is_digit(rest[digits.size()]))) {
      at += digits.size();
      shared += number ? 1 : 0;
    } else {
      return -1;
    }
    i += digits.size();
  }
  return at == masked.size() ? shared : -1;
}

}  // namespace iotune::analyzer
