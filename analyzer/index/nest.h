// A nest: the accesses of a few loops around one access of constant length, and what an index has
// to say of each. Made of loops and never expanded.
#pragma once

#include <cstdint>
#include <vector>

namespace iotune::analyzer {

// Where anything of a file or of a log may lie, in bytes. Twice as much never overflows.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
// Loops that recognition finds (patterns::kMaxLoopDepth), and those that streams were folded into.
inline constexpr unsigned kMaxNestLevels = 12;

// What an iteration of one loop adds.
struct NestLevel {
  std::int64_t stride = 0;         // bytes in the file
  std::int64_t count = 0;          // iterations, >= 2
  std::int64_t position_step = 0;  // accesses in the stream
  std::int64_t physical_step = 0;  // bytes in the stream's log
  std::int64_t slot_step = 0;      // places in the table of streams, >= 0

  friend constexpr bool operator==(const NestLevel&, const NestLevel&) noexcept = default;
};

struct Nest {
  std::int64_t start = 0;     // bytes in the file, of the first access
  std::int64_t length = 0;    // bytes of each, > 0
  std::int64_t position = 0;  // of the first access in its stream
  std::int64_t physical = 0;  // its place in the stream's log
  std::int64_t slot = 0;      // its stream, by place in the table of streams
  std::vector<NestLevel> levels;

  // Of a normal nest (see normalise).
  std::int64_t end() const noexcept;
  std::int64_t slot_span() const noexcept;  // places in the table of streams that it may use
  std::int64_t last_position() const noexcept;
};

// False where an access, its position or its place in the log leaves [0, kMostBytes].
bool within_bounds(const Nest& nest) noexcept;

// Whether strides are positive, descending, and each leaves room for all that is within: then
// accesses do not overlap, and their order by offset is that of the loops.
bool is_normal(const Nest& nest) noexcept;

// Makes one loop of two of which the outer goes on where the inner ends. The nest must be normal.
void join_levels(Nest& nest);

// Appends normal nests that show what `nest` leaves in the file. Of accesses repeated by a stride
// of zero only the last remains, because it is the later one; loops run backwards are turned
// round; loops whose accesses overlap each other are split by residue until each part is normal.
// False where that would append more than `most` nests. The nest must be within bounds.
bool normalise(Nest nest, std::size_t most, std::vector<Nest>& to);

}  // namespace iotune::analyzer
