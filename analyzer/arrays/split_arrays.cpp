#include "analyzer/arrays/split_arrays.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/arrays/array_cost.h"
#include "analyzer/arrays/file_rows.h"
#include "analyzer/bytes/verify_shape.h"

namespace iotune::analyzer {
namespace {

constexpr std::size_t kMostItems = 96;     // of one array
constexpr std::size_t kMostNamed = 8000;   // stretches of a file that are tried
constexpr std::size_t kMostArrays = 512;   // of one file
constexpr std::size_t kLeastRecords = 4;   // rows of variables in turn; fewer are arrays
constexpr std::size_t kMostEqualRows = 6;  // of an array that may be as many arrays
constexpr std::size_t kMostEqual = 64;
constexpr double kLeastGain = 0.05;
constexpr std::size_t kLeastFragments = 2;
constexpr std::size_t kLeastIrregular = 12;  // forms that may be one part without a name

struct Stretch {
  FileArray array;
  double cost = 0;
  // Of one loop: its body, and how often; else the whole and once.
  std::vector<std::uint64_t> body;
  std::uint64_t rows = 1;
};

struct Solution {
  std::vector<Stretch> arrays;
  double cost = 0;
};

class Splitter {
 public:
  Splitter(const IndexSets& ranks, const std::vector<std::vector<std::uint64_t>>& cuts,
           const ShapeHint& hint)
      : ranks_(ranks), cuts_(cuts), hint_(hint), rows_(rows_of(ranks, cuts)) {}

  std::vector<FileArray> run() {
    if (rows_.items.empty()) return {};
    Solution best = solve(rows_.items);
    split_equal(best);
    std::vector<FileArray> arrays;
    for (Stretch& one : best.arrays) arrays.push_back(std::move(one.array));
    join_fragments(arrays);
    join_rests(arrays);
    return arrays;
  }

 private:
  using Items = std::vector<PlacedForm>;
  struct Name {
    InferredShape shape;
    double cost = kNoName;
  };

  // The cheapest row of arrays that these items are.
  Solution solve(const Items& items) {
    const std::size_t n = items.size();
    struct Step {
      double cost = kNoName;
      std::size_t from = 0;
      Solution part;
    };
    std::vector<Step> steps(n + 1);
    steps[0].cost = 0;
    std::uint64_t end = 0;  // of all items before
    for (std::size_t i = 0; i < n; ++i) {
      const bool apart = items[i].start >= end;
      end = std::max(end, rows_.end_of(items[i]));
      // No array begins within another one.
      if (!apart || steps[i].cost >= kNoName) continue;
      // Nor in the midst of what was named whole for less.
      const auto is_cheaper = [&](const Step& later) {
        return later.cost + kLeastGain <= steps[i].cost;
      };
      const auto after = steps.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const auto reach = static_cast<std::ptrdiff_t>(std::min(n - i, kMostItems));
      if (std::any_of(after, after + reach, is_cheaper)) continue;
      const auto take = [&](std::size_t j, Solution part) {
        const double cost = steps[i].cost + part.cost;
        if (cost < steps[j].cost) steps[j] = {cost, i, std::move(part)};
      };
      if (j_apart(items, i + 1)) take(i + 1, opened(items[i]));
      each_stretch(items, i, [&](std::size_t j) {
        if (std::optional<Stretch> one = named(items, i, j)) {
          Solution part;
          part.cost = one->cost;
          part.arrays.push_back(std::move(*one));
          take(j, std::move(part));
        } else if (const double cost = cost_of_irregular(items, i, j);
                   j >= i + kLeastIrregular && steps[i].cost + cost < steps[j].cost) {
          take(j, irregular(items, i, j));
        }
      });
      std::size_t least = i + 1;
      while (!j_apart(items, least)) ++least;
      if (steps[least].cost >= kNoName) take(least, irregular(items, i, least));
    }
    Solution all;
    all.cost = steps[n].cost;
    std::vector<Solution*> parts;
    for (std::size_t at = n; at > 0; at = steps[at].from) parts.push_back(&steps[at].part);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      for (Stretch& one : (*part)->arrays) all.arrays.push_back(std::move(one));
    }
    return all;
  }

