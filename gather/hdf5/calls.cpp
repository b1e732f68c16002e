// What stands in front of HDF5's functions, but for those that only let out what is held
// (generated). Each makes the real call exactly once, but for writes that are held.
#include "gather/hdf5/calls.h"

#include <atomic>
#include <cstring>
#include <span>

#include "gather/hdf5/hdf5_opens.h"

namespace iotune::gather {
namespace {

constinit std::atomic<Provider*> g_hdf5{nullptr};

// Whether a call of this thread is about gathered files at all.
bool is_past() noexcept {
  return InsideHdf5::holds() || g_open_files.load(std::memory_order_acquire) == 0;
}

constexpr unsigned kWrite = 1, kSwmrWrite = 0x20;  // H5F_ACC_*

void opened(const Hdf5Open& open) noexcept {
  if (!InsideHdf5::holds()) gather_hdf5_file(*g_hdf5.load(std::memory_order_relaxed), open);
}

void let_all_out() noexcept {
  g_hdf5_files.write_out();
  for (const auto& file : g_hdf5_files.list) file->forget_extents();
}

struct Create {
  static inline Hid (*real)(const char*, unsigned, Hid, Hid) = nullptr;
  static Hid own(const char* name, unsigned flags, Hid creation, Hid access) noexcept {
    let_hdf5_out();
    const Hid file = real(name, flags, creation, access);
    opened({name, file, access, (flags & kSwmrWrite) == 0});
    return file;
  }
};

struct Open {
  static inline Hid (*real)(const char*, unsigned, Hid) = nullptr;
  static Hid own(const char* name, unsigned flags, Hid access) noexcept {
    let_hdf5_out();
    const Hid file = real(name, flags, access);
    opened({name, file, access, (flags & (kWrite | kSwmrWrite)) == kWrite});
    return file;
  }
};

struct CloseFile {
  static inline int (*real)(Hid) = nullptr;
  static int own(Hid id) noexcept {
    if (is_past()) return real(id);
    const Turn turn;
    GatheredHdf5File* const file = g_hdf5_files.of_file(id);
    if (file == nullptr) {
      g_hdf5_files.write_out();
      return real(id);
    }
    const bool good = file->flush(GatheredHdf5File::Says::kAll);
    const int result = real(id);
    if (result >= 0) forget_hdf5_file(file);
    return good ? result : -1;
  }
};

struct Flush {
  static inline int (*real)(Hid, int) = nullptr;
  static int own(Hid object, int scope) noexcept {
    if (is_past()) return real(object, scope);
    const Turn turn;
    GatheredHdf5File* const file = g_hdf5_files.of_file(file_of_object(object));
    if (file == nullptr) g_hdf5_files.write_out();
    const bool good = file == nullptr || file->flush(GatheredHdf5File::Says::kWhatIsNew);
    const int result = real(object, scope);
    return good ? result : -1;
  }
};

// An identifier is given back: of a dataset, or of a file, by this rank alone.
int give_back(Hid id, int (*real)(Hid), bool for_good) noexcept {
  if (is_past()) return real(id);
  const Turn turn;
  GatheredHdf5File* file = g_hdf5_files.of_file(id);
  if (file != nullptr) {
    file->write_out();
    file->stop();
  } else if (GatheredDataset* const dataset = g_hdf5_files.of_dataset(id, file)) {
    if (for_good || g_h5.H5Iget_ref(id) == 1) file->dataset_closes(*dataset, id);
  }
  return real(id);
}

template <Name kName, bool kForGood>
struct GivesBack {
  static inline int (*real)(Hid) = nullptr;
  static int own(Hid id) noexcept { return give_back(id, real, kForGood); }
};

template <Name kName, typename... Arguments>
struct OpensDataset {
  static inline Hid (*real)(Hid, Arguments...) = nullptr;
  static Hid own(Hid location, Arguments... arguments) noexcept {
    const Hid dataset = real(location, arguments...);
    if (dataset >= 0 && !is_past()) gather_dataset(dataset);
    return dataset;
  }
};

struct Write {
  static inline int (*real)(Hid, Hid, Hid, Hid, Hid, const void*) = nullptr;
  static int own(Hid dataset, Hid mem_type, Hid mem_space, Hid file_space, Hid list,
                 const void* buffer) noexcept {
    if (!is_past()) {
      const Turn turn;
      GatheredHdf5File* file = nullptr;
      GatheredDataset* const gathered = g_hdf5_files.of_dataset(dataset, file);
      const WriteCall call{mem_type, mem_space, file_space, list, buffer};
      if (gathered == nullptr || gathered->is_refused()) g_hdf5_files.write_out();
      if (gathered != nullptr && file->hold(*gathered, dataset, call)) return 0;
    }
    return real(dataset, mem_type, mem_space, file_space, list, buffer);
  }
};

struct Read {
  static inline int (*real)(Hid, Hid, Hid, Hid, Hid, void*) = nullptr;
  static int own(Hid dataset, Hid mem_type, Hid mem_space, Hid file_space, Hid list,
                 void* buffer) noexcept {
    if (!is_past()) {
      const Turn turn;
      GatheredHdf5File* file = nullptr;
      GatheredDataset* const gathered = g_hdf5_files.of_dataset(dataset, file);
      // A virtual one is read from others.
      if (gathered == nullptr || gathered->is_refused()) {
        g_hdf5_files.write_out();
      } else {
        file->write_out(*gathered);
      }
    }
    return real(dataset, mem_type, mem_space, file_space, list, buffer);
  }
};

struct MakesList {
  static inline Hid (*real)(Hid) = nullptr;
  static Hid own(Hid list_class) noexcept {
    const Hid list = real(list_class);
    if (!is_past()) list_is_new(list, list_class);
    return list;
  }
};

struct SetsMode {
  static inline int (*real)(Hid, int) = nullptr;
  static int own(Hid list, int mode) noexcept {
    constexpr int kIndependent = 0;  // H5FD_MPIO_INDEPENDENT, as the list has it anyway
    if (mode != kIndependent) forget_list(list);
    return real(list, mode);
  }
};

// Why the last transfer with a list was no collective one. Of one that is held HDF5 knows nothing.
struct AsksCause {
  static inline int (*real)(Hid, std::uint32_t*, std::uint32_t*) = nullptr;
  static int own(Hid list, std::uint32_t* local, std::uint32_t* global) noexcept {
    constexpr std::uint32_t kIndependentWasSet = 1;  // H5D_MPIO_SET_INDEPENDENT
    const int result = real(list, local, global);
    if (result >= 0 && was_written_with(list)) {
      if (local != nullptr) *local |= kIndependentWasSet;
      if (global != nullptr) *global |= kIndependentWasSet;
    }
    return result;
  }
};

// Gives free what objects have in the file, for others. HDF5 demands that all ranks make the call:
// none goes on before all have written.
template <Name kName, typename... Arguments>
struct Frees {
  static inline int (*real)(Hid, Arguments...) = nullptr;
  static int own(Hid location, Arguments... arguments) noexcept {
    if (!is_past()) {
      const Turn turn;
      GatheredHdf5File* const file = g_hdf5_files.of_file(file_of_object(location));
      if (file != nullptr) {
        file->flush(GatheredHdf5File::Says::kNothing);
        file->objects_may_end();
      }
      let_all_out();
    }
    return real(location, arguments...);
  }
};

// Reads what all ranks wrote to an object, or names it anew. HDF5 demands that all ranks of the
// file that is changed make the call; not those of another one that is copied from.
template <Name kName, typename... Arguments>
struct Copies {
  static inline int (*real)(Hid, const char*, Hid, const char*, Arguments...) = nullptr;
  static int own(Hid from, const char* name, Hid to, const char* new_name,
                 Arguments... arguments) noexcept {
    if (!is_past()) {
      const Turn turn;
      constexpr Hid kSameLocation = 0;
      GatheredHdf5File* const file =
          g_hdf5_files.of_file(file_of_object(to == kSameLocation ? from : to));
      if (file != nullptr) file->flush(GatheredHdf5File::Says::kNothing);
      let_all_out();
    }
    return real(from, name, to, new_name, arguments...);
  }
};

std::span<const Entry> own_calls() noexcept {
  static const Entry list[] = {
      entry<Create>("H5Fcreate"),
      entry<Open>("H5Fopen"),
      entry<CloseFile>("H5Fclose"),
      entry<Flush>("H5Fflush"),
      entry<OpensDataset<"H5Dcreate1", const char*, Hid, Hid, Hid>>("H5Dcreate1"),
      entry<OpensDataset<"H5Dcreate2", const char*, Hid, Hid, Hid, Hid, Hid>>("H5Dcreate2"),
      entry<OpensDataset<"H5Dopen1", const char*>>("H5Dopen1"),
      entry<OpensDataset<"H5Dopen2", const char*, Hid>>("H5Dopen2"),
      entry<GivesBack<"H5Dclose", true>>("H5Dclose"),
      entry<GivesBack<"H5Oclose", true>>("H5Oclose"),
      entry<GivesBack<"H5Idec_ref", false>>("H5Idec_ref"),
      entry<Write>("H5Dwrite"),
      entry<Read>("H5Dread"),
      entry<Frees<"H5Ldelete", const char*, Hid>>("H5Ldelete"),
      entry<Frees<"H5Ldelete_by_idx", const char*, int, int, std::uint64_t, Hid>>(
          "H5Ldelete_by_idx"),
      entry<Frees<"H5Gunlink", const char*>>("H5Gunlink"),
      entry<Frees<"H5Odecr_refcount">>("H5Odecr_refcount"),
      entry<Frees<"H5Dset_extent", const std::uint64_t*>>("H5Dset_extent"),
      entry<Frees<"H5Dextend", const std::uint64_t*>>("H5Dextend"),
      entry<Copies<"H5Gmove2">>("H5Gmove2"),
      entry<Copies<"H5Lmove", Hid, Hid>>("H5Lmove"),
      entry<Copies<"H5Ocopy", Hid, Hid>>("H5Ocopy"),
      entry<MakesList>("H5Pcreate"),
      entry<SetsMode>("H5Pset_dxpl_mpio"),
      entry<AsksCause>("H5Pget_mpio_no_collective_cause"),
      entry<Stops<"H5Fset_mpi_atomicity", int, Hid, bool>>("H5Fset_mpi_atomicity"),
      entry<Stops<"H5Fstart_swmr_write", int, Hid>>("H5Fstart_swmr_write"),
      entry<Stops<"H5Fmount", int, Hid, const char*, Hid, Hid>>("H5Fmount"),
      entry<Stops<"H5Fget_vfd_handle", int, Hid, Hid, void**>>("H5Fget_vfd_handle"),
  };
  return list;
}

const Entry* find_entry(const char* name) noexcept {
  for (const std::span<const Entry> list : {own_calls(), table_calls()}) {
    for (const Entry& one : list) {
      if (std::strcmp(one.name, name) == 0) return &one;
    }
  }
  return nullptr;
}

}  // namespace

void let_hdf5_out() noexcept {
  if (is_past()) return;
  const Turn turn;
  let_all_out();
}

void stop_hdf5() noexcept {
  if (is_past()) return;
  const Turn turn;
  let_all_out();
  for (const auto& file : g_hdf5_files.list) file->stop();
}

void* in_front_of_hdf5(const char* name, void* real, Provider& hdf5) noexcept {
  const Entry* const found = find_entry(name);
  if (found == nullptr) return real;
  Provider* none = nullptr;
  if (!g_hdf5.compare_exchange_strong(none, &hdf5) && none != &hdf5) return real;
  found->use(real);
  return found->own;
}

}  // namespace iotune::gather
