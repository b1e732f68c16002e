#include "tuner/decision/outcome_digest.h"

#include <cstring>

#include "analyzer/summary/masked_name.h"
#include "core/words/decision_words.h"

namespace iotune::tuner {
namespace {

template <std::size_t N>
void copy(char (&to)[N], const char* from) noexcept {
  std::size_t bytes = 0;
  for (; bytes + 1 < N && from[bytes] != '\0'; ++bytes) to[bytes] = from[bytes];
  std::memset(to + bytes, 0, N - bytes);
}

template <std::size_t N>
bool is_text(const char (&text)[N]) noexcept {
  return std::memchr(text, '\0', N) != nullptr;
}

// As the database masks names: a series of files is one kind.
template <std::size_t N>
void copy_masked(char (&to)[N], const char* file) noexcept {
  const char* const slash = std::strrchr(file, '/');
  std::size_t bytes = 0;
  analyzer::each_masked_character(slash == nullptr ? file : slash + 1, [&](char c) noexcept {
    if (bytes + 1 < N) to[bytes++] = c;
  });
  std::memset(to + bytes, 0, N - bytes);
}

// JSON's text. Bytes beyond ASCII as \u00XX each: a name need not be UTF-8, a line has to be.
template <std::size_t N>
void add_text(ShortText<N>& to, const char* text) noexcept {
  static constexpr char kHex[] = "0123456789abcdef";
  to << '"';
  for (; *text != '\0'; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') {
      to << '\\' << *text;
    } else if (c < 0x20 || c >= 0x7f) {
      to << "\\u00" << kHex[c >> 4] << kHex[c & 15];
    } else {
      to << *text;
    }
  }
  to << '"';
}

// Each text of it may become six times as long.
using Piece = ShortText<1200>;

void add_outcome(const CountedOutcome& outcome, Piece& to) noexcept {
  to << R"({"name":)";
  add_text(to, outcome.parameter);
  to << R"(,"value":)";
  add_text(to, outcome.value);
  to << R"(,"outcome":")" << kVerdictNames[outcome.verdict] << R"(","count":)" << outcome.count;
  if (outcome.why[0] != '\0') {
    to << R"(,"why":)";
    add_text(to, outcome.why);
  }
  to << '}';
}

void begin_kind(const DecidedKind& kind, Piece& to) noexcept {
  to << R"({"name":)";
  add_text(to, kind.name);
  to << R"(,"files":)" << kind.files << R"(,"source":)";
  add_text(to, kind.source);
  to << R"(,"row":)";
  if (kind.row < 0) {
    to << "null";
  } else {
    to << kind.row;
  }
  to << R"(,"settings":[)";
}

// Adds the piece as a whole, where `rest` bytes are left behind it.
bool add_piece(AppliedLine& to, const Piece& piece, std::size_t rest) noexcept {
  if (piece.cut() || piece.size() + rest >= to.room()) return false;
  to.add(piece.c_str(), piece.size());
  return true;
}

}  // namespace

DecidedKind* OutcomeDigest::kind_of(const char* name, std::int64_t row,
                                    const char* source) noexcept {
  for (std::size_t i = 0; i < kind_count_; ++i) {
    DecidedKind& kind = kinds_[i];
    if (kind.row == row && std::strcmp(kind.name, name) == 0 &&
        std::strcmp(kind.source, source) == 0) {
      return &kind;
    }
  }
  if (kind_count_ == kMostKinds) return nullptr;
  DecidedKind& kind = kinds_[kind_count_++];
  copy(kind.name, name);
  copy(kind.source, source);
  kind.row = row;
  return &kind;
}

CountedOutcome* OutcomeDigest::outcome_of(const CountedOutcome& like) noexcept {
  for (std::size_t i = 0; i < outcome_count_; ++i) {
    CountedOutcome& one = outcomes_[i];
    if (one.kind == like.kind && one.verdict == like.verdict && one.reason == like.reason &&
        std::strcmp(one.parameter, like.parameter) == 0 &&
        std::strcmp(one.value, like.value) == 0) {
      return &one;
    }
  }
  if (outcome_count_ == kMostOutcomes) return nullptr;
  CountedOutcome& one = outcomes_[outcome_count_++];
  one = like;
  one.count = 0;
  return &one;
}

void OutcomeDigest::add_decision(const char* file, const Decision& decision) noexcept {
  if (decision.setting_count == 0 && decision.refused_count == 0) return;
  DecidedKind asked = {};
  copy_masked(asked.name, file);
  copy(asked.source, source_name(decision.source));
  if (DecidedKind* const kind = kind_of(asked.name, decision.row, asked.source)) {
    ++kind->files;
    kind->latest = ++latest_;
  } else {
    ++left_out_;
  }
}

