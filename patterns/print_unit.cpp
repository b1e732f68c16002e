#include "patterns/print_unit.h"

#include <cstdint>

namespace iotune::patterns {
namespace {

// Counts everything and keeps what fits.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> text) noexcept : text_(text) {}

  void character(char c) noexcept {
    if (length_ + 1 < text_.size()) text_[length_] = c;
    ++length_;
  }
  void string(const char* characters) noexcept {
    while (*characters != '\0') character(*characters++);
  }
  void number(std::uint64_t value) noexcept {
    char digits[20];
    unsigned count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count != 0) character(digits[--count]);
  }
  void signed_number(std::uint64_t bits) noexcept {
    const bool negative = bits >> 63U != 0;
    if (negative) character('-');
    number(negative ? 0U - bits : bits);
  }
  std::size_t finish() noexcept {
    if (!text_.empty()) text_[length_ < text_.size() ? length_ : text_.size() - 1] = '\0';
    return length_;
  }

 private:
  std::span<char> text_;
  std::size_t length_ = 0;
};

// Walks the values of one dimension in a run of atoms, or in the runs that make
// up a loop's body.
class Walk {
 public:
  Walk(const TermTree& tree, const Term* run, unsigned dim) noexcept
      : tree_(tree), run_(run), dim_(dim) {}

  bool at_end() const noexcept { return run_ == nullptr; }
  std::uint64_t value() const noexcept {
    return static_cast<std::uint64_t>(run_->values[std::size_t{row_} * tree_.dims + dim_]);
  }
  void next() noexcept {
    if (++row_ != run_->count) return;
    row_ = 0;
    run_ = tree_.next(*run_);
  }

 private:
  const TermTree& tree_;
  const Term* run_;
  unsigned dim_;
  std::uint32_t row_ = 0;
};

}  // namespace

std::size_t print_unit(const TermTree& tree, const Term& term, unsigned dim,
                       std::span<char> text) noexcept {
  const bool is_loop = term.kind == Term::Kind::kLoop;
  if (dim >= tree.dims || (is_loop && term.stride == nullptr)) return 0;
  for (const Term* part = is_loop ? tree.first_child(term) : nullptr; part != nullptr;
       part = tree.next(*part)) {
    if (part->kind == Term::Kind::kLoop) return 0;
  }
  // A run of atoms ends nowhere: its last delta is written as 0.
  std::uint64_t back_to_start = 0;
  TextWriter out(text);
  out.character('[');
  out.signed_number(static_cast<std::uint64_t>(term.values[dim]));
  out.string(",(");
  const Term alone = [&term] {
    Term copy = term;
    copy.next = Term::kNone;
    return copy;
  }();
  Walk walk(tree, is_loop ? tree.first_child(term) : &alone, dim);
  std::uint64_t value = walk.value();
  if (is_loop) back_to_start = value + static_cast<std::uint64_t>(term.stride[dim]);
  for (walk.next(); !walk.at_end(); walk.next()) {
    out.signed_number(walk.value() - value);
    out.character(',');
    value = walk.value();
  }
  out.signed_number(is_loop ? back_to_start - value : 0);
  out.string(")^");
  out.number(is_loop ? term.count : 1);
  out.string("] n=");
  out.number(term.rows);
  return out.finish();
}

}  // namespace iotune::patterns
