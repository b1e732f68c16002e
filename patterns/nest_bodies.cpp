// How NestFinder makes terms into loops, and loops into loops of loops.
#include <cstring>

#include "patterns/loop_finder.h"
#include "patterns/nest_finder.h"

namespace iotune::patterns {
namespace {

// Every period up to this one is tried at every new term. Longer ones are tried where a term and
// its step were met before.
constexpr std::uint32_t kNearParts = 32;

// Have the term on top and the one below it made the same step twice, from one iteration of so
// many terms to the next? Two comparisons say whether whole iterations are worth comparing.
bool steps_agree(const std::uint64_t* top, std::size_t parts) noexcept {
  const std::uint64_t* below = parts == 1 ? top : top - 1;
  return top[0] - *(top - parts) == *(top - parts) - *(top - 2 * parts) &&
         below[0] - *(below - parts) == *(below - parts) - *(below - 2 * parts);
}

}  // namespace

void NestFinder::pop(std::uint32_t terms) noexcept {
  size_ -= terms;
  leaf_count_ = size_ == 0 ? 0 : terms_[size_].first_leaf;
}

bool NestFinder::reduce() noexcept {
  if (size_ < 2) return false;
  const std::uint32_t longest = size_ - 1 < kNearParts ? size_ - 1 : kNearParts;
  const std::uint64_t* top = prints_ + size_ - 1;
  const NestTerm* below = terms_ + size_ - 2;
  for (std::uint32_t b = 1; b <= longest; ++b, --below) {
    if (below->body != 0 && bodies_[below->body].parts == b && next_iteration(b)) return true;
    if (3 * b > size_) continue;
    if (steps_agree(top, b) && three_iterations(b)) return true;
  }
  const std::uint32_t far = far_period();
  return far > longest && far <= size_ / 3 && steps_agree(top, far) && three_iterations(far);
}

// How long ago the term on top came after the same step.
std::uint32_t NestFinder::far_period() noexcept {
  const NestTerm& term = terms_[size_ - 1];
  std::uint64_t key =
      mix((prints_[size_ - 1] - prints_[size_ - 2]) ^ term.count << 32U ^ term.body);
  std::uint32_t& met = recent_[key % kRecentNestSlots];
  const std::uint32_t now = dropped_ + size_;
  const std::uint32_t ago = now - met;
  met = now;
  return ago;
}

// Are the top terms one more iteration of the loop below them?
bool NestFinder::next_iteration(std::uint32_t parts) noexcept {
  const NestTerm* iteration = terms_ + size_ - parts;
  NestTerm& loop = terms_[size_ - parts - 1];
  const NestBody& body = bodies_[loop.body];
  if (prints_[size_ - parts] - prints_[size_ - parts - 1] != loop.count * body.stride_print) {
    return false;
  }
  const NestPart* part = parts_ + body.first_part;
  for (std::uint32_t i = 0; i < parts; ++i) {
    if (iteration[i].body != part[i].body || iteration[i].count != part[i].count) return false;
  }
  const Step* now = leaves_of(*iteration);
  const Step* first = leaves_of(loop);
  const Step* stride = strides_ + body.first_leaf;
  for (std::uint32_t l = 0; l < body.leaves; ++l) {
    if (now[l] != plus(first[l], times(stride[l], loop.count))) return false;
  }
  ++loop.count;
  pop(parts);
  barren_ = 0;
  return true;
}

// Are the top terms three iterations of one shape, each leaf in equal steps? Then they become a
// loop.
bool NestFinder::three_iterations(std::uint32_t parts) noexcept {
  const NestTerm* third = terms_ + size_ - parts;
  const NestTerm* second = third - parts;
  const NestTerm* first = second - parts;
  std::uint32_t depth = 0;
  for (std::uint32_t i = parts; i-- > 0;) {
    const NestTerm& a = first[i];
    const NestTerm& b = second[i];
    const NestTerm& c = third[i];
    if (a.body != b.body || b.body != c.body || a.count != b.count || b.count != c.count) {
      return false;
    }
    const std::uint32_t inner = bodies_[a.body].depth;
    depth = inner > depth ? inner : depth;
  }
  if (depth >= kMaxLoopDepth) return false;
  const std::uint32_t leaves = leaf_count_ - third->first_leaf;
  const Step* c = leaves_of(*third);
  const Step* b = c - leaves;
  const Step* a = b - leaves;
  for (std::uint32_t l = leaves; l-- > 0;) {
    if (minus(c[l], b[l]) != minus(b[l], a[l])) return false;
  }
  const std::uint32_t body = intern(first, parts);
  if (body == 0) return false;
  const std::uint32_t begin = size_ - 3 * parts;
  pop(2 * parts);
  size_ = begin + 1;
  terms_[begin] = {kLeastNestIterations, body, first->first_leaf};
  barren_ = 0;
  return true;
}

std::uint64_t NestFinder::hash_of(const NestBody& body) const noexcept {
  std::uint64_t hash = mix(body.parts);
  for (std::uint32_t p = 0; p < body.parts; ++p) {
    const NestPart& part = parts_[body.first_part + p];
    hash = mix(hash ^ part.count) + part.body;
  }
  for (std::uint32_t l = 0; l < body.leaves; ++l) {
    hash = mix(hash ^ print(strides_[body.first_leaf + l]));
  }
  return hash;
}

bool NestFinder::same_body(const NestBody& a, const NestBody& b) const noexcept {
  if (a.parts != b.parts || a.leaves != b.leaves) return false;
  for (std::uint32_t p = 0; p < a.parts; ++p) {
    const NestPart& x = parts_[a.first_part + p];
    const NestPart& y = parts_[b.first_part + p];
    if (x.body != y.body || x.count != y.count) return false;
  }
  for (std::uint32_t l = 0; l < a.leaves; ++l) {
    if (strides_[a.first_leaf + l] != strides_[b.first_leaf + l]) return false;
  }
  return true;
}

// The body of which this is one iteration; the next one follows on the stack. 0 if there is no room
// for a new body.
std::uint32_t NestFinder::intern(const NestTerm* iteration, std::uint32_t parts) noexcept {
  const auto limit = 2 * capacity_;
  const std::uint32_t leaves = iteration[parts].first_leaf - iteration->first_leaf;
  if (leaves > capacity_ / 3) {
    cramped_ = may_grow_;
    return 0;
  }
  if (body_count_ == capacity_ / 2 + 16 || part_count_ + parts > limit ||
      stride_count_ + leaves > limit) {
    bodies_full_ = true;
    return 0;
  }
  NestBody made{};
  made.parts = parts;
  made.first_part = part_count_;
  made.leaves = leaves;
  made.first_leaf = stride_count_;
  std::uint32_t cut = 0;
  for (std::uint32_t p = 0; p < parts; ++p) {
    const NestBody& inner = bodies_[iteration[p].body];
    parts_[part_count_ + p] = {iteration[p].count, iteration[p].body,
                               iteration[p].first_leaf - iteration->first_leaf};
    made.rows += inner.rows * iteration[p].count;
    if (inner.depth >= made.depth) made.depth = inner.depth;
    const std::uint32_t inner_cut =
        iteration[p].body == 0 ? 0 : 2 * inner.leaves + inner.cut_leaves;
    cut = inner_cut > cut ? inner_cut : cut;
  }
  ++made.depth;
  made.cut_leaves = leaves + cut;
  if (made.cut_leaves > capacity_ / 3 * 2 - 2) {
    cramped_ = may_grow_;
    return 0;
  }
  const Step* now = leaves_of(*iteration);
  for (std::uint32_t l = 0; l < leaves; ++l)
    strides_[stride_count_ + l] = minus(now[leaves + l], now[l]);
  made.stride_print = print(strides_[stride_count_]);
  auto slot = static_cast<std::uint32_t>(hash_of(made)) & table_mask_;
  for (; table_[slot] != 0; slot = (slot + 1) & table_mask_) {
    if (same_body(bodies_[table_[slot]], made)) return table_[slot];
  }
  part_count_ += parts;
  stride_count_ += leaves;
  bodies_[body_count_] = made;
  table_[slot] = body_count_;
  return body_count_++;
}

void NestFinder::forget_bodies() noexcept {
  std::memset(table_, 0, (std::size_t{table_mask_} + 1) * sizeof(std::uint32_t));
  body_count_ = 1;
  part_count_ = 0;
  stride_count_ = 0;
  bodies_full_ = false;
  ++generation_;
}

}  // namespace iotune::patterns
