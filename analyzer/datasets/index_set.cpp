#include "analyzer/datasets/index_set.h"

#include <algorithm>

namespace iotune::analyzer {
namespace {

constexpr std::uint64_t kMaxRuns = 1U << 20U;
constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;

// The runs of a set in ascending order.
class Runs {
 public:
  explicit Runs(std::span<const Progression> progressions) : left_(progressions) {}
  bool at_end() const { return left_.empty(); }
  std::uint64_t start() const { return left_[0].start + run_ * left_[0].stride; }
  std::uint64_t end() const { return start() + left_[0].block; }
  void next() {
    if (++run_ < left_[0].count) return;
    run_ = 0;
    left_ = left_.subspan(1);
  }

 private:
  std::span<const Progression> left_;
  std::uint64_t run_ = 0;
};

}  // namespace

// Takes runs in ascending order and keeps them as the progressions that a reader of the runs,
// one by one, would find: the outcome depends on the set alone.
class RunCollector {
 public:
  // `piece` must not start before the end of what is there already.
  void add(Progression piece) {
    while (piece.count > 0) {
      if (list_.empty()) {
        push(take_first(piece));
        continue;
      }
      Progression& last = list_.back();
      if (piece.start <= last.end()) {
        merge_touching(piece);
      } else if (last.count == 1 && piece.block == last.block) {
        last.stride = piece.start - last.start;
        last.count = 2;
        take_first(piece);
      } else if (piece.block != last.block ||
                 piece.start != last.start + last.count * last.stride) {
        push(take_first(piece));
      } else if (piece.count == 1 || piece.stride != last.stride) {
        ++last.count;
        take_first(piece);
      } else {
        last.count += piece.count;
        piece.count = 0;
      }
    }
  }
  IndexSet finish() {
    IndexSet set;
    if (list_.size() > 1) {
      set.many_ = std::move(list_);
    } else if (!list_.empty()) {
      set.one_ = list_[0];
    }
    return set;
  }

 private:
  static Progression take_first(Progression& piece) {
    const Progression run{piece.start, 0, 1, piece.block};
    --piece.count;
    piece.start += piece.stride;
    if (piece.count <= 1) piece.stride = 0;
    return run;
  }
  void push(const Progression& run) { list_.push_back(run); }

  // The last run and the first of the piece become one longer run.
  void merge_touching(Progression& piece) {
    Progression& last = list_.back();
    const std::uint64_t start = last.start + (last.count - 1) * last.stride;
    const Progression run = take_first(piece);
    const std::uint64_t end = std::max(start + last.block, run.start + run.block);
    if (--last.count == 0) {
      list_.pop_back();
    } else if (last.count == 1) {
      last.stride = 0;
    }
    add({start, 0, 1, end - start});
  }

  std::vector<Progression> list_;
};

namespace {

// The runs of pieces that interleave, in ascending order; overlapping ones are joined first, for
// the collector takes no others.
void take_apart(std::span<const Progression> pieces, RunCollector& collector) {
  const auto later = [](const Runs& a, const Runs& b) { return a.start() > b.start(); };
  std::vector<Runs> begun;  // a heap
  std::size_t next = 0;
  Progression joined{pieces.front().start, 0, 1, 0};
  while (next < pieces.size() || !begun.empty()) {
    if (begun.empty() || (next < pieces.size() && pieces[next].start <= begun.front().start())) {
      begun.emplace_back(pieces.subspan(next++, 1));
    } else {
      std::pop_heap(begun.begin(), begun.end(), later);
    }
    Runs& least = begun.back();
    if (least.start() <= joined.start + joined.block) {
      joined.block = std::max(joined.start + joined.block, least.end()) - joined.start;
    } else {
      collector.add(joined);
      joined = {least.start(), 0, 1, least.end() - least.start()};
    }
    least.next();
    if (least.at_end()) {
      begun.pop_back();
    } else {
      std::push_heap(begun.begin(), begun.end(), later);
    }
  }
  collector.add(joined);
}

}  // namespace

std::optional<IndexSet> IndexSet::of(std::uint64_t start, std::uint64_t stride, std::uint64_t count,
                                     std::uint64_t block) {
  if (count == 0 || block == 0) return IndexSet();
  if (start >= kLimit || block >= kLimit || count >= kLimit) return std::nullopt;
  if (count == 1) return interval(start, block);
  if (stride < block) return std::nullopt;
  const auto end = static_cast<unsigned __int128>(start) +
                   static_cast<unsigned __int128>(count - 1) * stride + block;
  if (end >= kLimit) return std::nullopt;
  if (stride == block) return interval(start, count * block);
  return IndexSet({start, stride, count, block});
}

IndexSet IndexSet::interval(std::uint64_t start, std::uint64_t size) {
  return size == 0 ? IndexSet() : IndexSet({start, 0, 1, size});
}

std::optional<IndexSet> IndexSet::united(std::vector<const IndexSet*> sets) {
  std::erase_if(sets, [](const IndexSet* set) { return set->empty(); });
  if (sets.empty()) return IndexSet();
  std::vector<Progression> pieces;
  std::sort(sets.begin(), sets.end(),
            [](const IndexSet* a, const IndexSet* b) { return a->first() < b->first(); });
  const IndexSet* previous = nullptr;
  for (const IndexSet* set : sets) {
    if (previous != nullptr && *set == *previous) continue;
    const std::span<const Progression> own = set->progressions();
    pieces.insert(pieces.end(), own.begin(), own.end());
    previous = set;
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Progression& a, const Progression& b) { return a.start < b.start; });
  return of_pieces(pieces);
}