  double cost_of_irregular(const Items& items, std::size_t first, std::size_t end) const {
    double cost = kIrregular;
    for (std::size_t i = first; i < end; ++i) {
      const RowForm& form = rows_.forms[items[i].form];
      cost += form.count > 1 ? kIrregularLoop : kIrregularRow;
    }
    return cost;
  }

  bool j_apart(const Items& items, std::size_t j) const {
    if (j == items.size()) return true;
    std::uint64_t end = 0;
    for (std::size_t i = j > kMostItems ? j - kMostItems : 0; i < j; ++i) {
      end = std::max(end, rows_.end_of(items[i]));
    }
    return items[j].start >= end;
  }

  // Every end, from the nearest on, that an array which begins with item `first` may have.
  template <class F>
  void each_stretch(const Items& items, std::size_t first, const F& take) {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::size_t>> lengths;  // of a rank's runs
    std::uint64_t end = items[first].start;
    bool last = false;
    for (std::size_t j = first; j < items.size() && !last; ++j) {
      const RowForm& form = rows_.forms[items[j].form];
      if (items[j].start > end || !form.solid) return;
      end = std::max(end, rows_.end_of(items[j]));
      // Runs of two lengths, each once, are the end of a last round at most.
      if (form.count == 1) {
        for (const RowForm::Part& part : form.parts) {
          auto& [bytes, runs] = lengths[part.what];
          last = last || (runs == 1 && bytes != part.bytes);
          bytes = part.bytes;
          ++runs;
        }
      }
      // Of the many ends of a long stretch that which is its own.
      const bool at_end = j + 1 == items.size() || items[j + 1].start > end;
      const bool near = j - first < kMostItems;
      if (!near && (first > 0 && items[first].start <= rows_.end_of(items[first - 1]))) return;
      if (at_end || (near && items[j + 1].start >= end)) take(j + 1);
    }
  }

  std::optional<Stretch> named(const Items& items, std::size_t first, std::size_t end) {
    Stretch one;
    FileArray& array = one.array;
    array.begin = items[first].start;
    for (std::size_t i = first; i < end; ++i) {
      array.end = std::max(array.end, rows_.end_of(items[i]));
    }
    const RowForm& form = rows_.forms[items[first].form];
    if (end == first + 1 && form.count > 1) {
      one.rows = form.count;
      for (const RowForm::Part& part : form.parts) {
        one.body.insert(one.body.end(), {part.at, part.what});
      }
    } else {
      for (std::size_t i = first; i < end; ++i) {
        one.body.insert(one.body.end(), {items[i].start - array.begin, items[i].form});
      }
    }
    std::vector<std::uint64_t> key = one.body;
    key.push_back(one.rows);
    const auto [found, fresh] = names_.try_emplace(std::move(key));
    if (fresh) found->second = name_of(array);
    if (found->second.cost >= kNoName) return std::nullopt;
    array.shape = found->second.shape;
    array.shape.first_byte = array.begin;
    one.cost = found->second.cost;
    return one;
  }

  Solution irregular(const Items& items, std::size_t first, std::size_t end) {
    Solution part;
    part.cost = cost_of_irregular(items, first, end);
    FileArray& array = part.arrays.emplace_back().array;
    array.begin = items[first].start;
    for (std::size_t i = first; i < end; ++i) {
      array.end = std::max(array.end, rows_.end_of(items[i]));
    }
    array.shape = irregular_shape(sets_within(ranks_, array), 1);
    return part;
  }

  Name name_of(const FileArray& array) {
    Name name;
    if (names_.size() > kMostNamed) return name;
    const std::uint32_t crossed = ranks_cut(array);
    const IndexSets sets = sets_within(ranks_, array);
    // Not of some ranks alone: what they moved apart from the rest is apart.
    if (ranks_.size() > 1 && crossed > 0 && (sets.size() == 1 || 2 * crossed <= sets.size())) {
      return name;
    }
    name.shape = verified_shape(sets, hint_);
    name.cost = cost_of(name.shape, sets, ranks_);
    return name;
  }

