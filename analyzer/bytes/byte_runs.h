// The bytes of a file that one process moved, gathered access by access.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/arrays/filled_bytes.h"
#include "analyzer/datasets/index_set.h"

namespace iotune::analyzer {

class ByteRuns {
 public:
  // What goes on with the accesses before it costs no room.
  void add(std::uint64_t offset, std::uint64_t bytes);
  // The same for `count` accesses, each `step` farther on than the one before.
  void add_run(std::uint64_t offset, std::uint64_t bytes, std::uint64_t count, std::int64_t step);

  // All of them; nothing where they are too irregular to be kept.
  std::optional<IndexSet> joined();
  // After joined(): places inside its runs where one transfer ended and another one began, that was
  // not just the next piece of the same. Ascending; none where they are many.
  const std::vector<std::uint64_t>& cuts() const { return cuts_; }
  std::uint64_t bytes_moved() const { return moved_; }
  // After joined(): what it moved as a whole first. nullptr where it moved no byte twice.
  const FilledBytes* filled() const { return filled_.get(); }

  template <class A>
  void archive(A& a) {
    a(pieces_, compact_at_, in_order_, moved_, unknown_, cuts_, many_cuts_, piece_bytes_,
      pieces_alike_);
    if constexpr (A::kReads) in_order_ = std::min(in_order_, pieces_.size());
  }

 private:
  // The bytes of so many transfers, one behind the other.
  void add_pieces(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pieces);
  bool compact();
  void go_on(std::uint64_t offset, std::uint64_t bytes, std::uint64_t pieces);
  void add_cut(std::uint64_t offset);
  void find_cuts();
  bool was_moved(std::uint64_t offset, std::uint64_t bytes) const;

  std::vector<Progression> pieces_;
  std::size_t compact_at_ = 8192;  // pieces
  std::size_t in_order_ = 0;       // of them from the first on
  std::uint64_t moved_ = 0;
  bool unknown_ = false;
  std::vector<std::uint64_t> cuts_;
  std::unique_ptr<FilledBytes> filled_;  // of few of very many
  bool many_cuts_ = false;
  // Of the transfers that went on where the one before ended: how long, and how many were so.
  std::uint64_t piece_bytes_ = 0, pieces_alike_ = 0;
};

}  // namespace iotune::analyzer
