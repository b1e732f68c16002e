// Markov by blocks: from the block of an access the file goes to the block that it went to most
// often. J. Oly, D. Reed, "Markov model prediction of I/O requests for scientific applications",
// ICS 2002; as a comparator in HPDC 2013, section 4.3, with blocks of 8 KB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"
#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

// The model is kept in the caller's memory. A full one learns no new transitions.
//
// A block says neither where in it nor how much is read: to predict offset and length, each
// transition keeps the access that it led to last, which the papers' model does not have.
class MarkovPredictor {
 public:
  struct Transition {
    std::int64_t from, to;  // blocks
    Extent last;            // the access that it led to last
    std::uint64_t count;    // 0: the slot is free
  };
  static constexpr std::int64_t kBlockBytes = 8192;

  // `slots` must be zero and outlive the predictor; block_bytes > 0.
  MarkovPredictor(std::span<Transition> slots, std::int64_t block_bytes) noexcept
      : slots_(slots), block_bytes_(block_bytes) {}

  void observe(Extent access) noexcept;
  unsigned predict(std::span<Prediction> out) const noexcept;

  // The model stays, but not the place in it: for the next run over the same file.
  void begin_run() noexcept { seen_ = false; }

  std::size_t transitions() const noexcept { return used_; }

  // The model as bytes: version, block size, transitions. False if `out` is too small; it is then
  // as it was.
  bool save(ByteWriter& out) const noexcept;
  // Adds a saved model to this one. False on damage, or for another block size; what was read by
  // then stays. Where slots run out, the rest is passed over.
  bool load(ByteReader& in) noexcept;

 private:
  std::int64_t block_of(const Extent& access) const noexcept;
  std::size_t place_of(std::int64_t block) const noexcept;
  Transition* slot(std::int64_t from, std::int64_t to) noexcept;
  const Transition* likeliest(std::int64_t from) const noexcept;

  std::span<Transition> slots_;
  std::int64_t block_bytes_;
  Extent last_ = {};
  std::size_t used_ = 0;
  HitRate rate_;
  bool seen_ = false;
};

}  // namespace iotune::patterns
