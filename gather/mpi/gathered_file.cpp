#include "gather/mpi/gathered_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "gather/held/coverage.h"

namespace iotune::gather {
namespace {

// Of one call: an int counts its bytes.
constexpr std::int64_t kMostBytesOfACall = std::int64_t{1} << 30U;
// Larger writes gain nothing.
constexpr std::int64_t kMostBytesOfAPiece = std::int64_t{64} << 10U;

struct Layout {
  std::int64_t size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;

  // Its bytes lie one behind the other, and so do those of the next element.
  bool dense() const noexcept { return size == extent && size == true_extent; }
};

bool layout_of(Word type, Layout& layout) noexcept {
  int size = 0;
  if (g_mpi.MPI_Type_size(type, &size) != 0 || size <= 0 ||
      g_mpi.MPI_Type_get_extent(type, &layout.lower, &layout.extent) != 0 ||
      g_mpi.MPI_Type_get_true_extent(type, &layout.true_lower, &layout.true_extent) != 0) {
    return false;
  }
  layout.size = size;
  return true;
}

// Elements are those of basic types: of a made type more than its count.
void set_count(void* status, std::int64_t bytes) noexcept {
  if (reinterpret_cast<std::uintptr_t>(status) == status_layout(g_world.abi).ignored) return;
  g_mpi.MPI_Status_set_cancelled(status, 0);
  g_mpi.MPI_Status_set_elements(status, g_world.constants.byte, static_cast<int>(bytes));
}

bool reduce(std::int64_t* words, int count, Word operation, Word comm) noexcept {
  std::int64_t own[5];
  std::memcpy(own, words, static_cast<std::size_t>(count) * sizeof *own);
  return g_mpi.MPI_Allreduce(own, words, count, g_world.constants.int64, operation, comm) == 0;
}

int class_of(int error) noexcept {
  int its_class = 0;
  if (error == 0) return 0;
  return g_mpi.MPI_Error_class(error, &its_class) == 0 && its_class != 0 ? its_class : error;
}

// The bytes of `runs` in this order, as a type. 0: MPI did not make one.
Word view_type(const std::vector<Run>& runs) noexcept {
  const Word byte = g_world.constants.byte;
  Word type = 0;
  if (runs.size() == 1 && runs[0].count <= INT32_MAX && runs[0].bytes <= INT32_MAX) {
    if (g_mpi.MPI_Type_create_hvector(static_cast<int>(runs[0].count),
                                      static_cast<int>(runs[0].bytes), runs[0].stride, byte,
                                      &type) != 0) {
      return 0;
    }
  } else {
    std::vector<int> lengths;
    std::vector<std::int64_t> places;
    try {
      for (const Run& run : runs) {
        for (std::int64_t i = 0; i < run.count; ++i) {
          lengths.push_back(static_cast<int>(run.bytes));
          places.push_back(run.offset - runs.front().offset + i * run.stride);
        }
      }
    } catch (const std::bad_alloc&) {
      return 0;
    }
    if (places.size() > INT32_MAX ||
        g_mpi.MPI_Type_create_hindexed(static_cast<int>(places.size()), lengths.data(),
                                       places.data(), byte, &type) != 0) {
      return 0;
    }
  }
  if (g_mpi.MPI_Type_commit(&type) == 0) return type;
  g_mpi.MPI_Type_free(&type);
  return 0;
}

}  // namespace

bool GatheredFile::keep(std::int64_t at, const void* bytes, std::size_t count) noexcept {
  const std::lock_guard lock(state_);
  std::byte* const to = wrong_ != 0 ? nullptr : held_.room_for(at, count);
  if (to == nullptr) return false;
  std::memcpy(to, bytes, count);
  return held_.hold(at, count);
}

bool GatheredFile::may_touch(std::int64_t at, std::int64_t bytes) noexcept {
  const std::lock_guard lock(state_);
  return held_.may_touch(at, bytes) || leaving_.may_touch(at, bytes);
}

bool GatheredFile::hold(std::int64_t offset, const ProgramBytes& from, void* status) noexcept {
  Layout layout;
  if (from.count < 0 || offset < 0 || etype_bytes_ <= 0 || !layout_of(from.type, layout)) {
    write_out();
    return false;
  }
  const std::int64_t bytes = std::int64_t{from.count} * layout.size;
  const std::int64_t at = displacement_ + offset * etype_bytes_;
  const auto count = static_cast<std::size_t>(bytes);
  bool kept = false;
  if (atomic_ || bytes > kMostBytesOfAPiece) {
    // As it comes.
  } else if (layout.dense()) {
    kept = keep(at, static_cast<const std::byte*>(from.buffer) + layout.true_lower, count);
  } else {
    const std::unique_ptr<std::byte[]> packed(new (std::nothrow) std::byte[count]);
    int position = 0;
    kept = packed != nullptr &&
           g_mpi.MPI_Pack(from.buffer, from.count, from.type, packed.get(), static_cast<int>(bytes),
                          &position, g_world.constants.comm_self) == 0 &&
           position == bytes && keep(at, packed.get(), count);
  }
  if (kept) {
    set_count(status, bytes);
  } else if (may_touch(at, bytes)) {
    write_out();
  }
  return kept;
}

bool GatheredFile::hold_at_pointer(const ProgramBytes& from, void* status) noexcept {
  std::int64_t position = 0;
  int size = 0;
  if (g_mpi.MPI_File_get_position(handle_, &position) != 0 || etype_bytes_ <= 0 ||
      g_mpi.MPI_Type_size(from.type, &size) != 0 ||
      std::int64_t{from.count} * size % etype_bytes_ != 0) {
    write_out();
    return false;
  }
  if (!hold(position, from, status)) return false;
  const int whence = g_world.abi == MpiAbi::kStandard ? 403 : kSeekSet /* MPI_SEEK_SET */;
  g_mpi.MPI_File_seek(handle_, position + std::int64_t{from.count} * size / etype_bytes_, whence);
  return true;
}

void GatheredFile::make_way(std::int64_t offset, std::int64_t bytes) noexcept {
  const bool everywhere = etype_bytes_ == 0 || bytes < 0;
  if (everywhere || may_touch(displacement_ + offset * etype_bytes_, bytes)) write_out();
}

int GatheredFile::write_exactly(const Ascending& pieces) noexcept {
  int wrong = 0;
  const std::byte* at = pieces.data;
  for (const Run& run : pieces.runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      for (std::int64_t done = 0; done < run.bytes;) {
        const std::int64_t bytes = std::min(run.bytes - done, kMostBytesOfACall);
        const int result = g_mpi.MPI_File_write_at(
            second_, run.offset + i * run.stride + done, at, static_cast<int>(bytes),
            g_world.constants.byte, reinterpret_cast<void*>(status_layout(g_world.abi).ignored));
        if (result != 0 && wrong == 0) wrong = result;
        at += bytes;
        done += bytes;
      }
    }
  }
  return wrong;
}