void OutcomeDigest::add_outcome(const char* file, const char* parameter, const char* wanted,
                                Verdict verdict, const Why& why) noexcept {
  if (verdict == Verdict::kNotListed) {  // of so many more datasets
    left_out_ += why.numbers[0] > 0 ? static_cast<std::uint64_t>(why.numbers[0]) : 1;
    return;
  }
  DecidedKind asked = {};
  copy_masked(asked.name, file);
  DecidedKind* kind = nullptr;
  for (std::size_t i = 0; i < kind_count_; ++i) {
    if (std::strcmp(kinds_[i].name, asked.name) != 0) continue;
    if (kind == nullptr || kinds_[i].latest > kind->latest) kind = &kinds_[i];
  }
  if (kind == nullptr) kind = kind_of(asked.name, -1, "");
  if (kind == nullptr) {
    ++left_out_;
    return;
  }
  CountedOutcome like = {};
  like.kind = static_cast<std::uint32_t>(kind - kinds_);
  like.verdict = static_cast<std::uint8_t>(verdict);
  like.reason = static_cast<std::uint8_t>(why.reason);
  copy(like.parameter, parameter);
  copy(like.value, wanted);
  if (verdict != Verdict::kApplied) {
    // Datasets' names stay out, for one line is for all of them.
    ReasonText text;
    Why alike = why;
    alike.dataset = nullptr;
    write_reason(alike, text);
    copy(like.why, text.c_str());
  }
  CountedOutcome* const outcome = outcome_of(like);
  ++(outcome != nullptr ? outcome->count : left_out_);
}

void OutcomeDigest::add(const OutcomeDigest& other) noexcept {
  if (other.kind_count_ > kMostKinds || other.outcome_count_ > kMostOutcomes) return;
  left_out_ += other.left_out_;
  DecidedKind* places[kMostKinds] = {};
  for (std::size_t i = 0; i < other.kind_count_; ++i) {
    const DecidedKind& one = other.kinds_[i];
    if (!is_text(one.name) || !is_text(one.source)) return;
    places[i] = kind_of(one.name, one.row, one.source);
    if (places[i] != nullptr) {
      places[i]->files += one.files;
    } else {
      left_out_ += one.files;
    }
  }
  for (std::size_t i = 0; i < other.outcome_count_; ++i) {
    CountedOutcome one = other.outcomes_[i];
    if (!is_text(one.parameter) || !is_text(one.value) || !is_text(one.why) ||
        one.kind >= other.kind_count_) {
      return;
    }
    const DecidedKind* const kind = places[one.kind];
    CountedOutcome* outcome = nullptr;
    if (kind != nullptr) {
      one.kind = static_cast<std::uint32_t>(kind - kinds_);
      outcome = outcome_of(one);
    }
    (outcome != nullptr ? outcome->count : left_out_) += one.count;
  }
}

void write_applied_line(const OutcomeDigest& digest, const RunFacts& facts,
                        AppliedLine& to) noexcept {
  constexpr std::size_t kEndBytes = 64;  // of the line
  to.clear();
  Piece piece;
  piece << R"({"iotune":)";
  add_text(piece, facts.version);
  piece << R"(,"at":)" << facts.at_unix_seconds << R"(,"user":)" << facts.user << R"(,"ranks":)"
        << facts.ranks;
  to.add(piece.c_str(), piece.size());
  const struct {
    const char *name, *value;
  } texts[] = {{"run", facts.run},
               {"node", facts.node},
               {"program", facts.program},
               {"script", facts.script}};
  for (const auto& [name, value] : texts) {
    piece.clear();
    piece << ",\"" << name << "\":";
    add_text(piece, value);
    if (piece.cut()) {
      piece.clear();
      piece << ",\"" << name << "\":\"\"";
    }
    to.add(piece.c_str(), piece.size());
  }
  to << R"(,"kinds":[)";
  std::uint64_t left_out = digest.left_out();
  bool is_first_kind = true;
  for (std::size_t k = 0; k < digest.kind_count(); ++k) {
    piece.clear();
    if (!is_first_kind) piece << ',';
    begin_kind(digest.kind(k), piece);
    const bool begun = add_piece(to, piece, kEndBytes);
    if (begun) is_first_kind = false;
    if (!begun) left_out += digest.kind(k).files;
    bool is_first = true;
    for (std::size_t i = 0; i < digest.outcome_count(); ++i) {
      const CountedOutcome& outcome = digest.outcome(i);
      if (outcome.kind != k) continue;
      piece.clear();
      if (!is_first) piece << ',';
      add_outcome(outcome, piece);
      if (begun && add_piece(to, piece, kEndBytes)) {
        is_first = false;
      } else {
        left_out += outcome.count;
      }
    }
    if (begun) to << "]}";
  }
  to << R"(],"left_out":)" << left_out << "}\n";
}

}  // namespace iotune::tuner
