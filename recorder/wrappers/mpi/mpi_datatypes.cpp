#include "recorder/wrappers/mpi/mpi_datatypes.h"

#include <algorithm>
#include <cstring>

#include "core/os/mapped_file.h"

namespace iotune::recorder {
namespace {

struct Envelope {
  std::int64_t integers, addresses, large_counts, types;
  Combiner combiner;
};

bool envelope_of(const MpiApi& mpi, Word type, Envelope& to) noexcept {
  int combiner = 0;
  // The form of MPI 3 is an error, and by default the program's end, for types of large counts.
  if (mpi.MPI_Type_get_envelope_c != nullptr) {
    if (mpi.MPI_Type_get_envelope_c(type, &to.integers, &to.addresses, &to.large_counts, &to.types,
                                    &combiner) != 0) {
      return false;
    }
  } else {
    int integers = 0, addresses = 0, types = 0;
    if (mpi.MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != 0) {
      return false;
    }
    to = {integers, addresses, 0, types, Combiner::kUnknown};
  }
  to.combiner = combiner_of(mpi.abi, combiner);
  return true;
}

// Predefined types must not be freed. What is not known is kept: lost memory, never a fault.
bool is_made_by_program(Combiner combiner) noexcept {
  return combiner != Combiner::kNamed && combiner != Combiner::kF90 &&
         combiner != Combiner::kUnknown;
}

constexpr std::int64_t kMostContents = 1 << 20;

// What one process has of one dimension of a distributed array, as blocks of elements.
struct Distribution {
  std::int64_t first, block, period, size;