int GatheredFile::write_together(const Ascending& pieces, std::int64_t rounds) noexcept {
  const MpiConstants& mpi = g_world.constants;
  const std::int64_t begin = pieces.empty() ? 0 : pieces.begin();
  Word type = pieces.empty() ? mpi.byte : view_type(pieces.runs);
  // Collective from here on, whatever was wrong.
  int wrong = type == 0 ? -1 : 0;
  const int set = g_mpi.MPI_File_set_view(second_, begin, mpi.byte, type == 0 ? mpi.byte : type,
                                          "native", mpi.info_null);
  if (wrong == 0) wrong = set;
  std::int64_t done = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t left = wrong == 0 ? static_cast<std::int64_t>(pieces.bytes) - done : 0;
    const std::int64_t bytes = std::min(left, kMostBytesOfACall);
    const int result = g_mpi.MPI_File_write_at_all(
        second_, done, pieces.data + done, static_cast<int>(bytes), mpi.byte,
        reinterpret_cast<void*>(status_layout(g_world.abi).ignored));
    if (wrong == 0) wrong = result;
    done += bytes;
  }
  g_mpi.MPI_File_set_view(second_, 0, mpi.byte, mpi.byte, "native", mpi.info_null);
  if (!pieces.empty() && type != 0) g_mpi.MPI_Type_free(&type);
  // Without a type nothing has gone out.
  return type == 0 ? write_exactly(pieces) : wrong;
}

// What is held becomes what leaves. Others hold more meanwhile: a collective call that this rank's
// other threads waited for could wait for them.
void GatheredFile::begin_leaving() noexcept {
  const std::lock_guard lock(state_);
  held_.swap(leaving_);
}

