#include "analyzer/pattern_log/stream_course.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/pattern_log/channels.h"

namespace iotune::analyzer::pattern_log {
namespace {

// A course is kept of streams with so many accesses a leaf.
constexpr std::uint64_t kAccessesOfLeaf = 2;
// Periods up to here are looked at for what may be found elsewhere.
constexpr std::size_t kNearPeriods = 4;
// So few accesses are quicker compared one by one.
constexpr std::uint64_t kShortRun = 4;
constexpr std::uint32_t kUnmet = UINT32_MAX;

Extent step_of(Extent from, Extent to) noexcept {
  return {signed_of(unsigned_of(to.offset) - unsigned_of(from.offset)),
          signed_of(unsigned_of(to.length) - unsigned_of(from.length))};
}

}  // namespace

class StreamCourse::Maker {
 public:
  Maker(const Shapes& shapes, StreamCourse& course) : shapes_(shapes), course_(course) {}

  // False where the lists do not say what the stream did.
  bool make(std::span<const Piece> pieces, std::uint64_t accesses) {
    for (const Piece& piece : pieces) {
      if (piece.channel == kPhysicalChannel) continue;
      Channel& channel = channels_[piece.channel];
      if (!channel.runs.empty()) return false;  // a channel comes once
      channel.runs.reserve(accesses);
      expand(piece.list, channel.runs);
      channel.numbers.assign(piece.list.leaves.size(), kUnmet);
      channel.list = &piece.list;
    }
    const Channel& turns = channels_[kTurnsChannel];
    if (turns.list == nullptr) {
      append_all(channels_[0]);
    } else {
      course_.runs_.reserve(accesses);
      for (const Run& run : turns.runs) {
        const Extent begin = moved(turns.list->leaves[run.leaf], run.from, 1);
        for (std::uint32_t i = 0; i < run.count; ++i) {
          const Extent turn = moved(begin, run.stride, i);
          append_from(static_cast<std::uint32_t>(turn.offset),
                      static_cast<std::uint64_t>(turn.length));
        }
      }
    }
    if (!whole_ || appended_ != accesses) return false;
    for (const Piece& piece : pieces) {
      if (piece.channel == kPhysicalChannel) continue;
      List& list = course_.lists_.emplace_back(List{piece.channel, piece.list, {}});
      if (piece.channel == kTurnsChannel) continue;
      list.leaves = channels_[piece.channel].numbers;
      forbid_others(list);
    }
    course_.accesses_ = accesses;
    return true;
  }

 private:
  struct Channel {
    std::vector<Run> runs;
    std::vector<std::uint32_t> numbers;  // of its leaves in the course
    const TermList* list = nullptr;
    std::size_t run = 0;
    std::uint32_t in_run = 0;
  };
  struct Level {
    std::uint32_t shape, leaf;
    std::uint64_t iteration;
  };
  // A term, or a part of a body.
  struct Member {
    std::uint64_t count;
    std::uint32_t shape, leaf;
    bool like(const Member& other) const noexcept {
      return count == other.count && shape == other.shape;
    }
  };

  void expand(const TermList& list, std::vector<Run>& runs) {
    std::uint32_t leaf = 0;
    for (const ShapeTerm& term : list.terms) {
      expand({term.count, term.shape, 0}, leaf, runs);
      leaf += shapes_[term.shape].leaves;
    }
  }
  void expand(const ShapePart& part, std::uint32_t leaf, std::vector<Run>& runs) {
    if (part.shape == 0) {
      runs.push_back({leaf, 1, displacement(leaf), {}});
      return;
    }
    const Shape& shape = shapes_[part.shape];
    if (shape.depth == 1 && shape.leaves == 1 && part.count > kShortRun) {
      const auto count = static_cast<std::uint32_t>(part.count);
      runs.push_back({leaf, count, displacement(leaf), shape.strides[0]});
      return;
    }
    if (shape.depth == 1 && levels_.empty()) {
      for (std::uint64_t i = 0; i < part.count; ++i) {
        for (std::uint32_t l = 0; l < shape.leaves; ++l) {
          runs.push_back({leaf + l, 1, moved({}, shape.strides[l], i), {}});
        }
      }
      return;
    }
    for (std::uint64_t i = 0; i < part.count; ++i) {
      levels_.push_back({part.shape, leaf, i});
      for (const ShapePart& inner : shape.parts) expand(inner, leaf + inner.first_leaf, runs);
      levels_.pop_back();
    }
  }
  Extent displacement(std::uint32_t leaf) const {
    Extent sum{};
    for (const Level& level : levels_) {
      sum = moved(sum, shapes_[level.shape].strides[leaf - level.leaf], level.iteration);
    }
    return sum;
  }

