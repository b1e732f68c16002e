// The libraries that provide HDF5 or MPI. They come and go with plug-ins.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/link/loaded_objects.h"

namespace iotune {

// kMpich: MPICH 3.2 to 5 in its own ABI and its kin; kOpenMpi: 4 and 5; kStandard: MPI 5.0's ABI.
enum class MpiAbi : std::uint8_t { kMpich, kOpenMpi, kStandard };

// kOther: a library whose calls are passed on by their callers alone; it is no provider.
enum class Interface : std::uint8_t { kHdf5, kMpi, kOther };

// A loaded library that provides HDF5 or MPI, not a tool that wraps it. Nothing here keeps it
// loaded: when it leaves, its place is given to another one, which gets a number of its own.
// Numbers are handed out in order of discovery and never used again: handles are tabled by
// (provider, id).
struct Provider {
  std::atomic<const LoadedObject*> object{nullptr};  // nullptr: it has left
  std::uintptr_t base = 0;                           // with the path, what the object is known by
  // The functions that iotune itself calls, filled by the layer that needs them (hdf5_api.h,
  // mpi_api.h). The tables' memory is used again.
  std::atomic<const void*> hdf5_api{nullptr};
  std::atomic<const void*> mpi_api{nullptr};
  std::atomic<void*> spare_hdf5_table{nullptr};
  std::atomic<void*> spare_mpi_table{nullptr};
  std::uint16_t number = 0;
  // By Interface: whether the library has been asked what it is, and is one that iotune knows.
  bool asked[2] = {}, known[2] = {};
  // Its place is never given to another one.
  bool pinned = false;
  // An HDF5 whose asynchronous calls really are: its objects are left alone (hooks_hdf5_objects).
  std::atomic<bool> asynchronous{false};
  // The program gave a property list a connector itself.
  std::atomic<bool> connector_set{false};
  MpiAbi mpi_abi = MpiAbi::kMpich;
  char mpi_version[64] = {};  // "MPICH 4.0.2"
  char name[256] = {};        // its path, cut
};

// A symbol of the provider's own library or what it depends on.
void* provider_symbol(const Provider& provider, const char* name) noexcept;

// Whether another HDF5 than this one has been called and is still loaded.
bool is_another_hdf5_in_use(const Provider& one) noexcept;

// The table at `table`, filled by `fill` at the first call; nullptr where there is no memory, or
// the library has left. Threads that fill it at once agree on one.
const void* api_table(Provider& provider, std::atomic<const void*>& table,
                      std::atomic<void*>& spare, std::size_t bytes,
                      void (*fill)(Provider& provider, void* table)) noexcept;

// What a library says of itself: asked by calling it, so that nothing is held meanwhile.
struct Introduction {
  Interface interface;
  int (*hdf5_version)(unsigned*, unsigned*, unsigned*);
  int (*mpi_version)(char*, int*);
  bool has_open_mpi_objects;
  char soname[64];
  // The answers.
  bool known;
  MpiAbi mpi_abi;
  char version[64];
};

// The following inside of with_objects_still().
Provider* provider_of(const LoadedObject& object) noexcept;
void prepare_introduction(const LoadedObject& object, Interface interface,
                          Introduction& made) noexcept;
// nullptr where there are too many.
Provider* introduce(const LoadedObject& object, const Introduction& made) noexcept;
// Gives up the places of those that are not loaded any more. Their numbers are written to
// `numbers`; how many is returned.
std::size_t forget_unloaded_providers(std::uint16_t* numbers, std::size_t capacity) noexcept;

constexpr std::size_t kMaxProviders = 16;

// Outside of it.
void ask_library(Introduction& made) noexcept;

}  // namespace iotune
