// An earlier run's accesses as a plan for this one: what is predicted is what came then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"
#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

// Pieces of at most this many accesses, each: varint count, varint bytes, then an encode_tuples
// encoding of (offset, length). A piece of regular accesses takes some 20 bytes.
inline constexpr std::size_t kPlanPiece = 1024;

// Bytes of scratch for write_plan.
std::size_t plan_scratch_bytes() noexcept;
// Upper bound of what write_plan appends.
std::size_t plan_bytes_limit(std::size_t accesses) noexcept;

// False, with `out` as it was, where scratch or out is too small.
bool write_plan(std::span<const Extent> accesses, std::span<std::byte> scratch,
                ByteWriter& out) noexcept;

class PlanPredictor {
 public:
  // The bytes must outlive it. A damaged plan ends where the damage is.
  explicit PlanPredictor(std::span<const std::byte> plan) noexcept;

  // False where there are bytes, and no access can be read of them: that is no plan.
  bool is_plan() const noexcept { return count_ > 0 || !in_.failed(); }

  // Where the run leaves the plan, the access is sought among the kAhead next of it; one that is
  // not there is taken for an extra one.
  void observe(Extent access) noexcept;
  // Ends early at the end of the plan.
  unsigned predict(std::span<Prediction> out) const noexcept;

 private:
  static constexpr std::size_t kAhead = 16;

  bool read_piece() noexcept;
  std::size_t left() const noexcept { return count_ - at_; }
  const Extent& ahead(std::size_t n) const noexcept {
    return pieces_[(at_ + n) % (2 * kPlanPiece)];
  }

  ByteReader in_;
  std::uint64_t at_ = 0;     // accesses of the plan that are behind
  std::uint64_t count_ = 0;  // decoded so far
  HitRate rate_;
  Extent pieces_[2 * kPlanPiece];  // a ring
};

}  // namespace iotune::patterns
