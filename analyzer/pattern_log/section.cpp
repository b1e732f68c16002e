#include "analyzer/pattern_log/section.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "analyzer/pattern_log/coding/align_lists.h"
#include "analyzer/pattern_log/coding/column_model.h"
#include "analyzer/pattern_log/coding/name_model.h"
#include "analyzer/pattern_log/coding/term_model.h"
#include "analyzer/pattern_log/log_bytes.h"

namespace iotune::analyzer::pattern_log {
namespace {

// Lists of one form are one table if they are short or mostly regular over the rows: random
// accesses have one form too, but nothing in common.
constexpr std::size_t kShortList = 64;
constexpr std::size_t kIrregularShare = 4;

using Group = std::vector<const Piece*>;

bool regular_column(const std::vector<std::vector<std::uint64_t>>& rows, std::size_t column) {
  const std::uint64_t step = rows[1][column] - rows[0][column];
  if (rows.size() == 2) return step == 0;
  for (std::size_t i = 2; i < rows.size(); ++i) {
    if (rows[i][column] - rows[i - 1][column] != step) return false;
  }
  return true;
}

bool is_table(const Shapes& shapes, const Group& group) {
  // A few rows tell.
  constexpr std::size_t kSample = 6;
  std::vector<std::vector<std::uint64_t>> rows(std::min(group.size(), kSample));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    append_numbers(shapes, group[i]->list, rows[i]);
    if (rows[i].size() <= kShortList) return true;
  }
  const std::size_t columns = rows[0].size();
  std::size_t irregular = 0;
  for (std::size_t c = 0; c < columns; ++c) irregular += regular_column(rows, c) ? 0 : 1;
  return irregular * kIrregularShare <= columns;
}

std::vector<Group> groups_of(const Section& section) {
  std::vector<Group> groups;
  std::unordered_multimap<std::uint64_t, std::size_t> by_form;
  for (const Piece& piece : section.pieces) {
    const std::uint64_t hash = form_hash(section.shapes, piece.list) * 64 + piece.channel;
    const auto [begin, end] = by_form.equal_range(hash);
    auto it = begin;
    while (it != end && (groups[it->second][0]->channel != piece.channel ||
                         !same_form(section.shapes, groups[it->second][0]->list, piece.list))) {
      ++it;
    }
    if (it == end) {
      by_form.emplace(hash, groups.size());
      groups.push_back({&piece});
    } else {
      groups[it->second].push_back(&piece);
    }
  }
  std::vector<Group> split;
  for (Group& group : groups) {
    if (group.size() == 1 || is_table(section.shapes, group)) {
      split.push_back(std::move(group));
    } else {
      for (const Piece* piece : group) split.push_back({piece});
    }
  }
  return split;
}

template <class Coder>
class SectionCodec {
 public:
  SectionCodec(Coder& coder, Section& section) : coder_(coder), section_(section) {}

  void keys(std::vector<StreamKey>& streams, std::vector<std::string>& names) {
    names_->code(coder_, names, *columns_, terms_->recent(), budget_);
    const std::uint64_t count = stream_count_.code(coder_, streams.size());
    if (!budget_.take(coder_, count, 2)) return;
    streams.resize(count);
    streams_ = count;
    terms_->set_streams(count);
    columns_->set_streams(count);
    if (count == 0) return;
    KnownColumns known;
    column(
        Role::kRank, count, known, [&](std::size_t i) { return unsigned_of(streams[i].rank); },
        [&](std::size_t i, std::uint64_t value) { streams[i].rank = signed_of(value); });
    column(
        Role::kName, count, known, [&](std::size_t i) { return std::uint64_t{streams[i].name}; },
        [&](std::size_t i, std::uint64_t value) {
          streams[i].name = static_cast<std::uint32_t>(value);
        });
  }

  void groups(const std::vector<Group>& groups) {
    const std::uint64_t count = counts_.code(coder_, groups.size());
    for (std::uint64_t g = 0; g < count && !coder_.failed(); ++g) {
      Group group;
      if constexpr (Coder::kWrites) group = groups[g];
      code_group(group);
    }
  }

