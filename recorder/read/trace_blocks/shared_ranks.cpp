#include "recorder/read/trace_blocks/shared_ranks.h"

#include <algorithm>
#include <string>

#include "patterns/bytes.h"
#include "recorder/shared_trace_block.h"

namespace iotune::recorder {
namespace {

// Damage may claim any number of ranks in a few bytes.
constexpr std::uint64_t kMostRanks = 1U << 22U;

}  // namespace

class RunSource {
 public:
  RunSource(std::span<const std::byte> bytes, std::uint64_t ranks) : in(bytes), ranks_(ranks) {}

  // Words of the next runs; empty on damage.
  std::span<const std::int64_t> next() {
    patterns::ByteReader ahead = in;
    const std::size_t room = std::min(ranks_, ahead.varint());
    if (words_.size() < room * kWordsPerRun) words_.resize(room * kWordsPerRun);
    const std::size_t runs = read_runs(in, ranks_, words_);
    return std::span<const std::int64_t>(words_).first(runs * kWordsPerRun);
  }

  patterns::ByteReader in;

 private:
  std::uint64_t ranks_;
  std::vector<std::int64_t> words_;
};

std::uint64_t SharedRanks::Runs::at(std::uint64_t k) const {
  const auto behind =
      std::upper_bound(runs.begin(), runs.end(), k,
                       [](std::uint64_t at, const Run& run) { return at < run.before; });
  const Run& run = *std::prev(behind);
  return run.first + (k - run.before) * run.stride;
}

bool SharedRanks::read_runs_of(RunSource& source, Runs& to) const {
  std::uint64_t before = 0;
  const std::span<const std::int64_t> words = source.next();
  to.runs.reserve(words.size() / kWordsPerRun);
  for (std::size_t i = 0; i < words.size(); i += kWordsPerRun) {
    to.runs.push_back({before, static_cast<std::uint64_t>(words[i + 1]),
                       static_cast<std::uint64_t>(words[i + 2])});
    before += static_cast<std::uint64_t>(words[i]);
  }
  return before == size_;
}

std::optional<SharedRanks> SharedRanks::read(const std::vector<std::byte>& payload) {
  SharedParts parts;
  if (!parts.read(payload) || parts.ranks > kMostRanks) return std::nullopt;
  SharedRanks shared;
  shared.type_ = parts.type;
  shared.size_ = parts.ranks;
  RunSource ranks(parts.rank_runs, parts.ranks);
  if (!shared.read_runs_of(ranks, shared.ranks_)) return std::nullopt;

  patterns::ByteReader kinds(parts.kinds);
  while (kinds.bytes_left() > 0) {
    const std::uint64_t alike = kinds.varint();
    const auto kind = static_cast<TokenKind>(alike % kTokenKinds);
    shared.kinds_.insert(shared.kinds_.end(), alike / kTokenKinds, kind);
  }
  patterns::ByteReader values(parts.values);
  for (std::uint64_t i = 0; i < parts.tokens; ++i) shared.values_.push_back(values.varint());
  patterns::ByteReader times(parts.time_values);
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < parts.times; ++i) {
    shared.times_.push_back(read_times(times, previous));
    previous = shared.times_.back().before_token;
  }
  if (shared.kinds_.size() != parts.tokens || values.failed() || times.failed() ||
      previous > parts.tokens) {
    return std::nullopt;
  }
  RunSource columns(parts.columns, parts.ranks);
  std::uint64_t token = 0;
  for (;;) {
    const std::uint64_t gap = columns.in.varint();
    if (gap == 0) break;
    if (gap > parts.tokens - token) return std::nullopt;
    token += gap;
    shared.columns_.push_back({token - 1, {}});
    if (!shared.read_runs_of(columns, shared.columns_.back().values)) return std::nullopt;
  }
  if (columns.in.failed() || columns.in.bytes_left() > 0) return std::nullopt;
  return shared;
}

std::uint64_t SharedRanks::token(std::size_t i, std::size_t k) const {
  if (i >= values_.size()) return 0;
  const auto column =
      std::lower_bound(columns_.begin(), columns_.end(), i,
                       [](const Column& c, std::size_t at) { return c.token < at; });
  if (column == columns_.end() || column->token != i) return values_[i];
  return column->values.at(k);
}

std::size_t SharedRanks::alike_until(std::size_t k) const {
  std::uint64_t until = size_;
  for (const Column& column : columns_) {
    const std::vector<Run>& runs = column.values.runs;
    const auto behind =
        std::upper_bound(runs.begin(), runs.end(), k,
                         [](std::uint64_t at, const Run& run) { return at < run.before; });
    if (behind != runs.end()) until = std::min(until, behind->before);
  }
  return until;
}

std::uint64_t SharedRanks::base_ns() const {
  std::uint64_t base = UINT64_MAX;
  for (const SharedTimes& times : times_) base = std::min(base, times.first_start);
  return times_.empty() ? 0 : base;
}

std::vector<std::byte> SharedRanks::payload(std::size_t k) const {
  std::vector<std::byte> bytes((values_.size() + times_.size() * 5 + 1) *
                               std::max<std::size_t>(20, patterns::kMaxVarintBytes));
  patterns::ByteWriter out(bytes);
  const std::uint64_t base = base_ns();
  auto column = columns_.begin();
  auto times = times_.begin();
  for (std::size_t i = 0; i <= values_.size(); ++i) {
    if (type_ == BlockType::kEvents && i == kBaseToken) out.varint(base);
    for (; times != times_.end() && times->before_token == i; ++times) {
      out.varint(times->first_start - base);
      out.varint(times->last_end - times->first_start);
      // Shares of the sum add up to it.
      out.varint(times->sum / size_ + (k < times->sum % size_ ? 1 : 0));
      out.varint(times->least);
      out.varint(times->largest);
    }
    if (i == values_.size()) break;
    std::uint64_t value = values_[i];
    if (column != columns_.end() && column->token == i) {
      value = column->values.at(k);
      ++column;
    }
    switch (kinds_[i]) {
      case TokenKind::kVarint:
        out.varint(value);
        break;
      case TokenKind::kByte:
        out.u8(static_cast<std::uint8_t>(value));
        break;
      case TokenKind::kDecimal: {
        const std::string digits = std::to_string(value);
        out.raw(digits.data(), digits.size());
        break;
      }
    }
  }
  bytes.resize(out.bytes_used());
  return bytes;
}

}  // namespace iotune::recorder
