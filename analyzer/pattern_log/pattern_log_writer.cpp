#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/pattern_log/channels.h"
#include "analyzer/pattern_log/coding/align_lists.h"
#include "analyzer/pattern_log/log_bytes.h"
#include "analyzer/pattern_log/pattern_log.h"
#include "analyzer/pattern_log/section.h"
#include "analyzer/pattern_log/stream_course.h"

namespace iotune::analyzer {

using pattern_log::kChannels;
using pattern_log::Section;
using pattern_log::StreamCourse;
using pattern_log::TermList;

// A leaf has a few dozen numbers at most, and a reader takes only so many of a section.
constexpr std::size_t kMostLeavesHeld = std::size_t{1} << 18U;

struct PatternLogWriter::State {
  struct Stream {
    explicit Stream(pattern_log::FoundTurns& turns) noexcept : channels(turns) {}
    // What it takes goes to one of them, but for physical offsets.
    pattern_log::CourseFollower follower;
    pattern_log::Channels channels;
    bool channels_used = false;
    std::uint64_t accesses = 0;
    std::size_t course = 0, tried = 0;  // which one it follows, and how many it did
    std::uint64_t physical_end = 0;
  };

  void take_lists(std::uint32_t number, Stream& stream) {
    for (std::uint32_t channel = 0; channel < kChannels; ++channel) {
      TermList& list = stream.channels.list(channel);
      if (!list.terms.empty()) section.pieces.push_back({number, channel, std::exchange(list, {})});
    }
  }

  // Of the stream that ended last, if it may be what others are like.
  void keep_course() {
    if (ended_accesses == 0) return;
    // Where no stream is like another one, most are not asked.
    if (unused_courses < kUnusedCourses || streams.size() % kSeldom == 0) {
      const auto pieces = std::span(section.pieces).subspan(ended_piece, ended_pieces);
      if (auto course = StreamCourse::of(section.shapes, pieces, ended_accesses)) {
        took(next_kept);
        courses[next_kept] = {std::move(course), next_kept};
        next_kept = (next_kept + 1) % kCourses;
        ++unused_courses;
      }
    }
    ended_accesses = 0;
  }

  void took(std::size_t course) {
    courses[last_course].next = course;
    last_course = course;
  }

  void add(Stream& stream, std::span<const patterns::Extent> accesses) {
    if (accesses.empty()) return;
    if (stream.accesses == 0) {
      keep_course();
      stream.course = courses[last_course].next;
      stream.tried = 1;
      if (courses[stream.course].course) stream.follower.begin(courses[stream.course].course);
    }
    stream.accesses += accesses.size();
    if (stream.follower.follows()) {
      const std::size_t taken = stream.follower.take(accesses);
      if (taken == accesses.size()) return;
      accesses = accesses.subspan(taken);
      replayed.clear();
      stream.follower.append_taken(replayed);
      for (; stream.tried < kCourses; ++stream.tried) {
        stream.course = (stream.course + 1) % kCourses;
        if (!courses[stream.course].course) continue;
        stream.follower.begin(courses[stream.course].course);
        if (stream.follower.take(replayed) == replayed.size() &&
            stream.follower.take(accesses) == accesses.size()) {
          return;
        }
      }
      stream.follower.stop();
      stream.channels.add(replayed, section.shapes);
    }
    stream.channels_used = true;
    stream.channels.add(accesses, section.shapes);
  }

  // The stream takes no course of others from here on.
  void leave_course(Stream& stream) {
    if (!stream.follower.follows()) return;
    replayed.clear();
    stream.follower.append_taken(replayed);
    stream.follower.stop();
    stream.channels_used = true;
    stream.channels.add(replayed, section.shapes);
  }

  void end(std::uint32_t number) {
    auto& stream = streams[number];
    if (!stream) return;
    const std::size_t first_piece = section.pieces.size();
    const bool follows = stream->follower.follows() && stream->follower.complete();
    if (follows) {
      held += stream->follower.append_pieces(number, section.pieces, memory);
      unused_courses = 0;
      took(stream->course);
    } else {
      leave_course(*stream);
    }
    if (stream->channels_used) {
      const std::size_t before = stream->channels.leaves_listed();
      stream->channels.finish(section.shapes);
      held += stream->channels.leaves_listed() - before;
      take_lists(number, *stream);
      // Once for all that take its course.
      for (std::size_t p = first_piece; p < section.pieces.size(); ++p) {
        pattern_log::join_cut_loop(section.shapes, section.pieces[p].list);
        section.pieces[p].joined = true;
      }
      stream->channels.restart();
    }
    if (!follows) {
      ended_piece = first_piece;
      ended_pieces = section.pieces.size() - first_piece;
      ended_accesses = stream->accesses;
    }
    stream->follower.stop();
    stream->channels_used = false;
    stream->accesses = 0;
    stream->physical_end = 0;
    spare = std::move(stream);
  }

