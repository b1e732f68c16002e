#include "gather/hdf5/hdf5_opens.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "gather/mpi/mpi_functions.h"
#include "gather/process.h"

namespace iotune::gather {
namespace {

// What a failed call has left there.
class KeptErrors {
 public:
  explicit KeptErrors(bool keeps) noexcept : stack_(keeps ? g_h5.H5Eget_current_stack() : -1) {}
  ~KeptErrors() {
    if (stack_ >= 0) g_h5.H5Eset_current_stack(stack_);
  }
  KeptErrors(const KeptErrors&) = delete;
  KeptErrors& operator=(const KeptErrors&) = delete;

 private:
  const Hid stack_;
};

struct ObjectInfo {
  unsigned long file;
  std::uint64_t address;
  std::byte others[512];
};

bool ask(Hid object, ObjectInfo& info) noexcept {
  return g_h5.H5Oget_info1(object, &info) >= 0;
}

enum class Driver { kOther, kOneProcess, kParallel };
Driver driver_of(Hid access) noexcept {
  if (access == 0) {
    return std::getenv("HDF5_DRIVER") == nullptr ? Driver::kOneProcess : Driver::kOther;
  }
  const Hid driver = g_h5.H5Pget_driver(access);
  if (driver < 0) return Driver::kOther;
  if (g_h5.H5FD_mpio_init != nullptr && driver == g_h5.H5FD_mpio_init()) return Driver::kParallel;
  const bool is_plain_file = g_h5.H5FD_sec2_init != nullptr && driver == g_h5.H5FD_sec2_init();
  return is_plain_file ? Driver::kOneProcess : Driver::kOther;
}

// A communicator for this file alone, of the ranks that open it; 0: none.
Word communicator_of(Hid access) noexcept {
  Word comm = 0, info = 0;
  if (g_h5.H5Pget_fapl_mpio == nullptr || g_h5.H5Pget_fapl_mpio(access, &comm, &info) < 0) return 0;
  const Word own = g_gather->communicator_of_open(comm);
  if (g_world.constants.known) {
    g_mpi.MPI_Comm_free(&comm);
    if (info != g_world.constants.info_null) g_mpi.MPI_Info_free(&info);
  }
  return own;
}

bool metadata_is_collective(Hid access) noexcept {
  bool is_collective = true;
  return g_h5.H5Pget_all_coll_metadata_ops == nullptr ||
         g_h5.H5Pget_all_coll_metadata_ops(access, &is_collective) < 0 || is_collective;
}

void refuse(const Hdf5Open& open, const char* reason) noexcept {
  if (open.file >= 0 && open.writes) note_refused(g_gather->note, open.name, reason);
}

// Those that were closed in another way than by H5Fclose.
void forget_closed_files() noexcept {
  for (std::size_t i = g_hdf5_files.list.size(); i-- > 0;) {
    GatheredHdf5File* const file = g_hdf5_files.list[i].get();
    if (g_h5.H5Iget_type(file->id()) != 1 /* H5I_FILE */) forget_hdf5_file(file);
  }
}

// Its second handle would not see what the first one holds.
bool is_open_already(unsigned long number) noexcept {
  bool found = false;
  for (const auto& file : g_hdf5_files.list) {
    if (file->number() != number) continue;
    file->stop();
    found = true;
  }
  return found;
}

// `comm` 0: of one process.
void gather_file(const Hdf5Open& open, Word comm) noexcept {
  ObjectInfo info;
  const Turn turn;
  forget_closed_files();
  const bool exists = comm == 0 || all_say(comm, open.file >= 0);
  std::unique_ptr<GatheredHdf5File> file;
  if (exists && open.writes && ask(open.file, info) && !is_open_already(info.file)) {
    const bool exchanges = comm != 0 && g_gather->exchanges(open.name);
    try {
      g_hdf5_files.list.reserve(g_hdf5_files.list.size() + 1);
      file = std::make_unique<GatheredHdf5File>(
          GatheredHdf5File::Opened{open.file, comm, info.file, exchanges,
                                   comm != 0 && metadata_is_collective(open.access)},
          open.name);
    } catch (const std::bad_alloc&) {
      file = nullptr;
    }
  }
  const bool exists_here = file != nullptr;
  if (comm == 0 ? exists_here : all_say(comm, exists_here)) {
    g_hdf5_files.list.push_back(std::move(file));
    g_open_files.fetch_add(1, std::memory_order_release);
    write_out_at_exit();
    return;
  }
  if (!exists_here && comm != 0) g_mpi.MPI_Comm_free(&comm);
  refuse(open,
         "it is open already, another rank could not gather it, or others may read meanwhile");
}

}  // namespace

constinit std::atomic<int> g_open_files{0};

void gather_hdf5_file(Provider& hdf5, const Hdf5Open& open) noexcept {
  if (g_gather->needs_answer) {
    refuse(
        open,
        "files of HDF5 are gathered by IOTUNE_GATHER=memory alone, and not where the site freezes");
    return;
  }
  if (!find_hdf5(hdf5) || g_gather->has_other_connector(hdf5)) {
    refuse(open, "another HDF5 is gathered, or its objects are another connector's");
    return;
  }
  const KeptErrors errors(open.file < 0);
  const QuietQuestions quiet;
  switch (driver_of(open.access)) {
    case Driver::kParallel: {
      const Word comm = communicator_of(open.access);
      if (comm != 0) {
        gather_file(open, comm);
      } else {
        refuse(open, "one rank alone opened it, or not all ranks of the run gather");
      }
      break;
    }
    case Driver::kOneProcess:
      if (open.file >= 0) gather_file(open, 0);
      break;
    default:
      refuse(open, "its file driver is not HDF5's for one process, nor that for MPI");
  }
}

void forget_hdf5_file(GatheredHdf5File* file) noexcept {
  file->note(g_gather->note);
  g_hdf5_files.remove(file);
  g_open_files.fetch_sub(1, std::memory_order_release);
}

void gather_dataset(Hid dataset) noexcept {
  const QuietQuestions quiet;
  const Turn turn;
  GatheredHdf5File* const file = g_hdf5_files.of_file(file_of_object(dataset));
  ObjectInfo info;
  if (file == nullptr || !ask(dataset, info)) return;
  const OwnId creation(g_h5.H5Dget_create_plist(dataset), g_h5.H5Pclose);
  if (creation < 0) return;
  constexpr int kContiguous = 1, kChunked = 2;  // H5D_layout_t
  const int layout = g_h5.H5Pget_layout(creation);
  const bool has_filters = g_h5.H5Pget_nfilters(creation) != 0;
  const bool is_whole = layout == kContiguous && g_h5.H5Pget_external_count(creation) == 0;
  const bool is_chunked = layout == kChunked && !(has_filters && file->is_parallel());
  try {
    file->dataset_opened(dataset, info.address, is_whole || is_chunked, own_budget());
  } catch (const std::bad_alloc&) {
    // It is written as the program does.
  }
}

Hid file_of_object(Hid object) noexcept {
  const Hid file = g_h5.H5Iget_file_id(object);
  if (file >= 0) g_h5.H5Idec_ref(file);
  return file;
}

}  // namespace iotune::gather
