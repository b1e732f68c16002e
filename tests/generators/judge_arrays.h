// Whether the arrays that are found in a drawn file are those that were drawn. Names are judged by
// bytes alone, spelt out one by one (plain_naming.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/generators/drawn_files.h"

namespace iotune::testing {

struct Judgement {
  std::size_t arrays = 0;
  // Drawn arrays under a name that has their bytes; of these, those that share it with neighbours
  // or have a name for each of their rows.
  std::size_t right = 0, joined = 0, divided = 0;
  std::size_t irregular = 0;  // drawn arrays without a name
  std::size_t other = 0;      // found names whose bytes were moved so, with other ends than drawn
  std::size_t wrong = 0;      // found names whose bytes nobody moved so
  std::vector<std::string> faults;
  std::vector<std::string> drawn, found;  // in words
};

Judgement judge(const DrawnFile& file);

}  // namespace iotune::testing