 private:
  template <class Get, class Set>
  void column(Role role, std::size_t rows, KnownColumns& known, Get get, Set set) {
    column_.assign(rows, 0);
    std::uint64_t first = 0;
    if constexpr (Coder::kWrites) {
      first = get(0);
      for (std::size_t i = 0; i < rows; ++i) column_[i] = get(i) - first;
    }
    first = first_.code(coder_, first, {0, last_first_ + 1}, terms_->recent());
    last_first_ = first;
    if (rows > 1) columns_->code(coder_, role, column_, {}, known, terms_->recent(), budget_);
    for (std::size_t i = 0; i < rows && !coder_.failed(); ++i) set(i, first + column_[i]);
  }

  void code_group(const Group& group) {
    if (last_rows_ == UINT64_MAX) last_rows_ = streams_;
    const std::uint64_t rows =
        rows_.code(coder_, group.size(), {last_rows_, streams_, 1}, recent_rows_);
    last_rows_ = rows;
    if (rows == 0) coder_.fail();
    if (!budget_.take(coder_, rows)) return;
    std::uint32_t channel = 0;
    std::vector<std::uint32_t> streams(rows);
    TermList own;
    TermList* of_first = &own;
    terms_->know(shapes_);
    if constexpr (Coder::kWrites) {
      channel = group[0]->channel;
      for (std::size_t i = 0; i < rows; ++i) streams[i] = group[i]->stream;
      const TermList& list = group[0]->list;
      if (list.terms.size() == list.leaves.size() && section_.shapes.size() == 1) {
        // Accesses alone are not copied: there may be many. A writer changes no list.
        of_first = &const_cast<TermList&>(list);
      } else {
        own = renumbered(section_.shapes, list, shapes_, numbers_of_shapes_);
      }
    }
    TermList& first = *of_first;
    channel = channel_.code(coder_, channel);
    KnownColumns known;
    column(
        Role::kStream, rows, known, [&](std::size_t i) { return std::uint64_t{streams[i]}; },
        [&](std::size_t i, std::uint64_t value) {
          streams[i] = static_cast<std::uint32_t>(value);
        });
    terms_->code(coder_, shapes_, first, budget_);
    if (coder_.failed()) return;
    if (rows == 1) {
      if constexpr (!Coder::kWrites) {
        section_.pieces.push_back({streams[0], channel, std::move(first)});
      }
      return;
    }
    std::vector<std::uint64_t> numbers;
    std::vector<Role> roles;
    append_numbers(shapes_, first, numbers);
    append_roles(shapes_, first, roles);
    const std::size_t width = numbers.size();
    if (!budget_.take(coder_, rows - 1, width)) return;
    // A rank's place often moves by what it accesses.
    StepGuesses guesses(shapes_, first, rows);
    if constexpr (Coder::kWrites) {
      if (have_same_terms(group)) return write_leaves(group, roles, guesses, known);
    }
    std::vector<std::uint64_t> table(rows * width);
    if constexpr (Coder::kWrites) fill_table(group, numbers, table);
    for (std::size_t c = 0; c < width && !coder_.failed(); ++c) {
      columns_->code(coder_, roles[c], std::span(table).subspan(c * rows, rows),
                     guesses.next(roles[c]), known, terms_->recent(), budget_);
    }
    if constexpr (!Coder::kWrites) {
      for (std::size_t i = 0; i < rows && !coder_.failed(); ++i) {
        Piece& piece = section_.pieces.emplace_back();
        piece.stream = streams[i];
        piece.channel = channel;
        if (i == 0) {
          piece.list = first;
          continue;
        }
        std::vector<std::uint64_t> row(width);
        for (std::size_t c = 0; c < width; ++c) {
          row[c] = numbers[c] + table[c * rows + i];
          if (row[c] == 0 && roles[c] == Role::kCount) return coder_.fail();
        }
        piece.list = list_of_numbers(shapes_, first, row.data());
      }
    } else {
      for (std::size_t i = 1; i < rows; ++i) {
        if (group[i]->list.terms == group[0]->list.terms) continue;
        renumbered(section_.shapes, group[i]->list, shapes_, numbers_of_shapes_);
      }
    }
  }

