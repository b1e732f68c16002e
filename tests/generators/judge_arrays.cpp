#include "tests/generators/judge_arrays.h"

#include <algorithm>
#include <map>

#include "analyzer/bytes/byte_record.h"
#include "analyzer/datasets/descriptor.h"
#include "tests/unit/analyzer/plain_naming.h"

namespace iotune::testing {
namespace {

using analyzer::ByteRecord;
using analyzer::DatasetPattern;

// Of one rank, by their places.
using Bytes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // begin, end
using Held = std::map<std::uint32_t, Bytes>;

Held held_by(const std::vector<DrawnCall>& calls) {
  Held held;
  for (const DrawnCall& call : calls) {
    held[call.rank].emplace_back(call.offset, call.offset + call.bytes);
  }
  return held;
}

void add(Held& to, const Held& from) {
  for (const auto& [rank, bytes] : from) {
    Bytes& own = to[rank];
    own.insert(own.end(), bytes.begin(), bytes.end());
  }
}

std::vector<DatasetPattern> found_in(const DrawnFile& file) {
  std::map<std::uint32_t, std::pair<analyzer::ByteRuns, analyzer::ByteTallies>> ranks;
  for (const DrawnCall& call : file.calls) {
    auto& [runs, tallies] = ranks[call.rank];
    runs.add(call.offset, call.bytes);
    tallies.add({{call.offset, 0, 1, call.bytes}, call.bytes, 1, 1, false, false});
  }
  ByteRecord record;
  for (auto& [rank, one] : ranks) record.take(one.first, one.second, 1);
  return analyzer::patterns_of(record, true);
}

struct Found {
  std::string text;
  std::uint64_t first = 0, bytes = 0;  // of the whole
  std::uint64_t pitch = 0;             // of its rows, which lie apart; else 0
  std::vector<std::uint64_t> dims;
  std::uint64_t element = 1;
  std::size_t ranks = 0;
  bool named = false;

