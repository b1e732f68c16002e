#include "analyzer/streams/stream_groups.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyzer/pattern_log/channels.h"
#include "analyzer/pattern_log/section.h"
#include "analyzer/pattern_log/section_file.h"
#include "analyzer/streams/term_text.h"
#include "analyzer/summary/saturating.h"
#include "patterns/loop_finder.h"

namespace iotune::analyzer {

using pattern_log::kTurnsChannel;
using pattern_log::Piece;
using pattern_log::Section;
using pattern_log::SectionFile;
using pattern_log::Shapes;
using patterns::Extent;
using patterns::Prediction;
using recorder::Error;
using recorder::Result;

void Members::add(std::int64_t rank, std::int64_t start) {
  if (count_++ == 0) first_start_ = start;
  const Extent at{start, 0};
  finder_.add({&at, 1}, shapes_, list_);
  if (!ranks_.empty() && more_ == 0) {
    RankRun& run = ranks_.back();
    if (run.first == run.last) {
      run.step = rank - run.first;
      if (run.step > 0) {
        run.last = rank;
        return;
      }
    } else if (rank == run.last + run.step) {
      run.last = rank;
      return;
    } else if (run.last == run.first + run.step && run.step > 1) {
      // Two alone are no run.
      const std::int64_t second = run.last;
      run.last = run.first;
      if (ranks_.size() < kMostRuns) {
        const std::int64_t step = rank - second;
        ranks_.push_back({second, step > 0 ? rank : second, step});
        if (step > 0) return;
      }
    }
  }
  if (ranks_.size() < kMostRuns) {
    ranks_.push_back({rank, rank, 1});
  } else {
    ++more_;
  }
}

std::string Members::starts_text() {
  finder_.finish(shapes_, list_);
  return term_text(shapes_, list_, {.offsets_only = true});
}

namespace {

// What tells streams of one name apart, but for where they begin.
struct Content {
  std::uint64_t hash = 0;
  std::uint64_t terms = 0;
  std::int64_t start = 0;
  std::int64_t rank = 0;
  std::uint32_t name = 0;
  bool begun = false;
};

std::uint64_t hash_of_shape(const Shapes& shapes, std::uint32_t index,
                            std::vector<std::uint64_t>& known) {
  if (index == 0) return 1;
  if (known[index] != 0) return known[index];
  std::uint64_t hash = patterns::mix(shapes[index].parts.size());
  for (const auto& part : shapes[index].parts) {
    hash =
        patterns::mix(patterns::mix(hash ^ part.count) ^ hash_of_shape(shapes, part.shape, known));
  }
  for (const Extent& stride : shapes[index].strides) {
    hash = patterns::mix(patterns::mix(hash ^ pattern_log::unsigned_of(stride.offset)) ^
                         pattern_log::unsigned_of(stride.length));
  }
  return known[index] = hash | 1U;
}

class Grouping {
 public:
  Grouping(std::string log, const std::vector<std::string>& records, const GroupOptions& options)
      : log_(std::move(log)), records_(records), options_(options) {}

  std::optional<Error> run(std::vector<NamedStreams>& result) {
    if (auto error = each_section([&](const Section& section) { look(section); })) return error;
    if (auto error = read_records()) return error;
    choose();
    if (auto error = each_section([&](const Section& section) { tell(section); })) return error;
    for (NamedStreams& named : named_) result.push_back(std::move(named));
    return std::nullopt;
  }

 private:
  template <typename Use>
  std::optional<Error> each_section(Use&& use) {
    Result<SectionFile> file = SectionFile::open(log_);
    if (!file) return file.error();
    std::vector<std::byte> coded;
    std::uint64_t streams = 0, names = 0;
    while (file->next(coded)) {
      Section section;
      if (!decode_section(coded, false, section)) return damaged();
      streams += section.streams.size();
      names += section.names.size();
      for (const auto& key : section.streams) {
        if (key.name >= names) return damaged();
      }
      for (const Piece& piece : section.pieces) {
        if (piece.stream >= streams || piece.list.leaves.empty()) return damaged();
      }
      use(section);
    }
    return file->damaged() ? std::optional(damaged()) : std::nullopt;
  }
  Error damaged() const { return {log_, "is no pattern log, or damaged"}; }

