// A number of many lists of one form, list by list: a column of a table. Ranks are the rows most
// of the time, so that what depends on them evenly, by a grid, or as another number does, costs
// the same for any number of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/pattern_log/find_terms.h"
#include "analyzer/pattern_log/term_model.h"

namespace iotune::analyzer::pattern_log {

// Row i is a number in mixed radix, lowest digit first; each digit counts so much.
struct GridColumn {
  std::vector<std::uint64_t> counts, strides;
};
// The grid of a column with these differences to its first row; nothing if it is none.
std::optional<GridColumn> find_grid(std::span<const std::uint64_t> values);

// Columns whose differences to their first row have no such form, divided by what they have in
// common: others may be multiples of them.
class KnownColumns {
 public:
  struct Multiple {
    std::uint32_t column;
    std::uint64_t factor;
  };
  std::optional<Multiple> find(std::span<const std::uint64_t> values) const;
  // Keeps it, where there is room.
  void add(std::span<const std::uint64_t> values);
  std::span<const std::uint64_t> operator[](std::size_t column) const { return columns_[column]; }
  std::size_t size() const noexcept { return columns_.size(); }

 private:
  std::vector<std::vector<std::uint64_t>> columns_;
};

class ColumnModel {
 public:
  // Values are differences to the first row, values[0] = 0. `guess`: a stride to expect.
  template <class Coder>
  void code(Coder& coder, Role role, std::span<std::uint64_t> values, std::uint64_t guess,
            KnownColumns& known, RecentNumbers& recent, Budget& budget) {
    PerRole& model = roles_[static_cast<unsigned>(role)];
    Form form = Form::kSame;
    GridColumn grid;
    KnownColumns::Multiple multiple{};
    if constexpr (Coder::kWrites) form = form_of(values, grid, known, multiple);
    const unsigned context = model.forms & 3U;
    model.forms = (model.forms << 1U) & 3U;
    if (!coder.bit(model.varies[context], form != Form::kSame)) {
      for (std::uint64_t& value : values) value = 0;
      return;
    }
    model.forms |= 1U;
    form = static_cast<Form>(model.form.code(coder, static_cast<unsigned>(form)));
    const auto stride = [&](std::uint64_t value) {
      return model.last_stride =
                 model.strides.code(coder, value, {model.last_stride, guess}, recent);
    };
    switch (form) {
      case Form::kEven: {
        const std::uint64_t step = stride(values[1]);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = step * i;
        return;
      }
      case Form::kGrid:
        return code_grid(coder, values, grid, stride, recent);
      case Form::kMultiple: {
        const std::uint64_t column = which_.code(coder, multiple.column);
        const std::uint64_t factor = factor_.code(coder, multiple.factor, {last_factor_}, recent);
        if (column >= known.size()) return coder.fail();
        last_factor_ = factor;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = known[column][i] * factor;
        return;
      }
      case Form::kSequence:
        code_sequence(coder, values, budget);
        if (!coder.failed()) known.add(values);
        return;
      default:
        coder.fail();
    }
  }

 private:
  enum class Form : unsigned { kEven, kGrid, kSequence, kMultiple, kSame };

  static Form form_of(std::span<const std::uint64_t> values, GridColumn& grid,
                      const KnownColumns& known, KnownColumns::Multiple& multiple) {
    bool same = true, even = true;
    for (std::size_t i = 1; i < values.size() && even; ++i) {
      same = same && values[i] == 0;
      even = values[i] - values[i - 1] == values[1];
    }
    if (even) return same ? Form::kSame : Form::kEven;
    if (auto found = find_grid(values)) {
      grid = *found;
      return Form::kGrid;
    }
    if (const auto found = known.find(values)) {
      multiple = *found;
      return Form::kMultiple;
    }
    return Form::kSequence;
  }

  template <class Coder, class Stride>
  void code_grid(Coder& coder, std::span<std::uint64_t> values, GridColumn& grid, Stride stride,
                 RecentNumbers& recent) {
    const unsigned size =
        grid_size_.code(
            coder, static_cast<unsigned>(grid.counts.size() < 2 ? 0 : grid.counts.size() - 2)) +
        2;
    grid.counts.resize(size);
    grid.strides.resize(size);
    std::uint64_t rows = 1;
    for (unsigned d = 0; d < size; ++d) {
      std::uint64_t& count = grid.counts[d];
      // The last one follows from the number of rows.
      if (d + 1 < size) {
        const std::uint64_t like_before = d == 0 ? grid_count_ : grid.counts[d - 1];
        count = counts_.code(coder, count, {like_before}, recent);
        if (count < 2 || count > values.size() / rows) return coder.fail();
        if (d == 0) grid_count_ = count;
        rows *= count;
      } else {
        count = values.size() / rows;
        if (count * rows != values.size()) return coder.fail();
      }
      grid.strides[d] = stride(grid.strides[d]);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint64_t rest = i, value = 0;
      for (unsigned d = 0; d < size; ++d) {
        value += rest % grid.counts[d] * grid.strides[d];
        rest /= grid.counts[d];
      }
      values[i] = value;
    }
  }

  template <class Coder>
  void code_sequence(Coder& coder, std::span<std::uint64_t> values, Budget& budget) {
    TermList list;
    sequences_.know(shapes_);
    if constexpr (Coder::kWrites) {
      std::vector<Extent> accesses;
      accesses.reserve(values.size());
      for (const std::uint64_t value : values.subspan(1)) accesses.push_back({signed_of(value), 0});
      list = terms_of(accesses);
    }
    sequences_.code(coder, shapes_, list, budget);
    if constexpr (!Coder::kWrites) {
      ListCursor cursor(shapes_, list);
      Extent at{};
      values[0] = 0;
      for (std::uint64_t& value : values.subspan(1)) {
        if (coder.failed() || !cursor.next(at)) return coder.fail();
        value = unsigned_of(at.offset);
      }
      if (cursor.next(at)) coder.fail();
    }
  }
  // In shapes_, numbered as a reader will number them.
  TermList terms_of(std::span<const Extent> accesses);

  struct PerRole {
    std::array<Bit, 4> varies{};
    unsigned forms = 0;
    Tree<2> form;
    Value strides;
    std::uint64_t last_stride = 0;
  };
  std::array<PerRole, kRoles> roles_;
  Value counts_, factor_;
  std::uint64_t grid_count_ = 0, last_factor_ = 1;
  Tree<3> grid_size_;
  Number which_;
  TermModel sequences_;
  Shapes shapes_;
};

}  // namespace iotune::analyzer::pattern_log
