// A column over a process grid that is not even: row i has a place in each of two dimensions, and
// each place counts so much. Blocks that differ by one row; cells of which each rank has several,
// shifted against each other around the grid.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/pattern_log/coding/number_models.h"
#include "analyzer/pattern_log/coding/related_value.h"

namespace iotune::analyzer::pattern_log {

// values[i] = low[i % low.size()] + high[i / low.size()]; both begin with 0.
struct DigitTables {
  std::vector<std::uint64_t> low, high;
};
// The smallest such tables, values[0] being 0. Tries `count` as the size of `low` first; nothing if
// there are none that save much.
std::optional<DigitTables> find_tables(std::span<const std::uint64_t> values, std::uint64_t count);

// Tables, each of which may be one met before, begun at another place.
class TableModel {
 public:
  // Writes, or fills, a table that begins with 0. `spans`: what a place may count.
  template <class Coder>
  void code(Coder& coder, std::span<std::uint64_t> table, const Spans& spans,
            RecentNumbers& recent) {
    Known known;
    Kind kind = Kind::kZero;
    if constexpr (Coder::kWrites) kind = kind_of(table, known);
    kind = static_cast<Kind>(kinds_.code(coder, static_cast<unsigned>(kind)));
    const std::size_t size = table.size();
    if (kind == Kind::kZero) {
      for (std::uint64_t& value : table) value = 0;
      return;
    }
    if (kind == Kind::kShifted) {
      const std::uint64_t back = back_.code(coder, known.back);
      if (back >= tables_.size() || tables_[tables_.size() - 1 - back].values.size() != size) {
        return coder.fail();
      }
      Table& like = tables_[tables_.size() - 1 - back];
      // Cells of one rank are shifted by as much each.
      const std::uint64_t guess = (2 * like.shift + size - like.shift_before) % size;
      const std::uint64_t shift = shifts_.code(coder, known.shift, {guess}, recent_shifts_);
      if (shift >= size) return coder.fail();
      for (std::size_t i = 0; i < size; ++i) table[i] = like.shifted(i, shift);
      like.shift_before = like.shift;
      like.shift = shift;
      return;
    }
    std::uint64_t step = 0, before = 0;
    for (std::size_t i = 1; i < size && !coder.failed(); ++i) {
      const std::uint64_t now =
          numbers_.code(coder, table[i] - before, {step, 0}, spans, 1, recent);
      table[i] = before + now;
      step = now;
      before = table[i];
    }
    table[0] = 0;
    add(table);
  }

  void add(std::span<const std::uint64_t> table);
  bool empty() const noexcept { return tables_.empty(); }
  // Would the table take a few bits only?
  bool knows(std::span<const std::uint64_t> table) const {
    Known known;
    return kind_of(table, known) != Kind::kNew;
  }

 private:
  enum class Kind : unsigned { kZero, kShifted, kNew };
  struct Known {
    std::uint64_t back = 0, shift = 0;
  };
  struct Table {
    std::vector<std::uint64_t> values;
    std::uint64_t shift = 0, shift_before = 0;  // the last two that it was met with
    std::uint64_t shifted(std::size_t place, std::uint64_t by) const noexcept {
      return values[(place + by) % values.size()] - values[by];
    }
  };
  Kind kind_of(std::span<const std::uint64_t> table, Known& known) const;

  std::vector<Table> tables_;
  Tree<2> kinds_{{2, 4, 2, 0}};
  Number back_;
  Value shifts_{expected::kFew};
  RelatedValue numbers_;
  RecentNumbers recent_shifts_;
};

}  // namespace iotune::analyzer::pattern_log