  std::uint32_t ranks_cut(const FileArray& array) const {
    std::uint32_t ranks = 0;
    for (const std::vector<std::uint64_t>& cuts : cuts_) {
      const auto cut = std::upper_bound(cuts.begin(), cuts.end(), array.begin);
      ranks += cut != cuts.end() && *cut < array.end ? 1 : 0;
    }
    return ranks;
  }

  // A loop that is no array: arrays one behind the other, or in turn.
  Solution opened(const PlacedForm& item) {
    const RowForm& form = rows_.forms[item.form];
    Solution all;
    all.cost = kNoName;
    if (form.count == 1) return all;
    Items body;
    for (const RowForm::Part& part : form.parts) body.push_back({item.start + part.at, part.what});
    Solution one = solve(body);
    if (one.cost >= kNoName) return all;
    const bool may = std::none_of(one.arrays.begin(), one.arrays.end(),
                                  [](const Stretch& stretch) { return stretch.array.copies > 1; });
    const bool in_turn = may && ((form.count >= kLeastRecords && one.arrays.size() > 1) ||
                                 form.count * one.arrays.size() > kMostEqual);
    if (!may && form.count * one.arrays.size() > kMostEqual) return all;
    if (!in_turn) {
      all.cost = one.cost * static_cast<double>(form.count);
      all.arrays = copies_of(one.arrays, form.count, form.pitch);
      return all;
    }
    all.cost = 0;
    for (Stretch& stretch : one.arrays) {
      stretch.array.copies = form.count;
      stretch.array.pitch = form.pitch;
      stretch.array.shape = in_records(std::move(stretch.array.shape), form.count);
      stretch.body.clear();
      stretch.cost += kRecords;
      all.cost += stretch.cost;
      all.arrays.push_back(std::move(stretch));
    }
    return all;
  }

  static std::vector<Stretch> copies_of(const std::vector<Stretch>& arrays, std::uint64_t count,
                                        std::uint64_t pitch) {
    std::vector<Stretch> all;
    for (std::uint64_t i = 0; i < count; ++i) {
      for (Stretch copy : arrays) {
        copy.array.begin += i * pitch;
        copy.array.end += i * pitch;
        copy.array.shape.first_byte += i * pitch;
        all.push_back(std::move(copy));
      }
    }
    return all;
  }

  static InferredShape in_records(InferredShape shape, std::uint64_t count) {
    DescribedRegions& of = shape.described;
    of.descriptor.dimensions.insert(of.descriptor.dimensions.begin(),
                                    {Distribution::kWhole, count, 1});
    of.process_grid.insert(of.process_grid.begin(), 1);
    if (!of.halo.empty()) of.halo.insert(of.halo.begin(), 0);
    shape.dims.insert(shape.dims.begin(), count);
    shape.ambiguity += "; rows that lie apart may be arrays of their own";
    return shape;
  }

  // Arrays of few equal rows, here three and there two of them: the rows are arrays.
  void split_equal(Solution& all) {
    std::map<std::vector<std::uint64_t>, std::pair<std::set<std::uint64_t>, std::uint64_t>> rows;
    for (const Stretch& one : all.arrays) {
      if (one.body.empty()) continue;
      auto& [counts, sum] = rows[one.body];
      counts.insert(one.rows);
      sum += one.rows;
    }
    std::vector<Stretch> apart;
    for (Stretch& one : all.arrays) {
      const auto found = rows.find(one.body);
      const bool split =
          one.rows > 1 && found != rows.end() && found->second.first.size() > 1 &&
          found->second.second <= kMostEqual &&
          (*found->second.first.begin() == 1 || *found->second.first.rbegin() <= kMostEqualRows);
      std::optional<Stretch> row;
      std::uint64_t pitch = 0;
      if (split) row = first_row(one, pitch);
      if (!row) {
        apart.push_back(std::move(one));
        continue;
      }
      for (Stretch& copy : copies_of({std::move(*row)}, one.rows, pitch)) {
        apart.push_back(std::move(copy));
      }
    }
    all.arrays = std::move(apart);
  }