std::optional<IndexSet> IndexSet::of_pieces(std::span<const Progression> pieces) {
  // Pieces lie one behind the other, or those that interleave are taken apart.
  RunCollector collector;
  std::size_t at = 0;
  while (at < pieces.size()) {
    std::uint64_t end = pieces[at].end(), runs = pieces[at].count;
    std::size_t next = at + 1;
    for (; next < pieces.size() && pieces[next].start < end; ++next) {
      end = std::max(end, pieces[next].end());
      runs += pieces[next].count;
      if (runs > kMaxRuns) return std::nullopt;
    }
    if (next == at + 1) {
      collector.add(pieces[at]);
    } else {
      take_apart(pieces.subspan(at, next - at), collector);
    }
    at = next;
  }
  return collector.finish();
}

std::span<Progression> IndexSet::changeable() {
  if (!many_.empty()) return many_;
  return {&one_, one_.count > 0 ? std::size_t{1} : std::size_t{0}};
}

IndexSet IndexSet::moved(std::uint64_t from, std::uint64_t to) const {
  IndexSet set = *this;
  for (Progression& p : set.changeable()) p.start = p.start - from + to;
  return set;
}

std::optional<IndexSet> IndexSet::in_units(std::uint64_t from, std::uint64_t unit) const {
  IndexSet set = *this;
  for (Progression& p : set.changeable()) {
    p.start -= from;
    if (p.start % unit != 0 || p.stride % unit != 0 || p.block % unit != 0) return std::nullopt;
    p.start /= unit;
    p.stride /= unit;
    p.block /= unit;
  }
  return set;
}

IndexSet IndexSet::within(std::uint64_t begin, std::uint64_t end) const {
  RunCollector collector;
  const std::span<const Progression> all = progressions();
  // They lie one behind the other.
  auto at = std::partition_point(all.begin(), all.end(),
                                 [&](const Progression& p) { return p.end() <= begin; });
  for (; at != all.end() && at->start < end; ++at) {
    const Progression& p = *at;
    const std::uint64_t step = std::max<std::uint64_t>(1, p.stride);
    // The first run that ends behind `begin`, and the number of those that start before `end`.
    const std::uint64_t skipped =
        p.start + p.block > begin ? 0 : (begin - p.start - p.block) / step + 1;
    const std::uint64_t stop = std::min(p.count, (end - 1 - p.start) / step + 1);
    if (skipped >= stop) continue;
    const auto run = [&](std::uint64_t i) { return p.start + i * p.stride; };
    const auto add = [&](std::uint64_t from, std::uint64_t to) {
      if (from < to) collector.add({from, 0, 1, to - from});
    };
    if (stop - skipped <= 2) {
      for (std::uint64_t i = skipped; i < stop; ++i) {
        add(std::max(begin, run(i)), std::min(end, run(i) + p.block));
      }
      continue;
    }
    add(std::max(begin, run(skipped)), run(skipped) + p.block);
    const std::uint64_t inner = stop - skipped - 2;
    collector.add({run(skipped + 1), inner == 1 ? 0 : p.stride, inner, p.block});
    add(run(stop - 1), std::min(end, run(stop - 1) + p.block));
  }
  return collector.finish();
}

std::uint64_t IndexSet::size() const {
  std::uint64_t sum = 0;
  for (const Progression& p : progressions()) sum += p.count * p.block;
  return sum;
}

std::uint64_t IndexSet::runs() const {
  std::uint64_t sum = 0;
  for (const Progression& p : progressions()) sum += p.count;
  return sum;
}

bool IndexSet::may_meet(const IndexSet& other) const {
  if (empty() || other.empty() || end() <= other.first() || other.end() <= first()) return false;
  const auto meet = [](const Progression& a, const Progression& b) {
    if (a.end() <= b.start || b.end() <= a.start) return false;
    // Two of one stride meet where their blocks do, modulo the stride.
    if (a.count > 1 && b.count > 1 && a.stride == b.stride) {
      const std::uint64_t offset = (b.start % a.stride + a.stride - a.start % a.stride) % a.stride;
      return offset < a.block || offset + b.block > a.stride;
    }
    // A run meets a progression where its first or last run within reach does.
    const Progression& many = a.count > 1 ? a : b;
    const Progression& one = a.count > 1 ? b : a;
    if (one.count > 1 || many.count == 1) return true;
    if (one.start + one.block <= many.start) return false;
    const std::uint64_t from = one.start > many.start ? one.start - many.start : 0;
    const std::uint64_t run = from / many.stride;
    const auto touches = [&](std::uint64_t i) {
      const std::uint64_t start = many.start + i * many.stride;
      return i < many.count && start < one.start + one.block && one.start < start + many.block;
    };
    return touches(run) || touches(run + 1);
  };
  for (const Progression& a : progressions()) {
    for (const Progression& b : other.progressions()) {
      if (meet(a, b)) return true;
    }
  }
  return false;
}

bool IndexSet::contains(const IndexSet& other) const {
  if (other.empty() || *this == other) return true;
  if (empty() || other.first() < first() || other.end() > end()) return false;
  if (is_interval()) return true;
  if (runs() + other.runs() > kMaxRuns) return false;
  Runs outer(progressions()), inner(other.progressions());
  for (; !inner.at_end(); inner.next()) {
    while (!outer.at_end() && outer.end() <= inner.start()) outer.next();
    if (outer.at_end() || outer.start() > inner.start() || outer.end() < inner.end()) return false;
  }
  return true;
}

std::uint64_t IndexSet::hash() const {
  std::uint64_t hash = progressions().size();
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  };
  for (const Progression& p : progressions()) {
    mix(p.start);
    mix(p.stride);
    mix(p.count);
    mix(p.block);
  }
  return hash;
}

}  // namespace iotune::analyzer
