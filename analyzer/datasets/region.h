// What one rank moved of one dataset: the union of all its selections.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/datasets/index_set.h"

namespace iotune::analyzer {

// One set for each dimension; it is their Cartesian product. Every regular hyperslab is one.
using Product = std::vector<IndexSet>;

std::uint64_t points_of(const Product& product);  // saturates

class Region {
 public:
  explicit Region(std::size_t dimensions) : dimensions_(dimensions) {}

  // Empty products count for nothing.
  void add(Product product);
  // Something was moved that cannot be described; it lies within these corners (the last one
  // included), which may be empty where not even that is known.
  void add_unknown(const std::vector<std::uint64_t>& first, const std::vector<std::uint64_t>& last,
                   std::uint64_t points);

  // Joins what was added into as few products as it can. Call before the functions below.
  void finish();

  std::size_t dimensions() const { return dimensions_; }
  bool empty() const { return parts_.empty() && !unknown_; }
  // The union is one product: parts()[0].
  bool regular() const { return parts_.size() == 1 && !unknown_; }
  // False where parts() is less than the union.
  bool known() const { return !unknown_; }
  // Disjoint or not; together the union.
  const std::vector<Product>& parts() const { return parts_; }
  // Indices with at least one point, per dimension; of an unknown union an upper bound.
  std::vector<std::uint64_t> extents() const;

  // Points with as many counts as they were moved, and how often the whole was.
  std::uint64_t points_moved() const { return moved_; }
  std::uint64_t times_moved() const;

  template <class A>
  void archive(A& a) {
    a(dimensions_, parts_, merge_at_, moved_, unknown_);
  }

 private:
  bool merge_along(std::size_t dimension);
  void merge();
  void drop_contained();
  void try_hull();
  void give_up();

  std::size_t dimensions_;
  std::vector<Product> parts_;
  std::size_t merge_at_ = 4096;  // parts
  std::uint64_t moved_ = 0;
  bool unknown_ = false;
};

}  // namespace iotune::analyzer
