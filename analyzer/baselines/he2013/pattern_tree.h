// The papers' multi-level pattern tree (HPDC 2013, 4.2, figure 18): Algorithm 1 on a sequence of
// numbers, then on the sequence of the units found, again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analyzer/baselines/he2013/unit.h"

namespace iotune::he2013 {

// What follows from a start, without the start: one value, or children that are repeated as a
// whole. Child k starts at start + the first k deltas, which are walked again and again.
struct Shape {
  std::vector<std::int64_t> deltas;                    // empty: one value
  std::uint64_t repeats = 0;                           // of all deltas
  std::uint64_t count = 1;                             // children, over all repetitions
  std::vector<std::shared_ptr<const Shape>> children;  // one a delta

  std::uint64_t values() const;  // that it represents, at all depths
  std::size_t depth() const;     // 0 for one value
};

struct Node {
  std::int64_t start;
  std::shared_ptr<const Shape> shape;
};

// The top level of the tree. Unlike find_units, a delta that comes only once joins nothing: its two
// ends stay nodes of their own, as they may each be part of something larger. Ends with the pass
// that joins nothing more.
std::vector<Node> find_tree(std::span<const std::int64_t> values, unsigned window = kWindow);

std::vector<std::int64_t> expand(std::span<const Node> nodes);

// `[0,(100)^3]{(3,4,7)^3}`: children in braces and without a start, as the papers draw them;
// nothing for children that are values.
std::string text(const Node& node);

// 20 + 8·|d| for a node, 12 + 8·|d| for each child that is not a value.
std::size_t memory_bytes(std::span<const Node> nodes);

}  // namespace iotune::he2013
