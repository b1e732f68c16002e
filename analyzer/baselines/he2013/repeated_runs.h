// The search of Algorithm 1 on any sequence of comparable symbols: deltas of numbers for units,
// deltas and shapes for the pattern tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace iotune::he2013 {

// Symbols [first, first + period) stand `repeats` times in a row.
struct Run {
  std::size_t first;
  std::size_t period;
  std::uint64_t repeats;

  std::size_t symbols() const noexcept { return period * static_cast<std::size_t>(repeats); }
  bool alone() const noexcept { return period == 1 && repeats == 1; }
};

// Runs that cover all symbols in their order.
template <typename Symbol>
std::vector<Run> repeated_runs(std::span<const Symbol> d, unsigned window) {
  std::vector<Run> stack;
  std::size_t p = 0;
  while (p < d.size()) {
    // The longest sequence before p that comes again at p.
    std::size_t length = std::min({std::size_t{window}, p, d.size() - p});
    while (length > 0 && !std::equal(d.begin() + static_cast<std::ptrdiff_t>(p - length),
                                     d.begin() + static_cast<std::ptrdiff_t>(p),
                                     d.begin() + static_cast<std::ptrdiff_t>(p))) {
      --length;
    }
    std::size_t units_on_top = 0;  // that hold `length` symbols together
    std::size_t held = 0;
    while (held < length && units_on_top < stack.size()) {
      held += stack[stack.size() - 1 - units_on_top].symbols();
      ++units_on_top;
    }
    if (length > 0 && held == length) {
      stack.resize(stack.size() - units_on_top);
      stack.push_back({p - length, length, 2});
      p += length;
    } else if (length > 0 && length % stack.back().period == 0 &&
               length <= stack.back().symbols()) {
      stack.back().repeats += length / stack.back().period;
      p += length;
    } else {
      stack.push_back({p, 1, 1});
      ++p;
    }
    // (4,4)^2 is (4)^4. Only a unit just made can be so: it is no longer than the window.
    Run& top = stack.back();
    const auto body = d.subspan(top.first, top.period);
    if (top.period > 1 &&
        std::all_of(body.begin(), body.end(), [&](const Symbol& s) { return s == body.front(); })) {
      top.repeats *= top.period;
      top.period = 1;
    }
  }
  return stack;
}

}  // namespace iotune::he2013
