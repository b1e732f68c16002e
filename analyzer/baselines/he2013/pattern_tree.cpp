#include "analyzer/baselines/he2013/pattern_tree.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/baselines/he2013/repeated_runs.h"

namespace iotune::he2013 {
namespace {

using ShapePointer = std::shared_ptr<const Shape>;

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// One object for equal shapes, so that comparing two is comparing pointers.
class Shapes {
 public:
  ShapePointer value() {
    if (!value_) value_ = std::make_shared<const Shape>();
    return value_;
  }
  ShapePointer of(Shape shape) {
    ShapePointer& known =
        known_[{shape.deltas, shape.repeats, shape.count, addresses(shape.children)}];
    if (!known) known = std::make_shared<const Shape>(std::move(shape));
    return known;
  }

 private:
  using Addresses = std::vector<const Shape*>;
  static Addresses addresses(const std::vector<ShapePointer>& children) {
    Addresses found;
    for (const ShapePointer& child : children) found.push_back(child.get());
    return found;
  }

  ShapePointer value_;
  std::map<std::tuple<std::vector<std::int64_t>, std::uint64_t, std::uint64_t, Addresses>,
           ShapePointer>
      known_;
};

// How a node leads to the next: a run of equal steps has children of equal shapes.
struct Step {
  std::int64_t delta;
  const Shape* shape;
  friend bool operator==(const Step&, const Step&) = default;
};

std::vector<Node> one_pass(const std::vector<Node>& nodes, unsigned window, Shapes& shapes) {
  std::vector<Step> steps;
  for (std::size_t k = 0; k + 1 < nodes.size(); ++k) {
    steps.push_back({minus(nodes[k + 1].start, nodes[k].start), nodes[k].shape.get()});
  }
  std::vector<Node> joined;
  Shape open;  // the shape of the last of `joined`, where it is a run to which a child may be added
  bool is_open = false;
  const auto close = [&] {
    if (is_open) joined.back().shape = shapes.of(std::move(open));
    is_open = false;
  };
  const auto add_lone = [&](const Node& node) {
    // The child behind the last delta belongs to the run if it is the one that would come next.
    if (is_open && node.shape == open.children.front()) {
      ++open.count;
      close();
    } else {
      close();
      joined.push_back(node);
    }
  };
  for (const Run& run : repeated_runs(std::span<const Step>(steps), window)) {
    if (run.alone()) {
      add_lone(nodes[run.first]);
      continue;
    }
    close();
    open = {{}, run.repeats, run.symbols(), {}};
    for (std::size_t k = run.first; k < run.first + run.period; ++k) {
      open.deltas.push_back(steps[k].delta);
      open.children.push_back(nodes[k].shape);
    }
    is_open = true;
    joined.push_back({nodes[run.first].start, nullptr});
  }
  add_lone(nodes.back());
  close();
  return joined;
}

void append(std::int64_t start, const Shape& shape, std::vector<std::int64_t>& values) {
  if (shape.deltas.empty()) {
    values.push_back(start);
    return;
  }
  std::size_t k = 0;
  for (std::uint64_t left = shape.count; left > 0; --left) {
    append(start, *shape.children[k], values);
    start = plus(start, shape.deltas[k]);
    k = k + 1 == shape.deltas.size() ? 0 : k + 1;
  }
}

// By += alone: GCC 12 warns of "literal" + string (its bug 105329).
std::string deltas_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t delta : shape.deltas) {
    text += text.empty() ? "(" : ",";
    text += std::to_string(delta);
  }
  text += ")^";
  text += std::to_string(shape.repeats);
  return text;
}

std::string children_text(const Shape& shape) {
  const bool only_values = std::all_of(shape.children.begin(), shape.children.end(),
                                       [](const ShapePointer& c) { return c->deltas.empty(); });
  if (only_values) return "";
  std::string text;
  for (const ShapePointer& child : shape.children) {
    text += text.empty() ? "{" : ", ";
    text += child->deltas.empty() ? "·" : deltas_text(*child) + children_text(*child);
  }
  return text + "}";
}

std::size_t child_bytes(const Shape& shape) {
  std::size_t bytes = 0;
  for (const ShapePointer& child : shape.children) {
    if (!child->deltas.empty()) bytes += 12 + 8 * child->deltas.size() + child_bytes(*child);
  }
  return bytes;
}

}  // namespace

std::uint64_t Shape::values() const {
  if (deltas.empty()) return 1;
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < children.size() && k < count; ++k) {
    sum += ((count - k - 1) / children.size() + 1) * children[k]->values();
  }
  return sum;
}

std::size_t Shape::depth() const {
  if (deltas.empty()) return 0;
  std::size_t deepest = 0;
  for (const auto& child : children) deepest = std::max(deepest, child->depth());
  return deepest + 1;
}

std::vector<Node> find_tree(std::span<const std::int64_t> values, unsigned window) {
  Shapes shapes;
  std::vector<Node> nodes;
  for (const std::int64_t value : values) nodes.push_back({value, shapes.value()});
  while (nodes.size() > 1) {
    std::vector<Node> joined = one_pass(nodes, window, shapes);
    const bool fewer = joined.size() < nodes.size();
    nodes = std::move(joined);
    if (!fewer) break;
  }
  return nodes;
}

std::vector<std::int64_t> expand(std::span<const Node> nodes) {
  std::vector<std::int64_t> values;
  for (const Node& node : nodes) append(node.start, *node.shape, values);
  return values;
}

std::string text(const Node& node) {
  std::string text = "[";
  text += std::to_string(node.start);
  if (node.shape->deltas.empty()) return text + "]";
  text += ",";
  text += deltas_text(*node.shape);
  text += "]";
  return text + children_text(*node.shape);
}

std::size_t memory_bytes(std::span<const Node> nodes) {
  std::size_t bytes = 0;
  for (const Node& node : nodes) {
    bytes += 20 + 8 * node.shape->deltas.size() + child_bytes(*node.shape);
  }
  return bytes;
}

}  // namespace iotune::he2013
