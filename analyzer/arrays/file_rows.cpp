#include "analyzer/arrays/file_rows.h"

#include <algorithm>
#include <tuple>

namespace iotune::analyzer {
namespace {

constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 20U;
constexpr std::size_t kLongestBody = 72;  // items of a loop
constexpr int kMostPasses = 64;           // loops within loops

class Folder {
 public:
  explicit Folder(FileRows& rows) : rows_(rows) {}

  // A row, or two: the first rank of the next row of blocks goes on with the last one of this row.
  // One that was there before is one, whatever stands before it this time.
  void add_rows(const std::vector<FileRun>& runs, std::size_t first, std::size_t end) {
    const std::size_t before = last_end_ - last_first_;
    bool again = before > 0 && end - first > before;
    for (std::size_t i = 0; again && i < before; ++i) {
      const FileRun &old = runs[last_first_ + i], &now = runs[first + i];
      again = old.rank == now.rank && old.bytes == now.bytes;
    }
    if (again && !numbers_.contains(key_of(row(runs, first, end)))) {
      add_row(runs, first, first + before);
      first += before;
    }
    add_row(runs, first, end);
    last_first_ = first;
    last_end_ = end;
  }

 private:
  static RowForm row(const std::vector<FileRun>& runs, std::size_t first, std::size_t end) {
    RowForm form;
    const std::uint64_t start = runs[first].start;
    for (std::size_t i = first; i < end; ++i) {
      form.parts.push_back({runs[i].start - start, runs[i].rank, runs[i].bytes});
      form.bytes = std::max(form.bytes, runs[i].start + runs[i].bytes - start);
    }
    return form;
  }

  void add_row(const std::vector<FileRun>& runs, std::size_t first, std::size_t end) {
    rows_.items.push_back({runs[first].start, number_of(row(runs, first, end))});
  }

  static std::vector<std::uint64_t> key_of(const RowForm& form) {
    std::vector<std::uint64_t> key{form.count, form.pitch};
    for (const RowForm::Part& part : form.parts) {
      key.insert(key.end(), {part.at, part.what, part.bytes});
    }
    return key;
  }

 public:
  // Items that follow each other again and again become loops. Short ones first, wherever they are:
  // then equal arrays have equal loops, whatever lies between them.
  void fold() {
    fold_all(false);
    fold_all(true);
  }

 private:
  // `gaps`: loops of stretches between gaps; else loops without gaps.
  void fold_all(bool gaps) {
    int passes = 0;
    for (std::size_t body = 1; body <= kLongestBody && passes < kMostPasses;) {
      const bool found = fold_by(body, gaps);
      passes += found ? 1 : 0;
      body = found ? 1 : body + 1;
    }
  }

  bool fold_by(std::size_t body, bool gaps) {
    std::vector<PlacedForm>& items = rows_.items;
    std::vector<PlacedForm> folded;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < items.size();) {
      const bool apart = i == 0 || items[i].start > end;
      const bool may = i + 2 * body <= items.size() && items[i + body].form == items[i].form;
      std::size_t count = may && (apart || !gaps) ? iterations(i, body) : 1;
      if (count > 1 && has_gaps(i, body) != gaps) count = 1;
      if (count < 2) {
        end = std::max(end, rows_.end_of(items[i]));
        folded.push_back(items[i++]);
        continue;
      }
      folded.push_back({items[i].start, loop_of(i, body, count)});
      i += body * count;
      end = std::max(end, rows_.end_of(folded.back()));
    }
    const bool found = folded.size() < items.size();
    items = std::move(folded);
    return found;
  }

  // Between the first items from `first` on, or behind them.
  bool has_gaps(std::size_t first, std::size_t body) const {
    const std::vector<PlacedForm>& items = rows_.items;
    std::uint64_t end = rows_.end_of(items[first]);
    bool gaps = !rows_.forms[items[first].form].solid;
    for (std::size_t i = first + 1; i <= first + body; ++i) {
      gaps = gaps || items[i].start > end || !rows_.forms[items[i].form].solid;
      end = std::max(end, rows_.end_of(items[i]));
    }
    return gaps;
  }