  static bool have_same_terms(const Group& group) {
    return std::all_of(group.begin(), group.end(), [&](const Piece* piece) {
      return piece->list.terms == group[0]->list.terms;
    });
  }

  // Only leaves can differ.
  void write_leaves(const Group& group, std::span<const Role> roles, StepGuesses& guesses,
                    KnownColumns& known) requires Coder::kWrites {
    const auto write = [&](Role role, std::size_t leaf, std::int64_t Extent::*number) {
      const std::uint64_t first = unsigned_of(group[0]->list.leaves[leaf].*number);
      column_.clear();
      for (const Piece* piece : group) {
        column_.push_back(unsigned_of(piece->list.leaves[leaf].*number) - first);
      }
      columns_->code(coder_, role, column_, guesses.next(role), known, terms_->recent(), budget_);
    };
    std::size_t leaf = 0;
    for (const Role role : roles) {
      if (role == Role::kOffset) {
        write(role, leaf, &Extent::offset);
      } else if (role == Role::kLength) {
        write(role, leaf++, &Extent::length);
      } else {
        guesses.next(role);
        columns_->write_same(coder_, role);
      }
    }
  }

  // Column by column what each row adds to the numbers of the first one.
  void fill_table(const Group& group, std::span<const std::uint64_t> numbers,
                  std::vector<std::uint64_t>& table) const {
    const std::size_t rows = group.size();
    std::vector<std::uint64_t> row;
    for (std::size_t i = 1; i < rows; ++i) {
      row.clear();
      append_numbers(section_.shapes, group[i]->list, row);
      for (std::size_t c = 0; c < row.size(); ++c) table[c * rows + i] = row[c] - numbers[c];
    }
  }

 public:
  Shapes& shapes() noexcept { return shapes_; }

 private:
  Coder& coder_;
  Section& section_;
  Shapes shapes_;  // numbered as they are met
  std::vector<std::uint32_t> numbers_of_shapes_;
  Budget budget_;
  Number counts_, stream_count_{expected::kCount};
  Tree<3> channel_{{32, 2, 1, 1, 1, 1, 4, 8}};
  Value first_{expected::kFew, Bit::frequent(8)}, rows_{expected::kCount, Bit::frequent(5)};
  RecentNumbers recent_rows_;
  std::uint64_t streams_ = 0, last_first_ = UINT64_MAX, last_rows_ = UINT64_MAX;
  std::vector<std::uint64_t> column_;
  std::unique_ptr<TermModel> terms_ = std::make_unique_for_overwrite<TermModel>();
  std::unique_ptr<ColumnModel> columns_ = std::make_unique_for_overwrite<ColumnModel>();
  std::unique_ptr<NameModel> names_ = std::make_unique_for_overwrite<NameModel>();
};

}  // namespace

std::vector<std::byte> encode_section(Section& section) {
  align_lists(section.shapes, section.pieces);
  BitWriter writer(kSectionMark);
  SectionCodec<BitWriter> codec(writer, section);
  codec.keys(section.streams, section.names);
  codec.groups(groups_of(section));
  writer.end();
  return writer.take();
}

bool decode_section(std::span<const std::byte> bytes, bool keys_only, Section& section) {
  BitReader reader(bytes, kSectionMark);
  SectionCodec<BitReader> codec(reader, section);
  if (!reader.failed()) codec.keys(section.streams, section.names);
  if (!keys_only && !reader.failed()) codec.groups({});
  section.shapes = std::move(codec.shapes());
  return !reader.failed();
}

}  // namespace iotune::analyzer::pattern_log
