// A number of many lists of one form, list by list: a column of a table. Ranks are the rows most
// of the time, so that what depends on them evenly, by a grid, or as another number does, costs
// the same for any number of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/pattern_log/coding/digit_tables.h"
#include "analyzer/pattern_log/coding/term_model.h"
#include "analyzer/pattern_log/find_terms.h"
#include "analyzer/pattern_log/reach.h"

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
  void set_streams(std::uint64_t streams) noexcept { streams_ = streams; }

  // A column that is the same in all rows, as its writer knows.
  void write_same(BitWriter& writer, Role role) { code_varies(writer, model_of(role), false); }

  // Values are differences to the first row, values[0] = 0.
  template <class Coder>
  void code(Coder& coder, Role role, std::span<std::uint64_t> values, const StepGuess& steps,
            KnownColumns& known, RecentNumbers& recent, Budget& budget) {
    const Spans& spans = steps.spans;
    PerRole& model = model_of(role);
    Form form = Form::kSame;
    GridColumn grid;
    KnownColumns::Multiple multiple{};
    DigitTables tables;
    if constexpr (Coder::kWrites) form = form_of(values, grid, known, multiple, tables);
    if (!code_varies(coder, model, form != Form::kSame)) {
      for (std::uint64_t& value : values) value = 0;
      return;
    }
    form = static_cast<Form>(model.form.code(coder, static_cast<unsigned>(form)));
    const auto stride = [&](std::uint64_t value, std::uint64_t guess) {
      return model.last_stride = model.strides.code(coder, value, {guess}, spans, streams_, recent);
    };
    switch (form) {
      case Form::kEven: {
        std::uint64_t guess = steps.round != 0 ? steps.round : model.last_stride;
        if (guess == 0 && spans.size() > 0) guess = spans[spans.size() - 1];
        const std::uint64_t step = stride(values[1], guess);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = step * i;
        return;
      }
      case Form::kGrid:
        return code_grid(coder, values, grid, stride, spans, recent);
      case Form::kMultiple: {
        const std::uint64_t column = which_.code(coder, multiple.column);
        const std::uint64_t factor = factor_.code(coder, multiple.factor, {last_factor_}, recent);
        if (column >= known.size()) return coder.fail();
        last_factor_ = factor;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = known[column][i] * factor;
        return;
      }
      case Form::kTables:
        return code_tables(coder, values, tables, spans, recent);
      case Form::kSequence:
        code_sequence(coder, values, budget);
        if (!coder.failed()) known.add(values);
        return;
      default:
        coder.fail();
    }
  }

 private:
  enum class Form : unsigned { kEven, kGrid, kSequence, kMultiple, kTables, kSame };

  Form form_of(std::span<const std::uint64_t> values, GridColumn& grid, const KnownColumns& known,
               KnownColumns::Multiple& multiple, DigitTables& tables) const {
    bool same = true, even = true;
    for (std::size_t i = 1; i < values.size() && even; ++i) {
      same = same && values[i] == 0;
      even = values[i] - values[i - 1] == values[1];
    }
    if (even) return same ? Form::kSame : Form::kEven;
    if (!tables_.empty()) {
      const auto found = find_tables(values, grid_count_);
      if (found && tables_.knows(found->low) && tables_.knows(found->high)) {
        tables = *found;
        return Form::kTables;
      }
    }
    if (auto found = find_grid(values)) {
      grid = *found;
      return Form::kGrid;
    }
    if (const auto found = known.find(values)) {
      multiple = *found;
      return Form::kMultiple;
    }
    if (const auto found = find_tables(values, grid_count_)) {
      tables = *found;
      return Form::kTables;
    }
    return Form::kSequence;
  }

  template <class Coder, class Stride>
  void code_grid(Coder& coder, std::span<std::uint64_t> values, GridColumn& grid, Stride stride,
                 const Spans& spans, RecentNumbers& recent) {
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
      // Ranks next to each other in a dimension are so far apart as what each has there.
      std::uint64_t guess = 0;
      for (unsigned place = 0; place < spans.size() && guess == 0; ++place) {
        const bool last = d > 0 && spans[place] == grid.strides[d - 1];
        if (d == 0 ? place + 1 == spans.size() : last && place > 0)
          guess = spans[d == 0 ? place : place - 1];
      }
      grid.strides[d] = stride(grid.strides[d], guess);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint64_t rest = i, value = 0;
      for (unsigned d = 0; d < size; ++d) {
        value += rest % grid.counts[d] * grid.strides[d];
        rest /= grid.counts[d];
      }
      values[i] = value;
    }
    if (size > 2 || coder.failed()) return;
    // Other columns may have the same, begun elsewhere.
    std::vector<std::uint64_t> table;
    for (unsigned d = 0; d < size; ++d) {
      table.resize(d == 0 ? grid_count_ : values.size() / grid_count_);
      for (std::size_t i = 0; i < table.size(); ++i) table[i] = i * grid.strides[d];
      tables_.add(table);
    }
  }

  template <class Coder>
  void code_tables(Coder& coder, std::span<std::uint64_t> values, DigitTables& tables,
                   const Spans& spans, RecentNumbers& recent) {
    const std::uint64_t low = counts_.code(coder, tables.low.size(), {grid_count_}, recent);
    if (low < 2 || low >= values.size() || values.size() % low != 0) return coder.fail();
    grid_count_ = low;
    tables.low.resize(low);
    tables.high.resize(values.size() / low);
    tables_.code(coder, tables.low, spans, recent);
    tables_.code(coder, tables.high, spans, recent);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = tables.low[i % low] + tables.high[i / low];
    }
  }

  template <class Coder>
  void code_sequence(Coder& coder, std::span<std::uint64_t> values, Budget& budget) {
    TermList list;
    if (!sequences_) sequences_ = std::make_unique_for_overwrite<Sequences>();
    Shapes& shapes = sequences_->shapes;
    sequences_->terms.know(shapes);
    if constexpr (Coder::kWrites) {
      std::vector<Extent> accesses;
      accesses.reserve(values.size());
      for (const std::uint64_t value : values.subspan(1)) accesses.push_back({signed_of(value), 0});
      list = terms_of(accesses, shapes);
    }
    sequences_->terms.code(coder, shapes, list, budget);
    if constexpr (!Coder::kWrites) {
      ListCursor cursor(shapes, list);
      Extent at{};
      values[0] = 0;
      for (std::uint64_t& value : values.subspan(1)) {
        if (coder.failed() || !cursor.next(at)) return coder.fail();
        value = unsigned_of(at.offset);
      }
      if (cursor.next(at)) coder.fail();
    }
  }
  // Numbered as a reader will number them.
  static TermList terms_of(std::span<const Extent> accesses, Shapes& shapes);

  struct PerRole {
    // `number`: of ranks and streams, which mostly count on.
    PerRole(bool number, Bit varies_at_first) noexcept
        : strides(number ? expected::kFew : expected::kBytes), last_stride(number ? 1 : 0) {
      varies.fill(varies_at_first);
    }
    std::array<Bit, 4> varies;
    unsigned forms = 0;
    static constexpr Tree<3> kForm{{8, 3, 3, 1, 2, 0, 0, 0}};
    Tree<3> form = kForm;
    RelatedValue strides;
    std::uint64_t last_stride;
  };
  template <class Coder>
  static bool code_varies(Coder& coder, PerRole& model, bool varies) {
    const unsigned context = model.forms & 3U;
    varies = coder.bit(model.varies[context], varies);
    model.forms = (model.forms << 1U | (varies ? 1U : 0U)) & 3U;
    return varies;
  }
  PerRole& model_of(Role role) {
    const auto index = static_cast<unsigned>(role);
    std::unique_ptr<PerRole>& model = roles_[index];
    if (!model) model = std::make_unique<PerRole>(kOfNumbers[index], kVaries[index]);
    return *model;
  }

  // Made when they are needed: each is three thousand bytes, and a short log has few.
  static constexpr std::array<bool, kRoles> kOfNumbers = {true,  true,  false, false,
                                                          false, false, false, true};
  static constexpr std::array<Bit, kRoles> kVaries = {
      Bit::frequent(6), Bit::rare(2),     Bit::rare(8), Bit::rare(12),
      Bit::rare(12),    Bit::frequent(4), Bit::rare(6), Bit::frequent(6)};
  std::array<std::unique_ptr<PerRole>, kRoles> roles_;
  Value counts_{expected::kCount}, factor_;
  std::uint64_t grid_count_ = 0, last_factor_ = 1;
  Tree<3> grid_size_{{8, 4, 2, 1, 1, 1, 1, 1}};
  std::uint64_t streams_ = 1;
  Number which_;
  TableModel tables_;
  // Most logs need none, and it is larger than all the rest.
  struct Sequences {
    TermModel terms;
    Shapes shapes;
  };
  std::unique_ptr<Sequences> sequences_;
};

}  // namespace iotune::analyzer::pattern_log
