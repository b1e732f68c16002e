#include "patterns/predict/recorded_plan.h"

#include <algorithm>

#include "patterns/tuple_loops.h"

namespace iotune::patterns {
namespace {

static_assert(sizeof(Extent) == 2 * sizeof(std::int64_t));

std::span<const std::int64_t> values_of(std::span<const Extent> accesses) noexcept {
  return {&accesses.data()->offset, 2 * accesses.size()};
}

}  // namespace

std::size_t plan_scratch_bytes() noexcept {
  return scratch_bytes(kPlanPiece, 2) + plan_bytes_limit(kPlanPiece);
}

std::size_t plan_bytes_limit(std::size_t accesses) noexcept {
  const std::size_t pieces = (accesses + kPlanPiece - 1) / kPlanPiece;
  return accesses * 2 * kMaxVarintBytes + pieces * (1 + 2 * kMaxVarintBytes);
}

bool write_plan(std::span<const Extent> accesses, std::span<std::byte> scratch,
                ByteWriter& out) noexcept {
  if (scratch.size() < plan_scratch_bytes()) return false;
  const ByteWriter::Mark start = out.mark();
  const std::span<std::byte> encoded = scratch.last(plan_bytes_limit(kPlanPiece));
  const std::span<std::byte> rest = scratch.first(scratch.size() - encoded.size());
  while (!accesses.empty()) {
    const std::span<const Extent> piece = accesses.first(std::min(accesses.size(), kPlanPiece));
    accesses = accesses.subspan(piece.size());
    ByteWriter one(encoded);
    if (!encode_tuples(values_of(piece), piece.size(), 2, rest, one)) {
      out.rewind(start);
      return false;
    }
    out.varint(piece.size());
    out.varint(one.bytes_used());
    out.raw(encoded.data(), one.bytes_used());
  }
  if (!out.overflowed()) return true;
  out.rewind(start);
  return false;
}

PlanPredictor::PlanPredictor(std::span<const std::byte> plan) noexcept : in_(plan) {
  read_piece();
  read_piece();
}

// Into the half of the ring that is behind.
bool PlanPredictor::read_piece() noexcept {
  if (in_.failed() || in_.bytes_left() == 0) return false;
  const std::uint64_t n = in_.varint();
  const std::uint64_t bytes = in_.varint();
  ByteReader piece(in_.take(bytes));
  if (in_.failed() || n == 0 || n > kPlanPiece) {
    in_.fail();
    return false;
  }
  Extent* to = pieces_ + count_ % (2 * kPlanPiece);
  if (!decode_tuples(piece, n, 2, {&to->offset, 2 * n})) {
    in_.fail();
    return false;
  }
  count_ += n;
  // Only the last piece may be short: the ring is filled by whole ones.
  if (n < kPlanPiece) in_ = ByteReader({});
  return true;
}

void PlanPredictor::observe(Extent access) noexcept {
  const std::size_t near = std::min<std::size_t>(left(), kAhead);
  std::size_t found = 0;
  while (found < near && !(ahead(found) == access)) ++found;
  rate_.saw(near > 0 && found == 0);
  if (found == near) return;
  at_ += found + 1;
  if (left() <= kPlanPiece) read_piece();
}

unsigned PlanPredictor::predict(std::span<Prediction> out) const noexcept {
  Confidence confidence(rate_.share());
  const auto made = static_cast<unsigned>(std::min<std::size_t>(left(), out.size()));
  for (unsigned i = 0; i < made; ++i) out[i] = {ahead(i), confidence.next()};
  return made;
}

}  // namespace iotune::patterns
