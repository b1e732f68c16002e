#include <array>
#include <utility>

#include "analyzer/pattern_log/channels.h"
#include "analyzer/pattern_log/log_bytes.h"
#include "analyzer/pattern_log/pattern_log.h"
#include "analyzer/pattern_log/section.h"

namespace iotune::analyzer {

using pattern_log::Section;

struct PatternLogReader::State {
  // The section last asked for is kept: one after the other is read of most streams.
  std::shared_ptr<const Section> section(std::size_t number) {
    if (kept && kept_number == number) return kept;
    auto read = std::make_shared<Section>();
    if (!pattern_log::decode_section(sections[number], false, *read)) return nullptr;
    kept = std::move(read);
    kept_number = number;
    return kept;
  }

  std::vector<std::span<const std::byte>> sections;
  std::vector<PatternLogStream> streams;
  std::shared_ptr<const Section> kept;
  std::size_t kept_number = 0;
};

std::optional<PatternLogReader> PatternLogReader::open(std::span<const std::byte> bytes) {
  auto state = std::make_shared<State>();
  if (!pattern_log::find_sections(bytes, state->sections)) return std::nullopt;
  std::vector<std::string> names;
  for (const auto section : state->sections) {
    Section keys;
    if (!pattern_log::decode_section(section, true, keys)) return std::nullopt;
    names.insert(names.end(), keys.names.begin(), keys.names.end());
    for (const pattern_log::StreamKey& key : keys.streams) {
      if (key.name >= names.size()) return std::nullopt;
      state->streams.push_back({key.rank, names[key.name]});
    }
  }
  return PatternLogReader(std::move(state));
}

const char* PatternLogReader::why_not(std::span<const std::byte> bytes) noexcept {
  return pattern_log::why_not_read(bytes.empty() ? std::byte{0} : bytes.front());
}

PatternLogReader::PatternLogReader(std::shared_ptr<State> state) noexcept
    : state_(std::move(state)) {}
PatternLogReader::~PatternLogReader() = default;
PatternLogReader::PatternLogReader(PatternLogReader&&) noexcept = default;
PatternLogReader& PatternLogReader::operator=(PatternLogReader&&) noexcept = default;

const std::vector<PatternLogStream>& PatternLogReader::streams() const noexcept {
  return state_->streams;
}

bool PatternLogReader::visit_terms(std::uint32_t stream, const TermVisitor& visit) const {
  for (std::size_t number = 0; number < state_->sections.size(); ++number) {
    const std::shared_ptr<const Section> section = state_->section(number);
    if (!section) return false;
    for (const pattern_log::Piece& piece : section->pieces) {
      if (piece.stream == stream) visit(piece.channel, section->shapes, piece.list);
    }
  }
  return true;
}

namespace {

// One channel of one stream, over all sections.
class Channel {
 public:
  template <class Log>
  bool next(Log& log, std::uint32_t stream, std::uint32_t channel, patterns::Extent& access,
            bool& failed) {
    while (true) {
      if (cursor_ && cursor_->next(access)) return true;
      cursor_.reset();
      if (section_ == log.sections.size()) return false;
      if (!held_) {
        held_ = log.section(section_);
        if (!held_) {
          failed = true;
          return false;
        }
      }
      while (piece_ < held_->pieces.size() &&
             (held_->pieces[piece_].stream != stream || held_->pieces[piece_].channel != channel)) {
        ++piece_;
      }
      if (piece_ < held_->pieces.size()) {
        cursor_.emplace(held_->shapes, held_->pieces[piece_++].list);
      } else {
        held_.reset();
        piece_ = 0;
        ++section_;
      }
    }
  }

 private:
  std::shared_ptr<const Section> held_;
  std::size_t section_ = 0, piece_ = 0;
  std::optional<pattern_log::ListCursor> cursor_;
};

}  // namespace

struct PatternLogReader::Accesses::State {
  std::shared_ptr<PatternLogReader::State> log;
  std::uint32_t stream = 0;
  std::array<Channel, pattern_log::kChannels> channels;
  bool failed = false;
  std::uint64_t physical_end = 0;
  // Where the next accesses come from.
  std::uint32_t channel = 0;
  std::uint64_t run = 0;
  bool begun = false;

  bool next(std::uint32_t from, patterns::Extent& access) {
    return channels[from].next(*log, stream, from, access, failed);
  }
  void next_turn() {
    patterns::Extent turn{};
    if (next(pattern_log::kTurnsChannel, turn)) {
      const auto from = static_cast<std::uint64_t>(turn.offset);
      if (from >= pattern_log::kAccessChannels || turn.length <= 0) {
        failed = true;
        return;
      }
      channel = static_cast<std::uint32_t>(from);
      run = static_cast<std::uint64_t>(turn.length);
    } else if (!begun) {
      run = UINT64_MAX;  // no turns: all is one channel
    }
    begun = true;
  }
};

PatternLogReader::Accesses::Accesses(std::unique_ptr<State> state) noexcept
    : state_(std::move(state)) {}
PatternLogReader::Accesses::~Accesses() = default;
PatternLogReader::Accesses::Accesses(Accesses&&) noexcept = default;
PatternLogReader::Accesses& PatternLogReader::Accesses::operator=(Accesses&&) noexcept = default;

bool PatternLogReader::Accesses::failed() const noexcept {
  return state_->failed;
}

PatternLogReader::Accesses PatternLogReader::accesses(std::uint32_t stream) const {
  auto state = std::make_unique<Accesses::State>();
  state->log = state_;
  state->stream = stream;
  return Accesses(std::move(state));
}

std::size_t PatternLogReader::Accesses::read(std::span<patterns::Extent> to,
                                             std::span<std::int64_t> physical_offsets) {
  std::size_t done = 0;
  State& state = *state_;
  while (done < to.size() && !state.failed) {
    if (state.run == 0) state.next_turn();
    if (state.run == 0 || !state.next(state.channel, to[done])) break;
    --state.run;
    if (!physical_offsets.empty()) {
      patterns::Extent step{};
      state.next(pattern_log::kPhysicalChannel, step);
      const std::uint64_t at = state.physical_end + static_cast<std::uint64_t>(step.offset);
      physical_offsets[done] = static_cast<std::int64_t>(at);
      state.physical_end = at + static_cast<std::uint64_t>(to[done].length);
    }
    ++done;
  }
  return done;
}

}  // namespace iotune::analyzer