  void append_all(Channel& channel) {
    for (Run& run : channel.runs) {
      std::uint32_t& leaf = channel.numbers[run.leaf];
      if (leaf == kUnmet) leaf = course_.leaves_++;
      run.leaf = leaf;
      appended_ += run.count;
    }
    course_.runs_ = std::move(channel.runs);
  }

  void append_from(std::uint32_t number, std::uint64_t count) {
    if (number >= kAccessChannels) {
      whole_ = false;
      return;
    }
    Channel& channel = channels_[number];
    while (count > 0 && whole_) {
      if (channel.run == channel.runs.size()) {
        whole_ = false;
        return;
      }
      Run run = channel.runs[channel.run];
      const auto now =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(count, run.count - channel.in_run));
      std::uint32_t& leaf = channel.numbers[run.leaf];
      if (leaf == kUnmet) leaf = course_.leaves_++;
      run.leaf = leaf;
      run.from = moved(run.from, run.stride, channel.in_run);
      count -= now;
      channel.in_run += now;
      if (channel.in_run == run.count) {
        ++channel.run;
        channel.in_run = 0;
      }
      run.count = now;
      appended_ += now;
      course_.runs_.push_back(run);
    }
  }

  // What was not even here and would be found as a loop if it were.
  void forbid_others(const List& list) {
    members_.clear();
    std::uint32_t leaf = 0;
    for (const ShapeTerm& term : list.list.terms) {
      members_.push_back({term.count, term.shape, leaf});
      leaf += shapes_[term.shape].leaves;
    }
    forbid_others(list, members_);
    leaf = 0;
    for (const ShapeTerm& term : list.list.terms) {
      forbid_in_body(list, term.shape, leaf);
      leaf += shapes_[term.shape].leaves;
    }
  }
  void forbid_in_body(const List& list, std::uint32_t shape, std::uint32_t leaf) {
    const std::vector<ShapePart>& parts = shapes_[shape].parts;
    if (parts.size() > 1) {
      members_.clear();
      for (const ShapePart& part : parts) {
        members_.push_back({part.count, part.shape, leaf + part.first_leaf});
      }
      forbid_others(list, members_);
    }
    for (const ShapePart& part : parts) forbid_in_body(list, part.shape, leaf + part.first_leaf);
  }
  void forbid_others(const List& list, std::span<const Member> members) {
    const auto at = [&](const Member& member) { return list.list.leaves[member.leaf]; };
    const auto number = [&](const Member& member) { return list.leaves[member.leaf]; };
    const auto join = [&](const Member& a, const Member& b, Extent step) {
      if (step_of(at(a), at(b)) != step)
        course_.not_joined_.push_back({number(a), number(b), step});
    };
    for (std::size_t t = 0; t < members.size(); ++t) {
      const auto behind = members.subspan(t);
      for (std::size_t b = 1; b <= kNearPeriods && 3 * b <= behind.size(); ++b) {
        std::size_t uneven = b;
        std::size_t i = 0;
        for (; i < b; ++i) {
          const Member &first = behind[i], &second = behind[b + i], &third = behind[2 * b + i];
          if (!first.like(second) || !second.like(third)) break;
          if (step_of(at(first), at(second)) != step_of(at(second), at(third))) uneven = i;
        }
        if (i < b || uneven == b) continue;
        course_.not_even_.push_back(
            {number(behind[uneven]), number(behind[b + uneven]), number(behind[2 * b + uneven])});
      }
      if (members[t].shape == 0) continue;
      // Iterations of a loop, behind it or before it.
      const Shape& shape = shapes_[members[t].shape];
      const std::size_t period = shape.parts.size();
      const auto is_iteration = [&](std::span<const Member> terms) {
        for (std::size_t p = 0; p < period; ++p) {
          if (terms[p].count != shape.parts[p].count || terms[p].shape != shape.parts[p].shape) {
            return false;
          }
        }
        return true;
      };
      const Extent stride = shape.strides[0];
      const bool again = behind.size() > 1 && behind[1].shape == members[t].shape;
      if (again || (behind.size() > period && is_iteration(behind.subspan(1)))) {
        join(members[t], behind[1], moved({}, stride, members[t].count));
      }
      if (t >= period && is_iteration(members.subspan(t - period))) {
        join(members[t - period], members[t], stride);
      }
    }
  }

