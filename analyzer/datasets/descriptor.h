// From what each rank moved of a dataset to the name of the distribution: docs/descriptors.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/datasets/region.h"
#include "analyzer/summary/run_summary.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

using recorder::Error;
using recorder::Result;

struct DescribedRegions {
  Descriptor descriptor;
  // Per dimension, how many parts it is divided into; empty when a dimension is irregular.
  // Where their product is less than the ranks, each part was moved by several ranks.
  std::vector<std::uint64_t> process_grid;
  // Per dimension, how many elements neighbours of a BLOCK share; empty where none do.
  std::vector<std::uint64_t> halo;
  std::uint32_t ranks = 0;  // that moved data
};

// Takes the ranks' regions one by one and keeps of each some bytes a dimension: what ranks have
// in common is kept once.
class Decomposition {
 public:
  explicit Decomposition(std::size_t dimensions) : dimensions_(dimensions) {}

  // What one rank moved; a finished Region of all the dataset's dimensions. One without data
  // counts for nothing.
  void add(const Region& rank);

  // Without any data the descriptor has no dimensions.
  DescribedRegions described() const;

  template <class A>
  void archive(A& a) {
    a(dimensions_, ranks_, regular_, of_, places_);
  }

 private:
  // The different sets that ranks hold of one dimension.
  struct Parts {
    std::vector<IndexSet> sets;
    std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash;  // where they are many
    std::uint32_t index_of(const IndexSet& set);
    template <class A>
    void archive(A& a) {
      a(sets);
    }
  };
  struct Dimension {
    Parts parts;
    std::uint64_t count = 0;
    IndexSet first;  // of the first rank's
    bool undivided = true;
    template <class A>
    void archive(A& a) {
      a(parts, count, first, undivided);
    }
  };
  bool is_full_grid() const;
  DescribedRegions irregular() const;

  std::size_t dimensions_;
  std::uint32_t ranks_ = 0;
  bool regular_ = true;  // every rank's region is one product
  std::vector<Dimension> of_;
  std::vector<std::uint32_t> places_;  // of each rank its sets' numbers, while regular_
};

// All at once.
DescribedRegions descriptor_of(std::size_t dimensions, const std::vector<const Region*>& ranks);

// Reads the notation of Descriptor::text(); spaces may stand between its parts, and one
// dimension may drop the inner parentheses. An error names the position, counted from 1.
Result<Descriptor> parse_descriptor(std::string_view text);

// BLOCK, CYCLIC, CYCLIC(k), *, IRREGULAR; in bytes CYCLIC(k B).
std::string distribution_text(const DimensionPattern& dimension, bool in_bytes = false);

// As in to_json(RunSummary): text, and dimensions with distribution, count and cyclic_block.
std::string to_json(const Descriptor& descriptor);

}  // namespace iotune::analyzer