  bool operator()(std::int64_t i, std::int64_t& start, std::int64_t& count) const noexcept {
    start = first + i * period;
    if (start >= size || (i > 0 && period == 0)) return false;
    count = block < size - start ? block : size - start;
    return true;
  }
};

}  // namespace

// The arguments that a type was made with, as MPI 3 has them: those of a type of large counts
// (MPI_Type_create_subarray_c) stand in other lists there and are put in their places here.
class DatatypeRuns::Contents {
 public:
  Contents(const MpiApi& mpi, Word type, const Envelope& envelope) noexcept
      : combiner(envelope.combiner), mpi_(mpi), types_count_(envelope.types) {
    const auto small = static_cast<std::size_t>(envelope.integers);
    const auto large = static_cast<std::size_t>(envelope.large_counts);
    const auto given = static_cast<std::size_t>(envelope.addresses);
    const std::size_t words = small + 2 * large + given + static_cast<std::size_t>(types_count_);
    const std::size_t bytes = words * 8 + small * 4;
    char* memory = small_;
    if (bytes > sizeof small_) {
      memory = large_ = static_cast<char*>(private_memory(bytes));
      large_bytes_ = bytes;
    }
    if (memory == nullptr) return;
    integers = reinterpret_cast<std::int64_t*>(memory);
    addresses = integers + small + large;
    std::int64_t* const counts = addresses + given;
    types_ = reinterpret_cast<char*>(counts + large);
    int* const narrow = reinterpret_cast<int*>(memory + 8 * words);
    good = ask(type, envelope, narrow, counts);
    if (!good) return;
    // An array's counts stand behind how many there are, and before how they are dealt out.
    const std::size_t first = combiner == Combiner::kDarray ? 3 : 1;
    std::int64_t* at = integers;
    for (std::size_t i = 0; i < small; ++i) {
      if (i == first) at = std::copy_n(counts, large, at);
      *at++ = narrow[i];
    }
    if (small > 0 || large == 0) return;
    std::copy_n(counts, large, at);
    addresses = counts + first_displacement(counts[0]);
  }
  ~Contents() {
    for (std::int64_t i = 0; good && i < types_count_; ++i) {
      Envelope envelope{};
      Word child = type(i);
      if (envelope_of(mpi_, child, envelope) && is_made_by_program(envelope.combiner)) {
        mpi_.MPI_Type_free(&child);
      }
    }
    if (large_ != nullptr) unmap(large_, large_bytes_);
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  Word type(std::int64_t i) const noexcept {
    const std::size_t bytes = mpi_.abi == MpiAbi::kMpich ? 4 : sizeof(Word);
    Word handle = 0;
    std::memcpy(&handle, types_ + static_cast<std::size_t>(i) * bytes, bytes);
    return handle;
  }

  const Combiner combiner;
  bool good = false;
  std::int64_t *integers = nullptr, *addresses = nullptr;

 private:
  bool ask(Word type, const Envelope& envelope, int* narrow, std::int64_t* counts) noexcept {
    if (envelope.large_counts > 0) {
      return mpi_.MPI_Type_get_contents_c != nullptr &&
             mpi_.MPI_Type_get_contents_c(type, envelope.integers, envelope.addresses,
                                          envelope.large_counts, types_count_, narrow, addresses,
                                          counts, types_) == 0;
    }
    return mpi_.MPI_Type_get_contents(
               type, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
               static_cast<int>(types_count_), narrow, addresses, types_) == 0;
  }
  // Among large counts: behind the count, and the length of all blocks or of each.
  std::int64_t first_displacement(std::int64_t count) const noexcept {
    const bool each = combiner == Combiner::kHindexed || combiner == Combiner::kStruct;
    return each ? 1 + count : 2;
  }

  const MpiApi& mpi_;
  const std::int64_t types_count_;
  char* types_ = nullptr;  // handles, in the ABI's size
  char* large_ = nullptr;
  std::size_t large_bytes_ = 0;
  alignas(8) char small_[512];
};

bool is_predefined(const MpiApi& mpi, Word type) noexcept {
  if (mpi.MPI_Type_get_envelope_c == nullptr && mpi.MPI_Type_get_envelope == nullptr) return false;
  Envelope envelope{};
  return envelope_of(mpi, type, envelope) && envelope.combiner == Combiner::kNamed;
}

DatatypeRuns::~DatatypeRuns() {
  if (runs_ != nullptr) unmap(runs_, kRoom * sizeof(Run));
}

bool DatatypeRuns::flatten(Word type) noexcept {
  if (mpi_.MPI_Type_get_envelope == nullptr || mpi_.MPI_Type_get_contents == nullptr ||
      mpi_.MPI_Type_get_extent == nullptr || mpi_.MPI_Type_get_true_extent == nullptr ||
      mpi_.MPI_Type_size_x == nullptr || mpi_.MPI_Type_free == nullptr) {
    return false;
  }
  runs_ = static_cast<Run*>(private_memory(kRoom * sizeof(Run)));
  if (runs_ == nullptr || !append(type, 0, true)) return false;
  if (size_ > kMost) {
    size_ = kMost;
    cut_ = true;
  }
  return true;
}

bool DatatypeRuns::append(Word type, int depth, bool whole) noexcept {
  Envelope envelope{};
  if (depth > kMaxDepth || !envelope_of(mpi_, type, envelope)) return false;
  if (envelope.combiner == Combiner::kUnknown) return false;
  if (!is_made_by_program(envelope.combiner)) return append_named(type);
  if (envelope.integers + envelope.addresses + envelope.large_counts + envelope.types >
      kMostContents) {
    cut_ = true;
    return true;
  }
  const Contents made(mpi_, type, envelope);
  return made.good && append_made(made, depth, whole);
}

bool DatatypeRuns::append_named(Word type) noexcept {
  std::int64_t bytes = 0, first = 0, extent = 0;
  if (mpi_.MPI_Type_size_x(type, &bytes) != 0 ||
      mpi_.MPI_Type_get_true_extent(type, &first, &extent) != 0) {
    return false;
  }
  // A pair with a gap (MPI_SHORT_INT) keeps to itself where the gap is.
  if (bytes != extent && bytes != 0) return false;
  emit(size_, {first, bytes, 0, 1});
  return true;
}

bool DatatypeRuns::append_child(Word child, int depth, Segment& segment,
                                std::int64_t& extent) noexcept {
  std::int64_t lower = 0;
  segment.begin = size_;
  if (!append(child, depth + 1, false) || mpi_.MPI_Type_get_extent(child, &lower, &extent) != 0) {
    return false;
  }
  segment.end = size_;
  return true;
}

bool DatatypeRuns::append_made(const Contents& made, int depth, bool whole) noexcept {
  using enum Combiner;
  const std::int64_t* const ints = made.integers;
  const std::int64_t* const displacements = made.addresses;
  switch (made.combiner) {
    case kDup:
    case kResized:
      return append(made.type(0), depth + 1, whole);
    case kStruct:
      return append_struct(made, depth);
    case kSubarray:
    case kDarray:
      return append_array(made, depth, whole);
    default:
      break;
  }
  Segment child{};
  std::int64_t extent = 0;
  if (!append_child(made.type(0), depth, child, extent)) return false;
  const std::int64_t count = ints[0];
  switch (made.combiner) {
    case kContiguous:
      repeat(child, 0, count, extent);
      return true;
    case kVector:
    case kHvector: {
      const std::size_t begin = child.begin;
      repeat(child, 0, ints[1], extent);
      repeat({begin, size_}, 0, count,
             made.combiner == kVector ? ints[2] * extent : displacements[0]);
      return true;
    }
    case kIndexed:
    case kHindexed: {
      const bool in_bytes = made.combiner == kHindexed;
      repeat(child.begin, child, extent,
             [&](std::int64_t i, std::int64_t& offset, std::int64_t& copies) noexcept {
               if (i >= count) return false;
               copies = ints[1 + i];
               offset = in_bytes ? displacements[i] : ints[1 + count + i] * extent;
               return true;
             });
      return true;
    }
    case kIndexedBlock:
    case kHindexedBlock: {
      const bool in_bytes = made.combiner == kHindexedBlock;
      repeat(child.begin, child, extent,
             [&](std::int64_t i, std::int64_t& offset, std::int64_t& copies) noexcept {
               if (i >= count) return false;
               copies = ints[1];
               offset = in_bytes ? displacements[i] : ints[2 + i] * extent;
               return true;
             });
      return true;
    }
    default:
      return false;
  }
}

bool DatatypeRuns::append_struct(const Contents& made, int depth) noexcept {
  const std::size_t begin = size_;
  for (int i = 0; i < made.integers[0] && !cut_; ++i) {
    Segment child{};
    std::int64_t extent = 0;
    if (!append_child(made.type(i), depth, child, extent)) return false;
    repeat(begin, child, extent,
           [&](std::int64_t block, std::int64_t& offset, std::int64_t& copies) noexcept {
             offset = made.addresses[i];
             copies = made.integers[1 + i];
             return block == 0;
           });
  }
  return true;
}

bool DatatypeRuns::append_array(const Contents& made, int depth, bool whole) noexcept {
  const ArrayIntegers values = array_integers(mpi_.abi);
  const bool is_subarray = made.combiner == Combiner::kSubarray;
  // Subarray: n, sizes, subsizes, starts, order. Darray: processes, rank, n, sizes,
  // distributions, their arguments, processes of each dimension, order.
  const std::int64_t* const ints = made.integers + (is_subarray ? 0 : 2);
  if (ints[0] < 1 || ints[0] > Subarray::kMaxDimensions) return false;
  const int n = static_cast<int>(ints[0]);
  const std::int64_t* const sizes = ints + 1;
  Distribution parts[Subarray::kMaxDimensions];
  if (is_subarray) {
    for (int d = 0; d < n; ++d) parts[d] = {sizes[2 * n + d], sizes[n + d], 0, sizes[d]};
  } else {
    // The grid of processes is in C's order, whatever the array's is.
    std::int64_t rank = made.integers[1];
    for (int d = n - 1; d >= 0; --d) {
      const std::int64_t kind = sizes[n + d], given = sizes[2 * n + d],
                         processes = sizes[3 * n + d];
      if (processes < 1) return false;
      const std::int64_t coordinate = rank % processes;
      rank /= processes;
      const bool given_none = given == values.default_argument;
      if (kind == values.distribute_none) {
        parts[d] = {0, sizes[d], 0, sizes[d]};
      } else if (kind == values.distribute_block) {
        const std::int64_t block = given_none ? (sizes[d] + processes - 1) / processes : given;
        parts[d] = {coordinate * block, block, 0, sizes[d]};
      } else if (kind == values.distribute_cyclic) {
        const std::int64_t block = given_none ? 1 : given;
        parts[d] = {coordinate * block, block, block * processes, sizes[d]};
      } else {
        return false;
      }
    }
  }
  const bool fortran = sizes[is_subarray ? 3 * n : 4 * n] == values.order_fortran;
  Segment child{};
  std::int64_t step = 0;
  if (!append_child(made.type(0), depth, child, step)) return false;
  const std::size_t begin = child.begin;
  if (arrays_ == Arrays::kAsDimensions && is_subarray && whole && !cut_ && child.end == begin + 1 &&
      runs_[begin].offset == 0 && runs_[begin].count == 1 && runs_[begin].bytes == step) {
    subarray_ = {n, step, {}, {}, {}};
    for (int d = 0; d < n; ++d) {
      const int from = fortran ? n - 1 - d : d;
      subarray_.sizes[d] = sizes[from];
      subarray_.subsizes[d] = parts[from].block;
      subarray_.starts[d] = parts[from].first;
    }
    return true;
  }
  for (int k = 0; k < n; ++k) {
    const int d = fortran ? k : n - 1 - k;
    repeat(begin, {begin, size_}, step,
           [&](std::int64_t i, std::int64_t& offset, std::int64_t& copies) noexcept {
             if (!parts[d](i, offset, copies)) return false;
             offset *= step;
             return true;
           });
    step *= sizes[d];
  }
  return true;
}

void DatatypeRuns::repeat(Segment segment, std::int64_t offset, std::int64_t count,
                          std::int64_t step) noexcept {
  repeat(segment.begin, segment, step,
         [&](std::int64_t i, std::int64_t& at, std::int64_t& copies) noexcept {
           at = offset;
           copies = count;
           return i == 0;
         });
}

template <typename Blocks>
void DatatypeRuns::repeat(std::size_t begin, Segment segment, std::int64_t step,
                          const Blocks& blocks) noexcept {
  std::int64_t offset = 0, count = 0;
  if (cut_) {
    // Of what is not known to its end only the first copy is known.
    if (!blocks(0, offset, count) || count <= 0) size_ = segment.begin;
    for (std::size_t i = segment.begin; i < size_; ++i) runs_[i].offset += offset;
    return;
  }
  const std::size_t copies = size_;
  for (std::int64_t i = 0; !cut_ && blocks(i, offset, count); ++i) {
    if (++steps_ > kMostSteps) cut_ = true;
    copy(segment, offset, count, step, copies);
  }
  const std::size_t end = size_;
  size_ = segment.begin;
  for (std::size_t i = copies; i < end; ++i) emit(begin, runs_[i]);
}

void DatatypeRuns::copy(Segment segment, std::int64_t offset, std::int64_t count, std::int64_t step,
                        std::size_t begin) noexcept {
  if (count <= 0 || segment.begin == segment.end) return;
  const Run& only = runs_[segment.begin];
  if (segment.end == segment.begin + 1) {
    if (only.count == 1) {
      emit(begin, {offset + only.offset, only.bytes, step, count});
      return;
    }
    if (count == 1 || only.stride * only.count == step) {
      emit(begin, {offset + only.offset, only.bytes, only.stride, only.count * count});
      return;
    }
  }
  for (std::int64_t k = 0; k < count; ++k, offset += step) {
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      if (++steps_ > kMostSteps) cut_ = true;
      if (cut_) return;
      Run run = runs_[i];
      run.offset += offset;
      emit(begin, run);
    }
  }
}

void DatatypeRuns::emit(std::size_t begin, Run run) noexcept {
  if (run.count <= 0 || run.bytes <= 0) return;
  if (run.count > 1 && run.stride == run.bytes) run = {run.offset, run.bytes * run.count, 0, 1};
  if (run.count == 1) run.stride = 0;
  if (size_ > begin) {
    Run& last = runs_[size_ - 1];
    const bool one = run.count == 1;
    if (one && last.count == 1 && last.offset + last.bytes == run.offset) {
      last.bytes += run.bytes;
      return;
    }
    const std::int64_t stride = last.count == 1 ? run.offset - last.offset : last.stride;
    if (last.bytes == run.bytes && (one || run.stride == stride) &&
        run.offset == last.offset + stride * last.count && stride != last.bytes) {
      last.stride = stride;
      last.count += run.count;
      return;
    }
  }
  if (size_ == kRoom) {
    cut_ = true;
    return;
  }
  runs_[size_++] = run;
}

}  // namespace iotune::recorder