  // Where a part without a name ends is a guess. What is right behind it, and not of all ranks, may
  // be the rest of an array that began in it.
  void join_rests(std::vector<FileArray>& arrays) const {
    std::vector<FileArray> joined;
    for (FileArray& one : arrays) {
      const bool is_rest = !joined.empty() && joined.back().end == one.begin && one.copies == 1 &&
                           joined.back().shape.described.process_grid.empty() &&
                           one.shape.described.ranks < ranks_.size();
      if (!is_rest) {
        joined.push_back(std::move(one));
        continue;
      }
      joined.back().end = one.end;
      joined.back().shape = irregular_shape(sets_within(ranks_, joined.back()), 1);
    }
    arrays = std::move(joined);
  }

  // Arrays of few of the ranks, one right behind the other, are parts of one that has no name.
  void join_fragments(std::vector<FileArray>& arrays) const {
    std::vector<FileArray> joined;
    for (std::size_t i = 0; i < arrays.size();) {
      std::size_t end = i, several = 0;
      std::uint64_t last = arrays[i].begin;
      const auto is_fragment = [&](const FileArray& one) {
        return 2 * one.shape.described.ranks < ranks_.size() && one.begin <= last;
      };
      for (; end < arrays.size() && is_fragment(arrays[end]); ++end) {
        const FileArray& one = arrays[end];
        last = std::max(last, one.end + (one.copies - 1) * one.pitch);
        several += one.shape.described.ranks > 1 ? 1 : 0;
      }
      if (several < kLeastFragments || end - i < kLeastFragments + 1) {
        joined.push_back(std::move(arrays[i++]));
        continue;
      }
      FileArray& whole = joined.emplace_back();
      whole.begin = arrays[i].begin;
      whole.end = last;
      whole.shape = irregular_shape(sets_within(ranks_, whole), 1);
      i = end;
    }
    arrays = std::move(joined);
  }

  std::optional<Stretch> first_row(const Stretch& loop, std::uint64_t& pitch) {
    Items body;
    for (std::size_t i = 0; i < loop.body.size(); i += 2) {
      body.push_back(
          {loop.array.begin + loop.body[i], static_cast<std::uint32_t>(loop.body[i + 1])});
    }
    pitch = (loop.array.end - loop.array.begin) / loop.rows;
    return named(body, 0, body.size());
  }

  const IndexSets& ranks_;
  const std::vector<std::vector<std::uint64_t>>& cuts_;
  const ShapeHint& hint_;
  FileRows rows_;
  std::map<std::vector<std::uint64_t>, Name> names_;
};

}  // namespace

IndexSets sets_within(const IndexSets& ranks, const FileArray& array) {
  IndexSets sets;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::uint64_t last = array.end + (array.copies - 1) * array.pitch;
    if (ranks.end(r) <= array.begin || ranks.first(r) >= last) continue;
    if (array.copies == 1) {
      const IndexSet part = ranks.part(r, array.begin, array.end);
      if (!part.empty()) sets.add(part);
      continue;
    }
    std::vector<IndexSet> parts;
    for (std::uint64_t i = 0; i < array.copies; ++i) {
      const std::uint64_t moved = i * array.pitch;
      parts.push_back(ranks.part(r, array.begin + moved, array.end + moved));
    }
    std::vector<const IndexSet*> pointers;
    for (const IndexSet& part : parts) pointers.push_back(&part);
    const std::optional<IndexSet> joined = IndexSet::united(std::move(pointers));
    if (joined && !joined->empty()) sets.add(*joined);
  }
  return sets;
}

std::vector<FileArray> split_arrays(const IndexSets& ranks,
                                    const std::vector<std::vector<std::uint64_t>>& cuts,
                                    const ShapeHint& hint) {
  std::vector<FileArray> arrays = Splitter(ranks, cuts, hint).run();
  if (arrays.size() > kMostArrays || !are_likely(arrays, ranks.size())) return {};
  return arrays;
}

}  // namespace iotune::analyzer
