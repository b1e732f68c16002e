// Every generator in one list: the rows of benchmarks, and what tests go over.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/generators/workload.h"

namespace iotune::generators {

enum class Kind {
  plain,         // loops of depth one, or one access a rank
  nested,        // loops in loops, or periods longer than the papers' window
  noisy,         // a pattern with accesses in it that belong to none
  unstructured,  // random
};

struct Row {
  std::string name;  // unique, as the Workload's
  Kind kind;
  double paper_rate;  // 56·N / bytes in memory as the papers print it; 0: not in their text
  std::function<Workload()> make;
};

enum class Size { small, table };  // some thousand accesses; the sizes of docs/results/patterns.md

std::vector<Row> catalogue(Size size);

}  // namespace iotune::generators
