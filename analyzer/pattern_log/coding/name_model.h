// Names of files and datasets. Their numbers are columns: a thousand names that count on cost no
// more than one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/pattern_log/coding/column_model.h"

namespace iotune::analyzer::pattern_log {

// A name without its numbers: characters, and where a number stands 256 plus how many digits it is
// filled up to with zeros (0: none are).
struct NameForm {
  std::vector<std::uint16_t> characters;
  std::uint32_t numbers = 0;
  friend bool operator==(const NameForm&, const NameForm&) = default;
};

struct SplitName {
  NameForm form;
  std::vector<std::uint64_t> numbers;
};
// Splits names so that those which differ in numbers only have one form.
std::vector<SplitName> split_names(const std::vector<std::string>& names);
std::string join_name(const NameForm& form, const std::uint64_t* numbers);

inline constexpr unsigned kMostDigitsOfNumber = 18;
inline constexpr std::uint64_t kMostNameBytes = 1U << 16U;

class NameModel {
 public:
  // Writes names, or appends as many as were written.
  template <class Coder>
  void code(Coder& coder, std::vector<std::string>& names, ColumnModel& columns,
            RecentNumbers& recent, Budget& budget) {
    std::vector<SplitName> split;
    if constexpr (Coder::kWrites) split = split_names(names);
    const std::uint64_t count = count_.code(coder, names.size());
    if (!budget.take(coder, count)) return;
    // Names by form, each in the order in which they came.
    std::vector<std::uint32_t> form_of(count, 0);
    for (std::uint64_t n = 0; n < count && !coder.failed(); ++n) {
      std::uint32_t form = last_form_;
      if constexpr (Coder::kWrites) form = place_of(split[n].form);
      if (n > 0 && coder.bit(again_, form == last_form_)) {
        form = last_form_;
      } else {
        // The first of all is new.
        if (!forms_.empty()) form = static_cast<std::uint32_t>(form_.code(coder, form));
        if (form > forms_.size()) coder.fail();
        if (form == forms_.size()) {
          NameForm fresh;
          if constexpr (Coder::kWrites) fresh = split[n].form;
          code_form(coder, fresh, budget);
          forms_.push_back(std::move(fresh));
        }
      }
      if (coder.failed() || form >= forms_.size()) return coder.fail();
      form_of[n] = last_form_ = form;
    }
    if (coder.failed()) return;
    if constexpr (!Coder::kWrites) names.resize(count);
    std::vector<std::vector<std::uint64_t>> rows_of(forms_.size());
    for (std::uint64_t n = 0; n < count; ++n) rows_of[form_of[n]].push_back(n);
    for (std::uint32_t form = 0; form < forms_.size() && !coder.failed(); ++form) {
      code_numbers(coder, form, rows_of[form], split, names, columns, recent, budget);
    }
  }

 private:
  std::uint32_t place_of(const NameForm& form) const {
    std::uint32_t place = 0;
    while (place < forms_.size() && forms_[place] != form) ++place;
    return place;
  }

  template <class Coder>
  void code_form(Coder& coder, NameForm& form, Budget& budget) {
    const std::uint64_t size = length_.code(coder, form.characters.size());
    if (size > kMostNameBytes) coder.fail();
    if (!budget.take(coder, size)) return;
    form.characters.resize(size);
    unsigned before = 0;
    form.numbers = 0;
    for (std::uint16_t& character : form.characters) {
      auto& model = characters_[before % kContexts];
      if (!model) model = std::make_unique<Tree<9>>();
      before = model->code(coder, character);
      if (before > 256 + kMostDigitsOfNumber) coder.fail();
      character = static_cast<std::uint16_t>(before);
      form.numbers += before >= 256 ? 1 : 0;
    }
  }

  template <class Coder>
  void code_numbers(Coder& coder, std::uint32_t form, const std::vector<std::uint64_t>& rows,
                    const std::vector<SplitName>& split, std::vector<std::string>& names,
                    ColumnModel& columns, RecentNumbers& recent, Budget& budget) {
    const std::uint32_t width = forms_[form].numbers;
    if (rows.empty() || !budget.take(coder, rows.size(), width)) return;
    std::vector<std::uint64_t> table(rows.size() * width), column(rows.size());
    KnownColumns known;
    for (std::uint32_t c = 0; c < width && !coder.failed(); ++c) {
      std::uint64_t first = 0;
      if constexpr (Coder::kWrites) {
        first = split[rows[0]].numbers[c];
        for (std::size_t i = 0; i < rows.size(); ++i) column[i] = split[rows[i]].numbers[c] - first;
      }
      first = first_.code(coder, first, {}, recent);
      if (rows.size() > 1) columns.code(coder, Role::kName, column, {}, known, recent, budget);
      for (std::size_t i = 0; i < rows.size(); ++i) table[i * width + c] = first + column[i];
    }
    if constexpr (!Coder::kWrites) {
      for (std::size_t i = 0; i < rows.size() && !coder.failed(); ++i) {
        names[rows[i]] = join_name(forms_[form], table.data() + i * width);
        if (!budget.take(coder, names[rows[i]].size() / 8)) return;
      }
    }
  }

  static constexpr unsigned kContexts = 64;
  Number count_, form_, length_{expected::kNameLength};
  Value first_;
  Bit again_ = Bit::frequent(3);
  std::uint32_t last_form_ = 0;
  std::vector<NameForm> forms_;
  std::array<std::unique_ptr<Tree<9>>, kContexts> characters_;
};

}  // namespace iotune::analyzer::pattern_log
