#include "patterns/predict/baselines/markov_predictor.h"

#include <algorithm>

namespace iotune::patterns {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kProbes = 128;  // of a block's transitions no more are found

}  // namespace

std::int64_t MarkovPredictor::block_of(const Extent& access) const noexcept {
  const std::int64_t block = access.offset / block_bytes_;
  return access.offset % block_bytes_ < 0 ? block - 1 : block;
}

std::size_t MarkovPredictor::place_of(std::int64_t block) const noexcept {
  const std::uint64_t mixed = static_cast<std::uint64_t>(block) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>((mixed ^ mixed >> 32u) % slots_.size());
}

MarkovPredictor::Transition* MarkovPredictor::slot(std::int64_t from, std::int64_t to) noexcept {
  if (slots_.empty()) return nullptr;
  std::size_t at = place_of(from);
  for (std::size_t probe = 0; probe < std::min(kProbes, slots_.size()); ++probe) {
    Transition& one = slots_[at];
    if (one.count == 0) {
      one = {from, to, {}, 0};
      return &one;
    }
    if (one.from == from && one.to == to) return &one;
    if (++at == slots_.size()) at = 0;
  }
  return nullptr;
}

const MarkovPredictor::Transition* MarkovPredictor::likeliest(std::int64_t from) const noexcept {
  if (slots_.empty()) return nullptr;
  const Transition* best = nullptr;
  std::size_t at = place_of(from);
  for (std::size_t probe = 0; probe < std::min(kProbes, slots_.size()); ++probe) {
    const Transition& one = slots_[at];
    if (one.count == 0) break;
    if (one.from == from && (best == nullptr || one.count > best->count)) best = &one;
    if (++at == slots_.size()) at = 0;
  }
  return best;
}

void MarkovPredictor::observe(Extent access) noexcept {
  if (seen_) {
    const Transition* expected = likeliest(block_of(last_));
    rate_.saw(expected != nullptr && expected->last == access);
    if (Transition* taken = slot(block_of(last_), block_of(access)); taken != nullptr) {
      if (taken->count == 0) ++used_;
      ++taken->count;
      taken->last = access;
    }
  }
  last_ = access;
  seen_ = true;
}

unsigned MarkovPredictor::predict(std::span<Prediction> out) const noexcept {
  if (!seen_) return 0;
  Confidence confidence(rate_.share());
  std::int64_t block = block_of(last_);
  unsigned made = 0;
  for (; made < out.size(); ++made) {
    const Transition* next = likeliest(block);
    if (next == nullptr) break;
    out[made] = {next->last, confidence.next()};
    block = next->to;
  }
  return made;
}

bool MarkovPredictor::save(ByteWriter& out) const noexcept {
  const ByteWriter::Mark start = out.mark();
  out.u8(kVersion);
  out.svarint(block_bytes_);
  out.varint(used_);
  std::int64_t before = 0;
  for (const Transition& one : slots_) {
    if (one.count == 0) continue;
    out.svarint(minus(one.from, before));
    out.svarint(minus(one.to, one.from));
    out.svarint(one.last.offset);
    out.svarint(one.last.length);
    out.varint(one.count);
    before = one.from;
  }
  if (!out.overflowed()) return true;
  out.rewind(start);
  return false;
}

bool MarkovPredictor::load(ByteReader& in) noexcept {
  const std::uint8_t version = in.u8();
  const std::int64_t block_bytes = in.svarint();
  if (in.failed() || version != kVersion || block_bytes != block_bytes_) return false;
  std::int64_t from = 0;
  for (std::uint64_t left = in.varint(); left > 0 && !in.failed(); --left) {
    from = plus(from, in.svarint());
    const std::int64_t to = plus(from, in.svarint());
    Extent last = {};
    last.offset = in.svarint();
    last.length = in.svarint();
    const std::uint64_t count = in.varint();
    if (in.failed() || count == 0) return false;
    Transition* taken = slot(from, to);
    if (taken == nullptr) continue;
    if (taken->count == 0) ++used_;
    taken->count += count;
    if (taken->count < count) taken->count = UINT64_MAX;
    taken->last = last;
  }
  return !in.failed();
}

}  // namespace iotune::patterns
