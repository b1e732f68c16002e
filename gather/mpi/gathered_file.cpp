#include "gather/mpi/gathered_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "gather/largest_piece.h"

namespace iotune::gather {
namespace {

bool locks_work(const char* name, const FileIdentity& identity, Descriptor& trial) noexcept {
  if (trial.get() < 0) {
    trial = Descriptor(open(Journal::path_of(name), O_WRONLY | O_CLOEXEC));
  }
  struct stat status {};
  if (fstat(trial.get(), &status) != 0 ||
      !(FileIdentity{status.st_dev, status.st_ino} == identity)) {
    return false;
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return fcntl(trial.get(), F_GETLK, &lock) == 0;
}

// Larger ones gain nothing.
constexpr std::int64_t kMostBytesOfACall = std::int64_t{16} << 20U;
// Of a call's arguments: of what MPI counts by an int.
constexpr std::int64_t kMostTransfer = INT32_MAX;

// 0 where it has none, or MPI would refuse it.
std::int64_t bytes_of(const ProgramBytes& transfer) noexcept {
  int size = 0;
  const bool known = transfer.count > 0 && transfer.type != 0 &&
                     transfer.type != g_world.constants.datatype_null &&
                     g_mpi.MPI_Type_size(transfer.type, &size) == 0 && size > 0;
  const std::int64_t bytes = known ? std::int64_t{transfer.count} * size : 0;
  return bytes <= kMostTransfer ? bytes : 0;
}

// Elements are those of basic types: of a made type more than its count.
void set_count(void* status, std::int64_t bytes) noexcept {
  if (reinterpret_cast<std::uintptr_t>(status) == status_layout(g_world.abi).ignored) return;
  g_mpi.MPI_Status_set_cancelled(status, 0);
  g_mpi.MPI_Status_set_elements(status, g_world.constants.byte, static_cast<int>(bytes));
}

// The bytes of a transfer in the order in which they go to the file. Those of MPI's own types
// lie so in memory; of made ones only MPI knows.
class InOrder {
 public:
  InOrder(const GatherHost& host, const ProgramBytes& program, std::int64_t bytes) noexcept
      : program_(program), bytes_(bytes) {
    std::int64_t lower = 0, extent = 0;
    const bool is_plain = host.is_predefined(program.type) &&
                          g_mpi.MPI_Type_get_extent(program.type, &lower, &extent) == 0 &&
                          lower == 0 && extent * program.count == bytes;
    if (is_plain) {
      data_ = static_cast<std::byte*>(program.buffer);
    } else {
      packed_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
      data_ = packed_.get();
    }
  }

  // nullptr: there is no memory.
  std::byte* data() noexcept { return data_; }
  // The program's bytes are in data().
  bool take() noexcept {
    int position = 0;
    return packed_ == nullptr ||
           (g_mpi.MPI_Pack(program_.buffer, program_.count, program_.type, data_,
                           static_cast<int>(bytes_), &position, g_world.constants.comm_self) == 0 &&
            position == bytes_);
  }
  // data() is in the program's memory.
  bool give() noexcept {
    int position = 0;
    return packed_ == nullptr ||
           g_mpi.MPI_Unpack(data_, static_cast<int>(bytes_), &position, program_.buffer,
                            program_.count, program_.type, g_world.constants.comm_self) == 0;
  }

 private:
  const ProgramBytes& program_;
  const std::int64_t bytes_;
  std::unique_ptr<std::byte[]> packed_;
  std::byte* data_ = nullptr;
};

char* copy_of(const char* text) {
  const std::size_t bytes = std::strlen(text) + 1;
  return static_cast<char*>(std::memcpy(new char[bytes], text, bytes));
}

}  // namespace

GatheredFile::GatheredFile(const Opened& opened, const GatherHost& host, Budget& budget,
                           std::unique_ptr<Journal> journal)
    : opened_(opened),
      host_(host),
      sieves_(host.exchanges(opened.name)),
      exchanges_(sieves_ && host.joins_rightly(opened.second)),
      largest_lone_piece_bytes_(largest_lone_piece_bytes(opened.name)),
      held_(budget),
      leaving_(budget),
      journal_(std::move(journal)) {
  opened_.name = copy_of(opened.name);
  opened_.place = copy_of(opened.place);
}

GatheredFile::~GatheredFile() {
  delete[] opened_.name;
  delete[] opened_.place;
}

NotHeld GatheredFile::keep(std::int64_t offset, const std::byte* bytes,
                           std::int64_t count) noexcept {
  const std::lock_guard lock(state_);
  if (wrong_ != 0) return NotHeld::kError;
  NotHeld why = NotHeld::kMemory;
  const bool kept = view_.each_piece(offset, count, [&](std::int64_t at, std::int64_t piece) {
    const auto size = static_cast<std::size_t>(piece);
    std::byte* const to = held_.room_for(at, size);
    if (to == nullptr) return false;
    std::memcpy(to, bytes, size);
    bytes += piece;
    if (journal_ != nullptr && !journal_->add(at, to, size)) {
      why = NotHeld::kLog;
      return false;
    }
    return held_.hold(at, size);
  });
  // What was kept of it goes out before the call writes all of it.
  if (!kept) return why;
  ++account_.counts.held_calls;
  account_.counts.held_bytes += static_cast<std::uint64_t>(count);
  return NotHeld::kCount;
}

// A write of so many bytes through the view.
bool GatheredFile::is_large(std::int64_t bytes) const noexcept {
  const std::int64_t piece = view_.bytes_of_a_piece(bytes);
  return piece > (piece == bytes ? largest_lone_piece_bytes_ : kLargestPieceBytes);
}

bool GatheredFile::may_touch(const Range& range) noexcept {
  const std::lock_guard lock(state_);
  const std::int64_t bytes = range.end - range.begin;
  return held_.may_touch(range.begin, bytes) || leaving_.may_touch(range.begin, bytes);
}

// The call is to be made, after all that this rank holds has gone out.
bool GatheredFile::leave(NotHeld why) noexcept {
  write_out();
  const std::lock_guard lock(state_);
  account_.count(why);
  return false;
}

bool GatheredFile::hold(std::int64_t offset, const ProgramBytes& from, void* status) noexcept {
  if (from.count == 0) return false;
  const std::int64_t bytes = bytes_of(from);
  if (bytes == 0 || offset < 0) return leave(NotHeld::kArguments);
  if (!view_.is_known()) return leave(NotHeld::kView);
  if (bytes % view_.etype_bytes() != 0) return leave(NotHeld::kArguments);
  const Range range = view_.range_of(offset, bytes);
  if (range.begin < 0 || range.end < range.begin) return leave(NotHeld::kArguments);
  NotHeld why = NotHeld::kCount;
  if (atomic_) {
    why = NotHeld::kAtomic;
  } else if (bytes > kMostBytesOfACall || is_large(bytes)) {
    why = NotHeld::kLarge;
  } else {
    InOrder data(host_, from, bytes);
    why =
        data.data() != nullptr && data.take() ? keep(offset, data.data(), bytes) : NotHeld::kMemory;
  }
  if (why == NotHeld::kCount) {
    set_count(status, bytes);
    return true;
  }
  // The log may have a part of the call's bytes. It ends before the call: who writes there next may
  // write newer ones.
  const bool logged = journal_ != nullptr && (why == NotHeld::kLog || why == NotHeld::kMemory);
  if (logged || may_touch(range)) return leave(why);
  const std::lock_guard lock(state_);
  account_.count(why);
  return false;
}

// False where the pointer is not to be followed; what this rank holds has been written.
bool GatheredFile::begin_at_pointer(const ProgramBytes& bytes, std::int64_t& position) noexcept {
  if (view_.is_known() && bytes_of(bytes) % view_.etype_bytes() == 0 &&
      g_mpi.MPI_File_get_position(opened_.handle, &position) == 0) {
    return true;
  }
  return leave(view_.is_known() ? NotHeld::kArguments : NotHeld::kView);
}

void GatheredFile::move_pointer(std::int64_t position, std::int64_t bytes) noexcept {
  const int whence = g_world.abi == MpiAbi::kStandard ? 403 : kSeekSet /* MPI_SEEK_SET */;
  g_mpi.MPI_File_seek(opened_.handle, position + bytes / view_.etype_bytes(), whence);
}

bool GatheredFile::hold_at_pointer(const ProgramBytes& from, void* status) noexcept {
  std::int64_t position = 0;
  if (!begin_at_pointer(from, position) || !hold(position, from, status)) return false;
  move_pointer(position, bytes_of(from));
  return true;
}

bool GatheredFile::serve(std::int64_t offset, const ProgramBytes& to, void* status) noexcept {
  if (to.count == 0) return false;
  const std::int64_t bytes = bytes_of(to);
  const bool known = bytes > 0 && offset >= 0 && view_.is_known();
  if (known && opened_.reads && !atomic_ && bytes <= kMostBytesOfACall &&
      bytes % view_.etype_bytes() == 0 && may_touch(view_.range_of(offset, bytes))) {
    InOrder data(host_, to, bytes);
    std::byte* at = data.data();
    std::unique_lock lock(state_);
    const bool found = at != nullptr && wrong_ == 0 &&
                       view_.each_piece(offset, bytes, [&](std::int64_t place, std::int64_t piece) {
                         const bool has = held_.copy_out(place, piece, at);
                         at += piece;
                         return has;
                       });
    if (found) ++account_.counts.reads_served;
    lock.unlock();
    if (found && data.give()) {
      set_count(status, bytes);
      return true;
    }
  }
  if (!known || may_touch(view_.range_of(offset, bytes))) write_out();
  return false;
}

bool GatheredFile::serve_at_pointer(const ProgramBytes& to, void* status) noexcept {
  if (to.count == 0) return false;
  std::int64_t position = 0;
  const std::int64_t bytes = bytes_of(to);
  const bool known =
      view_.is_known() && bytes > 0 && g_mpi.MPI_File_get_position(opened_.handle, &position) == 0;
  if (!known) write_out();
  if (!known || !serve(position, to, status)) return false;
  move_pointer(position, bytes);
  return true;
}

// Through a view with holes ROMIO reads what lies between, and writes it back: under a lock. What
// this rank writes meanwhile, piece by piece, would be lost. In atomic mode it waits for that lock.
// Where a file system has no locks such a call is refused, and nothing waits for any.
void GatheredFile::lock_pieces_beside_holes() noexcept {
  if (!sieves_) return;
  // Whether no view has holes, and whether all ranks can lock.
  const std::int64_t own[2] = {view_.is_dense() ? 1 : 0,
                               locks_work(opened_.name, opened_.identity, lock_trial_) ? 1 : 0};
  std::int64_t least[2];
  if (!reduce(own, least, 2, g_world.constants.op_min, opened_.comm)) return;
  const bool locks = least[0] == 0 && least[1] != 0;
  if (locks == locks_) return;
  locks_ = g_mpi.MPI_File_set_atomicity(opened_.second, locks ? 1 : 0) == 0 && locks;
}

void GatheredFile::view_is(std::int64_t displacement, Word etype, Word filetype,
                           const char* datarep) noexcept {
  struct Loops {
    std::vector<PieceLoop> all;
    bool good = true;
  } loops;
  const auto add = [](void* to, const PieceLoop& loop) {
    auto& kept = *static_cast<Loops*>(to);
    try {
      kept.all.push_back(loop);
    } catch (const std::bad_alloc&) {
      kept.good = false;
    }
  };
  int etype_bytes = 0;
  std::int64_t lower = 0, extent = 0;
  view_.forget();
  if (datarep == nullptr || std::strcmp(datarep, "native") != 0 ||
      g_mpi.MPI_Type_size(etype, &etype_bytes) != 0 ||
      g_mpi.MPI_Type_get_extent(filetype, &lower, &extent) != 0 ||
      !host_.loops_of(filetype, &loops, add) || !loops.good) {
    return;
  }
  try {
    view_.set({displacement, etype_bytes, extent}, loops.all);
  } catch (const std::bad_alloc&) {
    view_.forget();
  }
}

void GatheredFile::note() noexcept {
  const std::lock_guard lock(state_);
  if (std::exchange(noted_, true)) return;
  account_.note(host_.note, opened_.name, held_.bytes() + leaving_.bytes());
}

void GatheredFile::end() noexcept {
  write_out();
  const std::lock_guard lock(state_);
  if (std::exchange(journal_, nullptr) != nullptr) Journal::remove(opened_.place);
}

int GatheredFile::close() noexcept {
  note();
  const int closed = g_mpi.MPI_File_close(&opened_.second);
  // When no rank has its log any more.
  if (std::exchange(journal_, nullptr) != nullptr) {
    all_say(opened_.comm, true);
    Journal::remove(opened_.place);
  }
  if (opened_.comm != 0) g_mpi.MPI_Comm_free(&opened_.comm);
  return wrong_ != 0 ? wrong_ : closed;
}

}  // namespace iotune::gather