  // The first time: what each stream is.
  void look(const Section& section) {
    for (const std::string& name : section.names) named_.emplace_back().name = name;
    for (const auto& key : section.streams) {
      Content& content = streams_.emplace_back();
      content.rank = key.rank;
      content.name = key.name;
    }
    std::vector<std::uint64_t> known(section.shapes.size());
    // The channels of a stream come in any order: where it begins is seen first.
    for (const Piece& piece : section.pieces) {
      Content& content = streams_[piece.stream];
      if (content.begun || piece.channel != 0) continue;
      content.begun = true;
      content.start = piece.list.leaves.front().offset;
    }
    for (const Piece& piece : section.pieces) add_hash(section, piece, known);
  }

  void add_hash(const Section& section, const Piece& piece, std::vector<std::uint64_t>& known) {
    Content& content = streams_[piece.stream];
    const std::uint64_t origin =
        piece.channel == kTurnsChannel ? 0 : pattern_log::unsigned_of(content.start);
    std::uint64_t hash = patterns::mix(piece.channel + 7);
    const Extent* leaf = piece.list.leaves.data();
    for (const auto& term : piece.list.terms) {
      hash = patterns::mix(patterns::mix(hash ^ term.count) ^
                           hash_of_shape(section.shapes, term.shape, known));
      for (std::uint32_t l = 0; l < section.shapes[term.shape].leaves; ++l, ++leaf) {
        hash = patterns::mix(hash ^ (pattern_log::unsigned_of(leaf->offset) - origin));
        hash = patterns::mix(hash ^ pattern_log::unsigned_of(leaf->length));
      }
    }
    if (piece.channel < pattern_log::kAccessChannels) content.terms += piece.list.terms.size();
    // Channels of a section come in any order, sections in theirs.
    content.hash += hash;
  }

  std::optional<Error> read_records() {
    sums_.reserve(streams_.size());
    std::vector<std::byte> record(4 * sizeof(std::uint64_t) + options_.ahead * sizeof(Prediction));
    for (const std::string& path : records_) {
      Result<recorder::InputFile> file = recorder::InputFile::open(path);
      if (!file) return file.error();
      const std::uint64_t size = file->size();
      std::vector<std::byte> held;
      for (std::uint64_t at = 0; at < size; at += held.size()) {
        held.resize(static_cast<std::size_t>(
            std::min<std::uint64_t>(size - at, record.size() * std::uint64_t{1024})));
        if (file->read(at, held) != held.size() || held.size() % record.size() != 0) {
          return Error{path, "ends early"};
        }
        for (std::size_t from = 0; from < held.size(); from += record.size()) {
          take_record(held.data() + from);
        }
      }
    }
    if (sums_.size() != streams_.size()) return Error{log_, "has other streams than its records"};
    return std::nullopt;
  }

  void take_record(const std::byte* bytes) {
    std::uint64_t numbers[4];
    std::memcpy(numbers, bytes, sizeof numbers);
    StreamRecord& sum = sums_.emplace_back();
    sum.accesses = numbers[0];
    sum.bytes = numbers[1];
    sum.right = numbers[2];
    sum.foreseen = numbers[3];
    // Of a group the first one's are shown: those of the others are not kept.
    if (sums_.size() > streams_.size() || sum.foreseen == 0) return;
    const Content& content = streams_[sums_.size() - 1];
    if (!seen_.insert(patterns::mix(content.hash) ^ content.name).second) return;
    sum.next.resize(std::min<std::size_t>(sum.foreseen, options_.ahead));
    std::memcpy(static_cast<void*>(sum.next.data()), bytes + sizeof numbers,
                sum.next.size() * sizeof(Prediction));
  }