  explicit Found(const DatasetPattern& one)
      : text(one.descriptor.text()),
        dims(one.dataset_dims),
        element(one.element_bytes),
        ranks(one.ranks),
        named(text.find("IRREGULAR") == std::string::npos) {
    const std::size_t from = one.dataset.find("from ");
    if (from != std::string::npos) first = std::stoull(one.dataset.substr(from + 5));
    const std::size_t every = one.dataset.find("every ");
    if (every != std::string::npos) pitch = std::stoull(one.dataset.substr(every + 6));
    bytes = element;
    for (const std::uint64_t extent : dims) bytes *= extent;
  }
};

// What the plain namer says of these bytes in the found array; empty where they are not in it.
std::string plain_text(const Held& held, const Found& found) {
  std::vector<analyzer::plain::Share> shares;
  for (const auto& [rank, bytes] : held) {
    analyzer::plain::Share share;
    for (const auto& [begin, end] : bytes) {
      if (begin < found.first || end > found.first + found.bytes) return {};
      for (std::uint64_t byte = begin; byte < end; byte += found.element) {
        std::uint64_t element = (byte - found.first) / found.element;
        analyzer::plain::Index index(found.dims.size());
        for (std::size_t d = index.size(); d-- > 0;) {
          index[d] = static_cast<std::int64_t>(element % found.dims[d]);
          element /= found.dims[d];
        }
        share.insert(index);
      }
    }
    shares.push_back(std::move(share));
  }
  return shares.empty() ? std::string() : analyzer::plain::descriptor_of(shares);
}

bool is_of(const Held& held, const Found& found) {
  return held.size() == found.ranks && plain_text(held, found) == found.text;
}

// Rows of records, which lie apart, one behind the other.
Held without_gaps(const DrawnArray& array) {
  Held held = held_by(array.calls);
  const std::uint64_t row = array.end - array.begin;
  for (auto& [rank, bytes] : held) {
    for (auto& [begin, end] : bytes) {
      const std::uint64_t record = (begin - array.begin) / array.pitch;
      begin -= record * (array.pitch - row);
      end -= record * (array.pitch - row);
    }
  }
  return held;
}

struct Piece {
  std::uint64_t begin, end;
  Held held;
  std::size_t array;  // or none
};

constexpr std::size_t kNone = SIZE_MAX;

class Judge {
 public:
  explicit Judge(const DrawnFile& file) : file_(file) {
    for (const DatasetPattern& one : found_in(file)) found_.emplace_back(one);
    right_.assign(found_.size(), false);
    state_.assign(file.arrays.size(), State::kNot);
    for (std::size_t a = 0; a < file.arrays.size(); ++a) {
      const DrawnArray& array = file.arrays[a];
      if (array.records == 1) {
        pieces_.push_back({array.begin, array.end, held_by(array.calls), a});
      }
    }
    for (const DrawnCall& call : file.metadata) {
      pieces_.push_back({call.offset, call.offset + call.bytes, held_by({call}), kNone});
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  }

  Judgement run() {
    for (std::size_t f = 0; f < found_.size(); ++f) find_whole(f);
    for (std::size_t a = 0; a < state_.size(); ++a) {
      if (state_[a] == State::kNot) find_divided(a);
    }
    Judgement result;
    result.arrays = state_.size();
    for (const DrawnArray& array : file_.arrays) {
      result.drawn.push_back(std::to_string(array.begin) + " to " + std::to_string(array.end) +
                             ": " + array.kind);
    }
    for (const Found& found : found_) {
      result.found.push_back(std::to_string(found.first) + " to " +
                             std::to_string(found.first + found.bytes) + ": " + found.text +
                             " by " + std::to_string(found.ranks));
    }
    for (std::size_t a = 0; a < state_.size(); ++a) {
      result.joined += state_[a] == State::kJoined ? 1 : 0;
      result.divided += state_[a] == State::kDivided ? 1 : 0;
      result.right += state_[a] != State::kNot ? 1 : 0;
      if (state_[a] != State::kNot) continue;
      const DrawnArray& array = file_.arrays[a];
      result.faults.push_back("not found: " + array.kind + " at " + std::to_string(array.begin) +
                              " to " + std::to_string(array.end));
    }
    for (std::size_t f = 0; f < found_.size(); ++f) {
      result.irregular += found_[f].named ? 0 : 1;
      if (!found_[f].named || right_[f]) continue;
      if (was_moved_so(found_[f])) {
        ++result.other;
        continue;
      }
      ++result.wrong;
      result.faults.push_back("wrong: " + found_[f].text + " at " +
                              std::to_string(found_[f].first));
    }
    return result;
  }

 private:
  enum class State { kNot, kAlone, kJoined, kDivided };

  // One drawn array, or several neighbours, that have just the found bytes.
  void find_whole(std::size_t f) {
    const Found& found = found_[f];
    if (!found.named) return;
    for (std::size_t a = 0; a < file_.arrays.size(); ++a) {
      const DrawnArray& array = file_.arrays[a];
      if (array.records == 1 || array.begin != found.first) continue;
      if (is_of(without_gaps(array), found)) {
        right_[f] = true;
        state_[a] = State::kAlone;
      }
    }
    auto piece = std::find_if(pieces_.begin(), pieces_.end(),
                              [&](const Piece& one) { return one.begin == found.first; });
    Held held;
    for (auto last = piece; last != pieces_.end() && last->end <= found.first + found.bytes;
         ++last) {
      if (last != piece && last->begin != (last - 1)->end) break;
      add(held, last->held);
      if (last->end != found.first + found.bytes || !is_of(held, found)) continue;
      // Metadata in an array is a wrong name, unless all of it is, or one rank's.
      const auto pieces =
          std::count_if(piece, last + 1, [](const Piece& one) { return one.array == kNone; });
      if (held.size() > 1 && pieces > 0 && pieces <= last - piece) break;
      right_[f] = true;
      for (auto one = piece; one <= last; ++one) {
        if (one->array == kNone) continue;
        state_[one->array] = last == piece ? State::kAlone : State::kJoined;
      }
      break;
    }
  }

  // Whether the name says which rank moved which of its bytes, wherever the drawn arrays end. Not
  // with metadata among others' bytes.
  bool was_moved_so(const Found& found) const {
    const std::uint64_t rows = found.pitch == 0 ? 1 : found.dims[0];
    const std::uint64_t pitch = found.pitch == 0 ? found.bytes : found.pitch;
    const std::uint64_t row_bytes = found.bytes / rows;
    if (row_bytes > pitch) return false;
    Held held;
    bool metadata = false;
    const auto take = [&](const DrawnCall& call) {
      bool any = false;
      const std::uint64_t from = call.offset < found.first ? 0 : call.offset - found.first;
      for (std::uint64_t row = from / pitch; row < rows; ++row) {
        const std::uint64_t begin = found.first + row * pitch, end = begin + row_bytes;
        if (call.offset + call.bytes <= begin) break;
        const std::uint64_t first = std::max(call.offset, begin);
        const std::uint64_t last = std::min(call.offset + call.bytes, end);
        if (first >= last) continue;
        const std::uint64_t at = found.first + row * row_bytes + (first - begin);
        held[call.rank].emplace_back(at, at + (last - first));
        any = true;
      }
      return any;
    };
    for (const DrawnArray& array : file_.arrays) {
      for (const DrawnCall& call : array.calls) take(call);
    }
    for (const DrawnCall& call : file_.metadata) metadata = take(call) || metadata;
    if (metadata && held.size() > 1) return false;
    std::uint64_t covered = 0;
    for (const auto& [rank, bytes] : held) {
      for (const auto& [begin, end] : bytes) covered += end - begin;
    }
    return covered >= found.bytes && is_of(held, found);
  }

  // Rows of one form at equal steps: the records of a variable, or equal arrays.
  struct Rows {
    std::uint64_t begin = 0, end = 0;  // of the first
    std::uint64_t count = 1, pitch = 0;
    std::size_t arrays = 1;
    std::vector<DrawnCall> calls;  // of all
  };

  Rows rows_from(std::size_t a) const {
    const DrawnArray& first = file_.arrays[a];
    Rows rows{first.begin, first.end, first.records, first.pitch, 1, first.calls};
    if (first.records > 1) return rows;
    for (std::size_t next = a + 1; next < file_.arrays.size(); ++next) {
      const DrawnArray& one = file_.arrays[next];
      if (rows.count == 1) rows.pitch = one.begin - first.begin;
      const bool equal = one.records == 1 && one.end - one.begin == first.end - first.begin &&
                         one.kind == first.kind &&
                         one.begin - first.begin == rows.count * rows.pitch;
      if (!equal) break;
      rows.calls.insert(rows.calls.end(), one.calls.begin(), one.calls.end());
      ++rows.count;
      ++rows.arrays;
    }
    return rows;
  }

  // The same part of each row, one behind the other.
  static bool is_part(const Rows& rows, std::size_t count, const Found& found) {
    const std::uint64_t bytes = found.bytes / count;
    if (found.first < rows.begin || found.first + bytes > rows.end) return false;
    Held held;
    for (const DrawnCall& call : rows.calls) {
      const std::uint64_t row = count == 1 ? 0 : (call.offset - rows.begin) / rows.pitch;
      const std::uint64_t begin = call.offset - row * rows.pitch;
      if (row >= count || begin < found.first || begin + call.bytes > found.first + bytes) continue;
      const std::uint64_t at = begin + row * bytes;
      held[call.rank].emplace_back(at, at + call.bytes);
    }
    return is_of(held, found);
  }

  // Found arrays that together have the bytes of a drawn one, each a part of it, or of each of its
  // rows: where a division ends early, its last piece may as well be another thing.
  void find_divided(std::size_t a) {
    const Rows rows = rows_from(a);
    const std::uint64_t all = (rows.end - rows.begin) * rows.count;
    for (const bool by_rows : {false, true}) {
      if (by_rows && rows.count == 1) break;
      std::uint64_t covered = 0;
      std::vector<std::size_t> parts;
      for (std::size_t f = 0; f < found_.size(); ++f) {
        const Found& found = found_[f];
        if (!found.named) continue;
        std::uint64_t of_one = 0;
        if (by_rows) {
          of_one = found.dims[0] == rows.count && is_part(rows, rows.count, found) ? 1 : 0;
        } else {
          for (std::uint64_t i = 0; i < file_.arrays[a].records; ++i) {
            Rows row = rows;
            row.begin += i * rows.pitch;
            row.end += i * rows.pitch;
            of_one += is_part(row, 1, found) ? 1 : 0;
          }
        }
        if (of_one == 0) continue;
        parts.push_back(f);
        covered += found.bytes;
      }
      if (covered != (by_rows ? all : (rows.end - rows.begin) * file_.arrays[a].records)) continue;
      const std::size_t last = a + (by_rows ? rows.arrays : 1);
      for (std::size_t one = a; one < last; ++one) state_[one] = State::kDivided;
      for (const std::size_t f : parts) right_[f] = true;
      return;
    }
  }

  const DrawnFile& file_;
  std::vector<Found> found_;
  std::vector<bool> right_;
  std::vector<State> state_;
  std::vector<Piece> pieces_;
};

}  // namespace

Judgement judge(const DrawnFile& file) {
  return Judge(file).run();
}

}  // namespace iotune::testing