int GatheredFile::end_leaving(int wrong) noexcept {
  const std::lock_guard lock(state_);
  leaving_.clear();
  if (wrong != 0) unsaid_ = wrong;
  if (wrong_ == 0) wrong_ = wrong;
  return wrong;
}

// By this rank alone.
int GatheredFile::write_leaving() noexcept {
  int wrong = 0;
  try {
    wrong = write_exactly(leaving_.ascending());
  } catch (const std::bad_alloc&) {
    wrong = write_exactly(leaving_.as_written());
  }
  return end_leaving(wrong);
}

int GatheredFile::write_out() noexcept {
  const std::lock_guard one_at_a_time(way_out_);
  begin_leaving();
  return leaving_.empty() ? 0 : write_leaving();
}

// What went wrong on any rank, on all of them: each rank's own error, or another's class.
int GatheredFile::agree(int wrong) noexcept {
  std::int64_t worst = class_of(wrong);
  if (!reduce(&worst, 1, g_world.constants.op_max, comm_)) return wrong;
  return wrong != 0 ? wrong : static_cast<int>(worst);
}

int GatheredFile::flush() noexcept {
  const std::lock_guard one_at_a_time(way_out_);
  begin_leaving();
  Ascending pieces{{}, nullptr, 0};
  bool ordered = true;
  try {
    if (!leaving_.empty()) pieces = leaving_.ascending();
  } catch (const std::bad_alloc&) {
    ordered = false;
  }
  // MPI counts the bytes of a block of a type by an int.
  const bool small = std::all_of(pieces.runs.begin(), pieces.runs.end(),
                                 [](const Run& run) { return run.bytes <= kMostBytesOfACall; });
  const int earlier = std::exchange(unsaid_, 0);
  const auto bytes = static_cast<std::int64_t>(leaving_.bytes());
  // The least of all: begin, -end, may exchange, -rounds, -error.
  std::int64_t least[5] = {INT64_MAX, INT64_MAX, ordered && small && exchanges_ ? 1 : 0,
                           -((bytes + kMostBytesOfACall - 1) / kMostBytesOfACall),
                           -class_of(earlier)};
  if (!pieces.empty()) {
    least[0] = pieces.begin();
    least[1] = -pieces.end();
  }
  const MpiConstants& mpi = g_world.constants;
  if (!reduce(least, 5, mpi.op_min, comm_)) return write_leaving();
  const int said = earlier != 0 ? earlier : static_cast<int>(-least[4]);
  if (least[3] == 0) return said;
  bool together = least[2] != 0;
  if (together) {
    constexpr unsigned kHalf = 32;
    const std::uint64_t steps = steps_of(pieces);
    std::int64_t halves[2] = {static_cast<std::int64_t>(steps & 0xffffffffU),
                              static_cast<std::int64_t>(steps >> kHalf)};
    if (!reduce(halves, 2, mpi.op_sum, comm_)) return write_leaving();
    const std::uint64_t all =
        static_cast<std::uint64_t>(halves[0]) + (static_cast<std::uint64_t>(halves[1]) << kHalf);
    together = fills(all, least[0], -least[1]);
  }
  const int wrong = agree(together           ? end_leaving(write_together(pieces, -least[3]))
                          : leaving_.empty() ? 0
                                             : write_leaving());
  unsaid_ = 0;
  return wrong != 0 ? wrong : said;
}

void GatheredFile::view_is(std::int64_t displacement, Word etype, Word filetype,
                           const char* datarep) noexcept {
  Layout unit, pattern;
  const bool dense = datarep != nullptr && std::strcmp(datarep, "native") == 0 &&
                     layout_of(etype, unit) && unit.dense() && unit.true_lower == 0 &&
                     layout_of(filetype, pattern) && pattern.dense() && pattern.true_lower == 0;
  displacement_ = displacement;
  etype_bytes_ = dense ? unit.size : 0;
}

int GatheredFile::close() noexcept {
  const int closed = g_mpi.MPI_File_close(&second_);
  if (comm_ != 0) g_mpi.MPI_Comm_free(&comm_);
  return wrong_ != 0 ? wrong_ : closed;
}

}  // namespace iotune::gather