  const Shapes& shapes_;
  StreamCourse& course_;
  std::array<Channel, kChannels> channels_;
  std::vector<Level> levels_;
  std::vector<Member> members_;
  std::uint64_t appended_ = 0;
  bool whole_ = true;
};

std::shared_ptr<const StreamCourse> StreamCourse::of(const Shapes& shapes,
                                                     std::span<const Piece> pieces,
                                                     std::uint64_t accesses) {
  if (accesses > kMostAccesses) return nullptr;
  std::uint64_t leaves = 0;
  for (const Piece& piece : pieces) {
    if (piece.channel != kPhysicalChannel) leaves += piece.list.leaves.size();
  }
  if (leaves * kAccessesOfLeaf > accesses) return nullptr;
  auto course = std::make_shared<StreamCourse>();
  if (!Maker(shapes, *course).make(pieces, accesses)) return nullptr;
  return course;
}

void CourseFollower::begin(std::shared_ptr<const StreamCourse> course) {
  course_ = std::move(course);
  leaves_.resize(course_->leaves_);
  met_ = 0;
  run_ = 0;
  in_run_ = 0;
  taken_ = 0;
}

std::size_t CourseFollower::take(std::span<const Extent> accesses) {
  if (accesses.size() > course_->accesses_ - taken_) return 0;
  const StreamCourse::Run* run = course_->runs_.data() + run_;
  Extent* const leaves = leaves_.data();
  const Extent* at = accesses.data();
  const Extent* const end = at + accesses.size();
  std::uint32_t met = met_, in_run = in_run_;
  while (at < end) {
    if (run->leaf == met) leaves[met++] = *at;
    Extent wanted = moved(leaves[run->leaf], run->from, 1);
    if (run->count == 1) {
      // As most are where loops have bodies of many parts.
      if (*at != wanted) break;
      ++at;
      ++run;
      continue;
    }
    wanted = moved(wanted, run->stride, in_run);
    const Extent* const most = at + std::min<std::ptrdiff_t>(run->count - in_run, end - at);
    const Extent* const begun = at;
    while (at < most && *at == wanted) {
      wanted = moved(wanted, run->stride, 1);
      ++at;
    }
    in_run += static_cast<std::uint32_t>(at - begun);
    if (in_run == run->count) {
      ++run;
      in_run = 0;
    } else if (at < most) {
      break;
    }
  }
  met_ = met;
  in_run_ = in_run;
  run_ = static_cast<std::size_t>(run - course_->runs_.data());
  const auto taken = static_cast<std::size_t>(at - accesses.data());
  taken_ += taken;
  return taken;
}

void CourseFollower::append_taken(std::vector<Extent>& accesses) const {
  std::uint64_t left = taken_;
  for (const StreamCourse::Run& run : course_->runs_) {
    if (left == 0) return;
    Extent at = moved(leaves_[run.leaf], run.from, 1);
    for (std::uint32_t i = 0; i < run.count && left > 0; ++i, --left) {
      accesses.push_back(at);
      at = moved(at, run.stride, 1);
    }
  }
}

bool CourseFollower::complete() const noexcept {
  if (taken_ != course_->accesses_) return false;
  const auto step = [this](std::uint32_t from, std::uint32_t to) {
    return step_of(leaves_[from], leaves_[to]);
  };
  for (const auto& [a, b, c] : course_->not_even_) {
    if (step(a, b) == step(b, c)) return false;
  }
  return std::none_of(
      course_->not_joined_.begin(), course_->not_joined_.end(),
      [&](const StreamCourse::JoinedLeaves& two) { return step(two.a, two.b) == two.step; });
}

std::size_t CourseFollower::append_pieces(std::uint32_t stream, std::vector<Piece>& pieces,
                                          std::pmr::memory_resource& memory) const {
  std::size_t leaves = 0;
  for (const StreamCourse::List& like : course_->lists_) {
    TermList list{{like.list.terms, &memory}, std::pmr::vector<Extent>(&memory)};
    list.leaves.reserve(like.list.leaves.size());
    if (like.leaves.empty()) {
      list.leaves = like.list.leaves;
    } else {
      for (const std::uint32_t leaf : like.leaves) list.leaves.push_back(leaves_[leaf]);
    }
    leaves += list.leaves.size();
    pieces.push_back({stream, like.channel, std::move(list), true});
  }
  return leaves;
}

}  // namespace iotune::analyzer::pattern_log