  // Writes what left the finders.
  void flush(bool last) {
    for (std::uint32_t number = 0; number < streams.size() && !last; ++number) {
      auto& stream = streams[number];
      if (!stream) continue;
      leave_course(*stream);
      stream->channels.forget_shapes(section.shapes);
      take_lists(number, *stream);
    }
    pattern_log::append_section(pattern_log::encode_section(section), sections == 0 && last, bytes);
    section = {};
    memory.release();
    courses = {};
    last_course = 0;
    ended_accesses = 0;
    held = 0;
    ++sections;
  }

  PatternLogOptions options;
  std::pmr::monotonic_buffer_resource memory;  // of lists in `section`
  Section section;
  pattern_log::FoundTurns found_turns;
  std::vector<std::unique_ptr<Stream>> streams;
  std::unique_ptr<Stream> spare;  // most logs have many short streams, one behind the other
  std::unordered_map<std::string, std::uint32_t> names;
  std::size_t held = 0, sections = 0;
  std::vector<std::byte> bytes;
  std::vector<patterns::Extent> physical;

  // Courses that streams took, with the shapes of the section. `next`: what the stream after one
  // took; streams of several files, say, take turns.
  struct KeptCourse {
    std::shared_ptr<const StreamCourse> course;
    std::size_t next = 0;
  };
  static constexpr std::size_t kCourses = 4, kUnusedCourses = 4, kSeldom = 16;
  std::array<KeptCourse, kCourses> courses;
  std::size_t next_kept = 0, last_course = 0;
  std::size_t unused_courses = 0;  // kept since one was taken again
  std::vector<patterns::Extent> replayed;
  // The last stream that took none: its pieces, and how many accesses it has; 0: there is none.
  std::size_t ended_piece = 0, ended_pieces = 0;
  std::uint64_t ended_accesses = 0;
};

PatternLogWriter::PatternLogWriter(const PatternLogOptions& options)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->options.leaves_held = std::min(options.leaves_held, kMostLeavesHeld);
}
PatternLogWriter::~PatternLogWriter() = default;

std::uint32_t PatternLogWriter::add_stream(std::int64_t rank, std::string_view name) {
  const auto fresh = static_cast<std::uint32_t>(state_->names.size());
  const auto [known, added] = state_->names.try_emplace(std::string(name), fresh);
  if (added) state_->section.names.emplace_back(name);
  state_->section.streams.push_back({rank, known->second});
  if (!state_->spare) state_->spare = std::make_unique<State::Stream>(state_->found_turns);
  state_->streams.push_back(std::move(state_->spare));
  ++state_->held;
  return static_cast<std::uint32_t>(state_->streams.size() - 1);
}

void PatternLogWriter::add(std::uint32_t stream, std::span<const patterns::Extent> accesses,
                           std::span<const std::int64_t> physical_offsets) {
  State::Stream& to = *state_->streams[stream];
  // In batches, so that what is held stays bounded.
  constexpr std::size_t kBatch = std::size_t{1} << 16U;
  while (!accesses.empty()) {
    const std::size_t size = std::min(kBatch, accesses.size());
    const std::size_t listed = to.channels.leaves_listed();
    state_->add(to, accesses.first(size));
    if (!physical_offsets.empty()) {
      state_->physical.clear();
      for (std::size_t i = 0; i < size; ++i) {
        const auto offset = static_cast<std::uint64_t>(physical_offsets[i]);
        state_->physical.push_back({static_cast<std::int64_t>(offset - to.physical_end), 0});
        to.physical_end = offset + static_cast<std::uint64_t>(accesses[i].length);
      }
      to.channels_used = true;
      to.channels.add_physical(state_->physical, state_->section.shapes);
      physical_offsets = physical_offsets.subspan(size);
    }
    accesses = accesses.subspan(size);
    state_->held += to.channels.leaves_listed() - listed;
    if (state_->held >= state_->options.leaves_held) state_->flush(false);
  }
}

void PatternLogWriter::end_stream(std::uint32_t stream) {
  state_->end(stream);
  if (state_->held >= state_->options.leaves_held) state_->flush(false);
}

std::vector<std::byte> PatternLogWriter::take() {
  return std::exchange(state_->bytes, {});
}

std::vector<std::byte> PatternLogWriter::finish() {
  for (std::uint32_t number = 0; number < state_->streams.size(); ++number) {
    state_->end(number);
    if (state_->held >= state_->options.leaves_held) state_->flush(false);
  }
  state_->flush(true);
  return take();
}

}  // namespace iotune::analyzer
