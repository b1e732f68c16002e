#include "patterndb/store/byte_key.h"

#include <charconv>
#include <limits>

namespace iotune::patterndb {

using analyzer::DimensionPattern;
using analyzer::Distribution;

namespace {

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  // Columns of the database are signed.
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (b != 0 && a > kMost / b) throw Fault{"a dimension holds more than 2^63 bytes"};
  return a * b;
}

std::string no_list(std::string_view text) {
  return "'" + std::string(text) + "' is no list of numbers";
}

}  // namespace

analyzer::Descriptor in_bytes(const analyzer::Descriptor& descriptor, std::uint64_t element_bytes) {
  if (descriptor.last_in_bytes || descriptor.dimensions.empty()) return descriptor;
  if (element_bytes == 0) throw Fault{"elements of 0 bytes"};
  analyzer::Descriptor bytes = descriptor;
  DimensionPattern& last = bytes.dimensions.back();
  last.count = times(last.count, element_bytes);
  last.cyclic_block = times(last.cyclic_block, element_bytes);
  bytes.last_in_bytes = true;
  return bytes;
}

std::string joined(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (std::uint64_t number : numbers) {
    if (!text.empty()) text += 'x';
    text += std::to_string(number);
  }
  return text;
}

std::vector<std::uint64_t> split_numbers(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  for (const char *at = text.data(), *const end = at + text.size(); at != end;) {
    if (!numbers.empty() && *at++ != 'x') throw Fault{no_list(text)};
    const auto [next, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc{}) throw Fault{no_list(text)};
    at = next;
  }
  return numbers;
}

std::string byte_key(const Pattern& pattern) {
  std::string key = in_bytes(pattern.descriptor, pattern.element_bytes).text();
  key += pattern.write ? " write " : " read ";
  key += pattern.mode + " ranks=" + std::to_string(pattern.ranks);
  key += " grid=" + (pattern.grid.empty() ? std::string("none") : joined(pattern.grid));
  std::vector<std::uint64_t> chunk = pattern.chunk;
  if (!chunk.empty()) chunk.back() = times(chunk.back(), pattern.element_bytes);
  key += " chunk=" + (chunk.empty() ? std::string("none") : joined(chunk) + "B");
  key += " filters=" + std::to_string(pattern.filters);
  bool irregular = false;
  for (const DimensionPattern& dimension : pattern.descriptor.dimensions) {
    irregular = irregular || dimension.distribution == Distribution::kIrregular;
  }
  if (irregular) {
    std::vector<std::uint64_t> dims = pattern.dataset_dims;
    if (!dims.empty()) dims.back() = times(dims.back(), pattern.element_bytes);
    key += " dims=" + joined(dims) + "B";
  }
  return key;
}

}  // namespace iotune::patterndb
