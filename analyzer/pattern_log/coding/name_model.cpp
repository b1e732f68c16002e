#include "analyzer/pattern_log/coding/name_model.h"

#include <map>

namespace iotune::analyzer::pattern_log {
namespace {

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

struct Digits {
  std::size_t length;
  std::uint64_t value;
  bool leading_zero;
};
Digits digits_at(const std::string& name, std::size_t at) {
  Digits digits{0, 0, false};
  while (at + digits.length < name.size() && digits.length < kMostDigitsOfNumber &&
         is_digit(name[at + digits.length])) {
    digits.value = digits.value * 10 + static_cast<std::uint64_t>(name[at + digits.length] - '0');
    ++digits.length;
  }
  digits.leading_zero = digits.length > 1 && name[at] == '0';
  return digits;
}

// The widths that the numbers of all names of one form may have.
struct Widths {
  std::vector<std::size_t> length;  // of all; 0: they differ
  std::vector<bool> leading_zero;   // in one of them
};

}  // namespace

std::vector<SplitName> split_names(const std::vector<std::string>& names) {
  std::map<std::string, Widths> widths;
  std::vector<std::string> keys;
  std::vector<std::vector<Digits>> digits_of;
  for (const std::string& name : names) {
    std::string key;
    std::vector<Digits> all;
    for (std::size_t at = 0; at < name.size();) {
      const Digits digits = digits_at(name, at);
      key += digits.length > 0 ? '0' : name[at];
      if (digits.length > 0) all.push_back(digits);
      at += digits.length > 0 ? digits.length : 1;
    }
    Widths& widths_of = widths[key];
    const bool first = widths_of.length.empty();
    for (std::size_t d = 0; d < all.size(); ++d) {
      if (first) {
        widths_of.length.push_back(all[d].length);
        widths_of.leading_zero.push_back(false);
      }
      if (widths_of.length[d] != all[d].length) widths_of.length[d] = 0;
      if (all[d].leading_zero) widths_of.leading_zero[d] = true;
    }
    keys.push_back(std::move(key));
    digits_of.push_back(std::move(all));
  }
  std::vector<SplitName> split;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const Widths& widths_of = widths[keys[n]];
    SplitName made;
    for (const char c : keys[n]) {
      if (c != '0') {
        made.form.characters.push_back(static_cast<std::uint8_t>(c));
        continue;
      }
      const std::size_t d = made.numbers.size();
      const Digits& digits = digits_of[n][d];
      std::size_t width = 0;
      if (widths_of.leading_zero[d] && widths_of.length[d] != 0) width = widths_of.length[d];
      if (widths_of.leading_zero[d] && widths_of.length[d] == 0 && digits.leading_zero) {
        width = digits.length;
      }
      made.form.characters.push_back(static_cast<std::uint16_t>(256 + width));
      ++made.form.numbers;
      made.numbers.push_back(digits.value);
    }
    split.push_back(std::move(made));
  }
  return split;
}

std::string join_name(const NameForm& form, const std::uint64_t* numbers) {
  std::string name;
  for (const std::uint16_t character : form.characters) {
    if (character < 256) {
      name += static_cast<char>(character);
      continue;
    }
    const std::string digits = std::to_string(*numbers++);
    const std::size_t width = character - 256U;
    if (digits.size() < width) name.append(width - digits.size(), '0');
    name += digits;
  }
  return name;
}

}  // namespace iotune::analyzer::pattern_log
