// A stream as channels: sequences of extents that are regular by themselves. Most streams have one.
// Accesses that do not belong to the loop they came in (noise) get one of their own, so that the
// loop stays whole; loops whose accesses come in turns get one each.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/pattern_log/find_terms.h"
#include "analyzer/pattern_log/noise_sieve.h"
#include "analyzer/pattern_log/shapes.h"

namespace iotune::analyzer::pattern_log {

// Channels of a stream, by number. Lower ones hold its accesses.
inline constexpr std::uint32_t kAccessChannels = 6;
// (channel, how many accesses in a row are from there), where there is more than one.
inline constexpr std::uint32_t kTurnsChannel = 6;
// (physical offset - where the access before ended, 0), where physical offsets are known.
inline constexpr std::uint32_t kPhysicalChannel = 7;
inline constexpr std::uint32_t kChannels = 8;

// In which turns the loops of a stream are expected to come: `turn` accesses of each of `ways`.
struct Turns {
  std::uint32_t ways = 1;
  std::uint32_t turn = 1;
  bool sifted = false;  // a NoiseSieve takes noise out first
};

// What was found for other streams of the log, the last ones: ranks are often alike, and trying all
// turns is slow.
struct FoundTurns {
  struct Sample {
    std::size_t accesses = 0, as_one = 0;  // about what there is to write of so many as they come
    std::size_t in_turns = 0;              // and in these turns, if they are better
    Turns turns;
  };
  std::array<Sample, 8> samples;
  std::size_t next = 0;
};

// The steps that a channel made, the latest ones: a random access makes one of them hardly ever.
class FamiliarSteps {
 public:
  bool contains(const Extent& access) const noexcept {
    const std::uint64_t mark = mark_of(access);
    return marks_[mark >> kShift] == mark;
  }
  void took(std::span<const Extent> accesses) noexcept {
    for (const Extent& access : accesses) {
      const std::uint64_t mark = mark_of(access);
      marks_[mark >> kShift] = mark;
      last_ = unsigned_of(access.offset);
    }
  }

 private:
  static constexpr unsigned kShift = 57;
  std::uint64_t mark_of(const Extent& access) const noexcept {
    // Zero is no mark.
    return ((unsigned_of(access.offset) - last_) * 0x9e3779b97f4a7c15U +
            unsigned_of(access.length) * 0xd1342543de82ef95U) |
           1U;
  }
  std::uint64_t last_ = 0;
  std::array<std::uint64_t, std::size_t{1} << (64 - kShift)> marks_{};
};

class Channels {
 public:
  // `found`, shared by the streams of a log, outlives them all.
  explicit Channels(FoundTurns& found) noexcept : found_(&found) {}

  void add(std::span<const Extent> accesses, Shapes& shapes);
  void add_physical(std::span<const Extent> steps, Shapes& shapes) {
    add_to(kPhysicalChannel, steps, shapes);
  }
  void finish(Shapes& shapes);
  // For another stream, with the same memory; finish() comes first, and the lists are taken away.
  void restart();

  // What left the finders; to be taken away by code that wants the room.
  TermList& list(std::uint32_t channel) noexcept { return lists_[channel]; }
  // Leaves of all lists.
  std::size_t leaves_listed() const noexcept;
  // All lists are taken away next, and these shapes with them.
  void forget_shapes(Shapes& shapes);

 private:
  explicit Channels(Turns turns);

  void add_sifted(std::span<const Extent> accesses, Shapes& shapes);
  void add_in_turns(std::span<const Extent> accesses, Shapes& shapes);
  void choose_turns(Shapes& shapes);
  struct Numbers {
    std::size_t all, in_loops;
  };
  // Accesses taken apart so.
  struct Tried;
  void set_turns(Tried&& tried, std::span<const Extent> sample, Shapes& shapes);
  std::size_t numbers_held() const noexcept;
  std::size_t numbers_in_loops() const noexcept;
  void add_to(std::uint32_t channel, std::span<const Extent> accesses, Shapes& shapes);
  void take(std::uint32_t channel, std::span<const Extent> accesses, Shapes& shapes);
  void took(std::uint32_t channel, std::uint64_t count, Shapes& shapes);
  void decide(const Extent& access, Shapes& shapes);
  void place_pending(std::uint32_t channel, Shapes& shapes);
  bool repeats_structure(const Extent& pending) noexcept;
  TermFinder& finder(std::uint32_t channel);
  void take_noise(std::span<const Extent> noise, Shapes& shapes);
  bool expects(std::uint32_t channel, const Extent& access) const noexcept {
    return finders_[channel] && finders_[channel]->expects(access);
  }
  FamiliarSteps& familiar(std::uint32_t channel) {
    if (!familiar_[channel]) familiar_[channel] = std::make_unique<FamiliarSteps>();
    return *familiar_[channel];
  }
  bool is_familiar(std::uint32_t channel, const Extent& access) const noexcept {
    return familiar_[channel] && familiar_[channel]->contains(access);
  }
  std::uint32_t due() const noexcept;

  Turns turns_;
  FoundTurns* found_ = nullptr;
  std::unique_ptr<NoiseSieve> sieve_;  // if turns_.sifted
  std::array<std::unique_ptr<TermFinder>, kChannels> finders_;
  std::array<TermList, kChannels> lists_;

  std::array<std::unique_ptr<FamiliarSteps>, kAccessChannels> familiar_;  // if they take turns

  // The first accesses, until it is decided in which turns they come.
  bool sampling_ = true;
  std::vector<Extent> sample_;

  // Accesses that may be noise: what comes next tells.
  static constexpr std::size_t kMostPending = 3;
  std::array<Extent, kMostPending> pending_{};
  std::size_t pending_count_ = 0;

  std::array<std::uint64_t, kAccessChannels> taken_at_{};  // of `taken_` accesses but for noise
  std::uint64_t taken_ = 0;
  std::uint32_t channel_ = 0;  // of the last access but for noise
  std::uint32_t in_turn_ = 0;  // accesses of it in a row
  std::uint32_t run_channel_ = 0;
  std::uint64_t run_ = 0;  // accesses in a row of run_channel_, not in the turns yet
  bool one_channel_ = true;
  std::uint64_t since_noise_ = 0, last_gap_ = 0;
  std::int64_t last_noise_length_ = -1;
};

struct Channels::Tried {
  Tried(Turns turns, std::span<const Extent> accesses);

  Channels channels;
  Shapes shapes;
  Numbers numbers = {SIZE_MAX, SIZE_MAX};  // if the first ones show that it is too much
};

}  // namespace iotune::analyzer::pattern_log
