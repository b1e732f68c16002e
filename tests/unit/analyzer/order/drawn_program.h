// Programs drawn at random and run by an engine that matches as MPI does: what the processes would
// record, and what really ordered them.
#pragma once

#include <cstdint>
#include <vector>

#include "order_script.h"

namespace iotune::analyzer {

struct Moment {
  std::size_t process;
  std::uint64_t event;
};

// The start of one event is before the end of another.
struct TrueEdge {
  Moment start, end;
};

struct DrawnProgram {
  std::vector<Script> scripts;
  std::vector<TrueEdge> edges;
};

// 2 to 8 ranks; every seed ends without a deadlock.
DrawnProgram draw_program(std::uint64_t seed);

}  // namespace iotune::analyzer
