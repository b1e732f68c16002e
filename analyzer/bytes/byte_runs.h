// The bytes of a file that one process moved, gathered access by access.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/index_set.h"

namespace iotune::analyzer {

class ByteRuns {
 public:
  // What goes on with the accesses before it costs no room.
  void add(std::uint64_t offset, std::uint64_t bytes);
  // Bytes were moved, nobody knows where.
  void add_unknown(std::uint64_t bytes);

  // All of them; nothing where they are too irregular to be kept, or not known.
  std::optional<IndexSet> joined();
  std::uint64_t bytes_moved() const { return moved_; }

  template <class A>
  void archive(A& a) {
    a(pieces_, compact_at_, moved_, unknown_);
  }

 private:
  bool compact();

  std::vector<Progression> pieces_;
  std::size_t compact_at_ = 8192;  // pieces
  std::uint64_t moved_ = 0;
  bool unknown_ = false;
};

}  // namespace iotune::analyzer
