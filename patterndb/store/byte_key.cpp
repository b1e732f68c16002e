#include "patterndb/store/byte_key.h"

#include <limits>

namespace iotune::patterndb {

using analyzer::DimensionPattern;
using analyzer::Distribution;

namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    skip_spaces();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void demand(std::string_view word) {
    if (!take(word)) throw Fault{"'" + std::string(word) + "' expected" + place()};
  }

  std::uint64_t number() {
    skip_spaces();
    std::size_t digits = 0;
    std::uint64_t value = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      if (digits >= 18) throw Fault{"a number is too large" + place()};
      value = value * 10 + static_cast<std::uint64_t>(rest_[digits] - '0');
      ++digits;
    }
    if (digits == 0) throw Fault{"a number expected" + place()};
    rest_.remove_prefix(digits);
    return value;
  }

  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  std::string place() const {
    return rest_.empty() ? " at the end" : " at '" + std::string(rest_.substr(0, 20)) + "'";
  }

  std::string_view rest_;
};

constexpr std::uint64_t kMostDimensions = 32;  // HDF5's H5S_MAX_RANK

struct ScannedDistribution {
  DimensionPattern dimension;
  bool block_in_bytes = false;
};

ScannedDistribution scan_distribution(Scanner& scanner) {
  ScannedDistribution scanned{{Distribution::kWhole, 0, 1}};
  DimensionPattern& dimension = scanned.dimension;
  if (scanner.take("*")) return scanned;
  if (scanner.take("BLOCK")) {
    dimension.distribution = Distribution::kBlock;
  } else if (scanner.take("IRREGULAR")) {
    dimension.distribution = Distribution::kIrregular;
  } else {
    scanner.demand("CYCLIC");
    dimension.distribution = Distribution::kCyclic;
    if (scanner.take("(")) {
      dimension.cyclic_block = scanner.number();
      scanned.block_in_bytes = scanner.take("B");
      scanner.demand(")");
      if (dimension.cyclic_block == 0) throw Fault{"CYCLIC(0) is no distribution"};
      if (dimension.cyclic_block > 1) dimension.distribution = Distribution::kCyclicK;
    }
  }
  return scanned;
}

ParsedDescriptor scan_descriptor(std::string_view text) {
  Scanner scanner(text);
  scanner.demand("<");
  std::uint64_t n = scanner.number();
  scanner.demand("D");
  if (n == 0 || n > kMostDimensions) throw Fault{"a descriptor has 1 to 32 dimensions"};
  ParsedDescriptor descriptor;
  bool block_in_bytes = false;
  scanner.demand(",");
  bool parentheses = n > 1;
  if (scanner.take("(")) {
    parentheses = true;
  } else if (parentheses) {
    scanner.demand("(");
  }
  for (std::uint64_t d = 0; d < n; ++d) {
    if (d > 0) scanner.demand(",");
    if (block_in_bytes) throw Fault{"only the last dimension is counted in bytes"};
    ScannedDistribution scanned = scan_distribution(scanner);
    block_in_bytes = scanned.block_in_bytes;
    descriptor.dimensions.push_back(scanned.dimension);
  }
  if (parentheses) scanner.demand(")");
  scanner.demand(",");
  parentheses = n > 1;
  if (scanner.take("(")) {
    parentheses = true;
  } else if (parentheses) {
    scanner.demand("(");
  }
  for (std::uint64_t d = 0; d < n; ++d) {
    if (d > 0) scanner.demand(",");
    descriptor.dimensions[d].count = scanner.number();
  }
  descriptor.last_in_bytes = scanner.take("B");
  if (parentheses) scanner.demand(")");
  scanner.demand(">");
  if (!scanner.at_end()) throw Fault{"there is text behind the descriptor"};
  if (block_in_bytes && !descriptor.last_in_bytes) {
    throw Fault{"CYCLIC is in bytes, the count is not"};
  }
  return descriptor;
}

}  // namespace

Result<ParsedDescriptor> parse_descriptor(std::string_view text) noexcept {
  return guarded<ParsedDescriptor>([&] {
    try {
      return scan_descriptor(text);
    } catch (const Fault& fault) {
      throw Fault{"'" + std::string(text) + "' is no descriptor: " + fault.message};
    }
  });
}

std::string distribution_text(const DimensionPattern& dimension, bool bytes) {
  switch (dimension.distribution) {
    case Distribution::kBlock:
      return "BLOCK";
    case Distribution::kWhole:
      return "*";
    case Distribution::kIrregular:
      return "IRREGULAR";
    case Distribution::kCyclic:
      if (!bytes) return "CYCLIC";
      break;
    case Distribution::kCyclicK:
      break;
  }
  return "CYCLIC(" + std::to_string(dimension.cyclic_block) + (bytes ? " B)" : ")");
}

std::string descriptor_text(const ParsedDescriptor& descriptor) {
  std::string distributions, counts;
  for (std::size_t d = 0; d < descriptor.dimensions.size(); ++d) {
    bool bytes = descriptor.last_in_bytes && d + 1 == descriptor.dimensions.size();
    const DimensionPattern& dimension = descriptor.dimensions[d];
    if (d > 0) {
      distributions += ',';
      counts += ',';
    }
    distributions += distribution_text(dimension, bytes);
    counts += std::to_string(dimension.count) + (bytes ? " B" : "");
  }
  return "<" + std::to_string(descriptor.dimensions.size()) + "D,(" + distributions + "),(" +
         counts + ")>";
}

namespace {

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  // Columns of the database are signed.
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (b != 0 && a > kMost / b) throw Fault{"a dimension holds more than 2^63 bytes"};
  return a * b;
}

}  // namespace

ParsedDescriptor in_bytes(const ParsedDescriptor& descriptor, std::uint64_t element_bytes) {
  if (descriptor.last_in_bytes || descriptor.dimensions.empty()) return descriptor;
  if (element_bytes == 0) throw Fault{"elements of 0 bytes"};
  ParsedDescriptor bytes = descriptor;
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
  if (text.empty()) return numbers;
  Scanner scanner(text);
  numbers.push_back(scanner.number());
  while (scanner.take("x")) numbers.push_back(scanner.number());
  if (!scanner.at_end()) throw Fault{"'" + std::string(text) + "' is no list of numbers"};
  return numbers;
}

std::string byte_key(const Pattern& pattern) {
  std::string key = descriptor_text(in_bytes(pattern.descriptor, pattern.element_bytes));
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
