#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/pattern_log/channels.h"
#include "analyzer/pattern_log/log_bytes.h"
#include "analyzer/pattern_log/pattern_log.h"
#include "analyzer/pattern_log/section.h"

namespace iotune::analyzer {

using pattern_log::kChannels;
using pattern_log::Section;
using pattern_log::TermList;

// A leaf has a few dozen numbers at most, and a reader takes only so many of a section.
constexpr std::size_t kMostLeavesHeld = std::size_t{1} << 18U;

struct PatternLogWriter::State {
  struct Stream {
    explicit Stream(pattern_log::FoundTurns& turns) noexcept : channels(turns) {}
    pattern_log::Channels channels;
    std::uint64_t physical_end = 0;
  };

  void take_lists(std::uint32_t number, Stream& stream) {
    for (std::uint32_t channel = 0; channel < kChannels; ++channel) {
      TermList& list = stream.channels.list(channel);
      if (!list.terms.empty()) section.pieces.push_back({number, channel, std::exchange(list, {})});
    }
  }

  void end(std::uint32_t number) {
    auto& stream = streams[number];
    if (!stream) return;
    const std::size_t before = stream->channels.leaves_listed();
    stream->channels.finish(section.shapes);
    held += stream->channels.leaves_listed() - before;
    take_lists(number, *stream);
    stream->channels.restart();
    stream->physical_end = 0;
    spare = std::move(stream);
  }

  // Writes what left the finders.
  void flush(bool last) {
    for (std::uint32_t number = 0; number < streams.size() && !last; ++number) {
      auto& stream = streams[number];
      if (!stream) continue;
      stream->channels.forget_shapes(section.shapes);
      take_lists(number, *stream);
    }
    pattern_log::append_section(pattern_log::encode_section(section), sections == 0 && last, bytes);
    section = {};
    held = 0;
    ++sections;
  }

  PatternLogOptions options;
  Section section;
  pattern_log::FoundTurns found_turns;
  std::vector<std::unique_ptr<Stream>> streams;
  std::unique_ptr<Stream> spare;  // most logs have many short streams, one behind the other
  std::unordered_map<std::string, std::uint32_t> names;
  std::size_t held = 0, sections = 0;
  std::vector<std::byte> bytes;
  std::vector<patterns::Extent> physical;
};

PatternLogWriter::PatternLogWriter(const PatternLogOptions& options)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->options.leaves_held = std::min(options.leaves_held, kMostLeavesHeld);
}
PatternLogWriter::~PatternLogWriter() = default;

std::uint32_t PatternLogWriter::add_stream(std::int64_t rank, std::string_view name) {
  const auto fresh = static_cast<std::uint32_t>(state_->names.size());
  const auto [known, added] = state_->names.emplace(name, fresh);
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
    to.channels.add(accesses.first(size), state_->section.shapes);
    if (!physical_offsets.empty()) {
      state_->physical.clear();
      for (std::size_t i = 0; i < size; ++i) {
        const auto offset = static_cast<std::uint64_t>(physical_offsets[i]);
        state_->physical.push_back({static_cast<std::int64_t>(offset - to.physical_end), 0});
        to.physical_end = offset + static_cast<std::uint64_t>(accesses[i].length);
      }
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
