#include <charconv>

#include "analyzer/datasets/descriptor.h"

namespace iotune::analyzer {
namespace {

constexpr std::uint64_t kMaxDimensions = 32;  // H5S_MAX_RANK

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Descriptor> run() {
    Descriptor descriptor;
    std::uint64_t n = 0;
    const bool ok = take("<", "'<'") && number(n, "the number of dimensions") && in_range(n) &&
                    take("D", "'D'") && take(",", "','") &&
                    list(n, [&] { return distribution(descriptor); }) && take(",", "','") &&
                    counts(n, descriptor) && take(">", "'>'") && at_end();
    if (!ok) return Error{{}, error_};
    return descriptor;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool fail(std::size_t at, const std::string& what) {
    if (error_.empty()) error_ = "position " + std::to_string(at + 1) + ": " + what;
    return false;
  }
  bool accept(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool take(std::string_view word, const char* what) {
    return accept(word) || fail(at_, std::string("expected ") + what);
  }
  bool number(std::uint64_t& value, const char* what) {
    skip_spaces();
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) return fail(at_, "the number is too large");
    if (error != std::errc{}) return fail(at_, std::string("expected ") + what);
    if (value == 0) return fail(at_, std::string(what) + " cannot be 0");
    at_ += static_cast<std::size_t>(end - begin);
    return true;
  }
  bool in_range(std::uint64_t n) {
    return n <= kMaxDimensions || fail(at_, "more than 32 dimensions");
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size() || fail(at_, "expected the end");
  }

  template <typename Item>
  bool list(std::uint64_t n, Item item) {
    // CYCLIC(k) has parentheses of its own: only a leading one is the list's.
    const bool bare = !accept("(");
    if (bare && n > 1) return fail(at_, "expected '('");
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i > 0 && !take(",", "','")) return false;
      if (!item()) return false;
    }
    return bare || take(")", "')'");
  }

  bool distribution(Descriptor& descriptor) {
    DimensionPattern dimension{Distribution::kWhole, 0, 1};
    if (block_in_bytes_) return fail(at_, "only the last dimension is counted in bytes");
    if (accept("*")) {
    } else if (accept("BLOCK")) {
      dimension.distribution = Distribution::kBlock;
    } else if (accept("IRREGULAR")) {
      dimension.distribution = Distribution::kIrregular;
    } else if (accept("CYCLIC")) {
      dimension.distribution = Distribution::kCyclic;
      if (accept("(")) {
        if (!number(dimension.cyclic_block, "the block of CYCLIC")) return false;
        block_in_bytes_ = accept("B");
        if (!take(")", "')'")) return false;
        if (dimension.cyclic_block > 1) dimension.distribution = Distribution::kCyclicK;
      }
    } else {
      return fail(at_, "expected BLOCK, CYCLIC, CYCLIC(k), * or IRREGULAR");
    }
    descriptor.dimensions.push_back(dimension);
    return true;
  }

  bool counts(std::uint64_t n, Descriptor& descriptor) {
    std::size_t i = 0;
    return list(n, [&] {
      if (!number(descriptor.dimensions[i++].count, "a count")) return false;
      descriptor.last_in_bytes = i == n && accept("B");
      return i < n || descriptor.last_in_bytes || !block_in_bytes_ ||
             fail(at_, "CYCLIC is in bytes, the count is not");
    });
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool block_in_bytes_ = false;  // of the last distribution
  std::string error_;
};

}  // namespace

std::string distribution_text(const DimensionPattern& dimension, bool in_bytes) {
  switch (dimension.distribution) {
    case Distribution::kBlock:
      return "BLOCK";
    case Distribution::kWhole:
      return "*";
    case Distribution::kIrregular:
      return "IRREGULAR";
    case Distribution::kCyclic:
      if (!in_bytes) return "CYCLIC";
      break;
    case Distribution::kCyclicK:
      break;
  }
  return "CYCLIC(" + std::to_string(dimension.cyclic_block) + (in_bytes ? " B)" : ")");
}

std::string Descriptor::text() const {
  std::string distributions, counts;
  for (const DimensionPattern& dimension : dimensions) {
    const bool bytes = last_in_bytes && &dimension == &dimensions.back();
    if (!counts.empty()) {
      distributions += ',';
      counts += ',';
    }
    distributions += distribution_text(dimension, bytes);
    counts += std::to_string(dimension.count) + (bytes ? " B" : "");
  }
  return "<" + std::to_string(dimensions.size()) + "D,(" + distributions + "),(" + counts + ")>";
}

Result<Descriptor> parse_descriptor(std::string_view text) {
  return Parser(text).run();
}

}  // namespace iotune::analyzer
