// What a datatype selects: its data as runs of bytes, found by decoding how it was made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/abi/mpi_api.h"

namespace iotune::recorder {

// `count` pieces of `bytes` bytes, the first at `offset`, each `stride` behind the one before.
struct Run {
  std::int64_t offset, bytes, stride, count;
};

struct Subarray {
  static constexpr int kMaxDimensions = 16;
  int dimensions;  // 0: none
  std::int64_t element_bytes;
  // The slowest dimension first, whatever the order that the program gave.
  std::int64_t sizes[kMaxDimensions], subsizes[kMaxDimensions], starts[kMaxDimensions];
};

// Whether the type is one of MPI's own, which nobody changes or frees. Asks MPI.
bool is_predefined(const MpiApi& mpi, Word type) noexcept;

// Flattens datatypes into memory of its own, which grows with their irregularity and not with
// their size. Asks MPI for local things only; every type that it is handed on the way is freed.
// One use only.
class DatatypeRuns {
 public:
  // More are cut off: an index list of millions is the program's to keep.
  static constexpr std::size_t kMost = 1024;

  // How an array of a dense element is kept: as its dimensions alone, or as runs like all else.
  enum class Arrays : std::uint8_t { kAsDimensions, kAsRuns };

  explicit DatatypeRuns(const MpiApi& mpi, Arrays arrays = Arrays::kAsDimensions) noexcept
      : mpi_(mpi), arrays_(arrays) {}
  ~DatatypeRuns();
  DatatypeRuns(const DatatypeRuns&) = delete;
  DatatypeRuns& operator=(const DatatypeRuns&) = delete;

  // False where the type cannot be decoded: a function or memory is missing.
  bool flatten(Word type) noexcept;

  const Run* runs() const noexcept { return runs_; }
  std::size_t size() const noexcept { return size_; }
  // There are more runs than these first ones.
  bool cut() const noexcept { return cut_; }
  // Where the type is one of a dense element, but for duplication and resizing.
  const Subarray& subarray() const noexcept { return subarray_; }

 private:
  class Contents;
  struct Segment {
    std::size_t begin, end;
  };

  // Each appends the runs of a type behind those that are there. `whole`: nothing but
  // duplication and resizing is around it.
  bool append(Word type, int depth, bool whole) noexcept;
  bool append_made(const Contents& made, int depth, bool whole) noexcept;
  bool append_struct(const Contents& made, int depth) noexcept;
  bool append_array(const Contents& made, int depth, bool whole) noexcept;
  bool append_named(Word type) noexcept;
  bool append_child(Word child, int depth, Segment& segment, std::int64_t& extent) noexcept;

  // Replaces the segment, which is the last one, by copies of it: `blocks(i, offset, count)` says
  // where the i-th group of copies begins, one `step` behind the other, or false. They join
  // runs from `begin` on.
  template <typename Blocks>
  void repeat(std::size_t begin, Segment segment, std::int64_t step, const Blocks& blocks) noexcept;
  void repeat(Segment segment, std::int64_t offset, std::int64_t count, std::int64_t step) noexcept;
  void copy(Segment segment, std::int64_t offset, std::int64_t count, std::int64_t step,
            std::size_t begin) noexcept;
  void emit(std::size_t begin, Run run) noexcept;

  static constexpr std::size_t kRoom = 4 * kMost;
  static constexpr int kMaxDepth = 16;
  static constexpr std::uint32_t kMostSteps = 1u << 17;

  const MpiApi& mpi_;
  const Arrays arrays_;
  Run* runs_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t steps_ = 0;
  bool cut_ = false;
  Subarray subarray_{};
};

}  // namespace iotune::recorder