  std::size_t iterations(std::size_t first, std::size_t body) const {
    const std::vector<PlacedForm>& items = rows_.items;
    const std::uint64_t pitch = items[first + body].start - items[first].start;
    std::size_t i = first + body;
    while (i < items.size() && items[i].form == items[i - body].form &&
           items[i].start - items[i - body].start == pitch) {
      ++i;
    }
    return (i - first) / body;
  }

  std::uint32_t loop_of(std::size_t first, std::size_t body, std::size_t count) {
    const std::vector<PlacedForm>& items = rows_.items;
    RowForm form;
    form.count = count;
    form.pitch = items[first + body].start - items[first].start;
    std::uint64_t end = 0;
    for (std::size_t i = first; i < first + body; ++i) {
      const RowForm& part = rows_.forms[items[i].form];
      const std::uint64_t at = items[i].start - items[first].start;
      form.parts.push_back({at, items[i].form, part.bytes});
      form.solid = form.solid && part.solid && at <= end;
      end = std::max(end, at + part.bytes);
    }
    form.solid = form.solid && form.pitch <= end;
    form.bytes = (count - 1) * form.pitch + end;
    return number_of(std::move(form));
  }

  std::uint32_t number_of(RowForm form) {
    const auto [found, fresh] =
        numbers_.try_emplace(key_of(form), static_cast<std::uint32_t>(rows_.forms.size()));
    if (fresh) rows_.forms.push_back(std::move(form));
    return found->second;
  }

  FileRows& rows_;
  std::size_t last_first_ = 0, last_end_ = 0;  // the runs of the row that was added last
  std::map<std::vector<std::uint64_t>, std::uint32_t> numbers_;
};

}  // namespace

std::vector<FileRun> runs_of(const IndexSets& ranks,
                             const std::vector<std::vector<std::uint64_t>>& cuts) {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) sum += ranks.shape(r).runs();
  std::vector<FileRun> runs;
  if (sum > kMostRuns) return runs;
  runs.reserve(sum);
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    auto cut = cuts.empty() ? std::vector<std::uint64_t>() : cuts[r];
    std::size_t next = 0;
    for (const Progression& p : ranks.shape(r).progressions()) {
      for (std::uint64_t i = 0; i < p.count; ++i) {
        std::uint64_t start = ranks.first(r) + p.start + i * p.stride;
        const std::uint64_t end = start + p.block;
        while (next < cut.size() && cut[next] <= start) ++next;
        for (; next < cut.size() && cut[next] < end; ++next) {
          runs.push_back({start, cut[next] - start, r});
          start = cut[next];
        }
        runs.push_back({start, end - start, r});
      }
    }
  }
  std::sort(runs.begin(), runs.end(), [](const FileRun& a, const FileRun& b) {
    return std::tie(a.start, a.rank) < std::tie(b.start, b.rank);
  });
  return runs;
}

FileRows rows_of(const IndexSets& ranks, const std::vector<std::vector<std::uint64_t>>& cuts) {
  FileRows rows;
  const std::vector<FileRun> runs = runs_of(ranks, cuts);
  Folder folder(rows);
  std::uint64_t end = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    // A row goes on with a higher rank, at its end or before it, and with runs of one length.
    const bool goes_on = i > first && runs[i].start <= end && runs[i].rank > runs[i - 1].rank &&
                         runs[i].bytes == runs[i - 1].bytes;
    if (!goes_on && i > first) {
      folder.add_rows(runs, first, i);
      first = i;
      end = 0;
    }
    end = std::max(end, runs[i].start + runs[i].bytes);
  }
  if (first < runs.size()) folder.add_rows(runs, first, runs.size());
  folder.fold();
  return rows;
}

}  // namespace iotune::analyzer