  struct Key {
    std::uint32_t name;
    std::uint64_t hash, terms;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>(patterns::mix(key.hash + key.name) ^ key.terms);
    }
  };
  struct Sum {
    std::uint64_t accesses = 0;
    std::size_t first_stream = 0;
  };

  // Which groups are shown, and their sums.
  void choose() {
    std::unordered_map<Key, Sum, KeyHash> groups;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const Content& content = streams_[s];
      NamedStreams& named = named_[content.name];
      ++named.streams;
      named.accesses += sums_[s].accesses;
      named.bytes = saturating_sum(named.bytes, sums_[s].bytes);
      named.right += sums_[s].right;
      const auto [found, added] =
          groups.try_emplace({content.name, content.hash, content.terms}, Sum{0, s});
      found->second.accesses += sums_[s].accesses;
    }
    std::vector<std::vector<std::pair<Sum, Key>>> by_name(named_.size());
    for (const auto& [key, sum] : groups) by_name[key.name].emplace_back(sum, key);
    std::unordered_map<Key, StreamGroup*, KeyHash> shown;
    for (std::size_t n = 0; n < named_.size(); ++n) {
      auto& list = by_name[n];
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
        return a.first.accesses != b.first.accesses ? a.first.accesses > b.first.accesses
                                                    : a.first.first_stream < b.first.first_stream;
      });
      named_[n].groups = list.size();
      list.resize(std::min(list.size(), options_.kept));
      named_[n].shown.resize(list.size());
      for (std::size_t g = 0; g < list.size(); ++g) {
        StreamGroup& group = named_[n].shown[g];
        group.name = named_[n].name;
        group.terms = list[g].second.terms;
        group.next = std::move(sums_[list[g].first.first_stream].next);
        shown.emplace(list[g].second, &group);
        first_of_.emplace(list[g].first.first_stream, &group);
      }
    }
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const Content& content = streams_[s];
      const auto found = shown.find({content.name, content.hash, content.terms});
      if (found == shown.end()) continue;
      StreamGroup& group = *found->second;
      group.members.add(content.rank, content.start);
      group.accesses += sums_[s].accesses;
      group.bytes = saturating_sum(group.bytes, sums_[s].bytes);
      group.right += sums_[s].right;
    }
  }

  // The second time: the loops of those that are shown. Of a stream in several sections the first
  // of each channel.
  void tell(const Section& section) {
    for (const Piece& piece : section.pieces) {
      const auto found = first_of_.find(piece.stream);
      if (found == first_of_.end() || piece.channel >= pattern_log::kAccessChannels) continue;
      StreamGroup& group = *found->second;
      std::vector<std::string>& nests = group.nests;
      if (nests.size() <= piece.channel) nests.resize(piece.channel + 1);
      if (!nests[piece.channel].empty()) continue;
      const std::int64_t origin = group.members.count() > 1 ? streams_[piece.stream].start : 0;
      nests[piece.channel] =
          term_text(section.shapes, piece.list, {origin, options_.shown_terms, false});
    }
  }

  std::string log_;
  const std::vector<std::string>& records_;
  const GroupOptions& options_;
  std::vector<NamedStreams> named_;
  std::vector<Content> streams_;
  std::vector<StreamRecord> sums_;
  std::unordered_set<std::uint64_t> seen_;
  std::unordered_map<std::size_t, StreamGroup*> first_of_;
};

}  // namespace

Result<std::vector<NamedStreams>> group_streams(const std::string& log,
                                                const std::vector<std::string>& records,
                                                const GroupOptions& options) {
  std::vector<NamedStreams> result;
  if (auto error = Grouping(log, records, options).run(result)) return *error;
  return result;
}

}  // namespace iotune::analyzer
