#include "core/link/provider.h"

#include <link.h>

#include <cstring>
#include <initializer_list>

#include "core/abi/mpi_abi.h"
#include "core/os/mapped_file.h"
#include "core/process/thread_state.h"

namespace iotune {
namespace {

constinit Provider g_providers[kMaxProviders];
constinit std::uint16_t g_next_number = 0;

const char* path_of(const LoadedObject& object) noexcept {
  return is_program(object) ? "(program)" : object.l_name;
}

bool is_same(const Provider& provider, const LoadedObject& object) noexcept {
  return provider.object.load(std::memory_order_acquire) == &object &&
         provider.base == object.l_addr &&
         std::strncmp(provider.name, path_of(object), sizeof provider.name - 1) == 0;
}

// The table's memory stays: a thread may be reading it that will find out later.
void retire(std::atomic<const void*>& table, std::atomic<void*>& spare) noexcept {
  const void* const made = table.exchange(nullptr, std::memory_order_acq_rel);
  if (made != nullptr) spare.store(const_cast<void*>(made), std::memory_order_release);
}

Provider* new_place() noexcept {
  constexpr std::uint16_t kLastNumber = 0xffff;
  if (g_next_number == kLastNumber) return nullptr;
  for (Provider& place : g_providers) {
    if (place.object.load(std::memory_order_relaxed) == nullptr && !place.pinned) return &place;
  }
  return nullptr;
}

}  // namespace

void* provider_symbol(const Provider& provider, const char* name) noexcept {
  const SymbolName wanted(name);
  void* found = nullptr;
  with_objects_still([&](const LoadCounts&) {
    const LoadedObject* const object = provider.object.load(std::memory_order_acquire);
    if (object == nullptr || !is_loaded(object)) return;
    found = symbol_of(*object, wanted);
    if (found != nullptr && is_not_behind_us(found)) found = symbol_of_any(wanted);
  });
  return found;
}

bool is_another_hdf5_in_use(const Provider& one) noexcept {
  for (const Provider& other : g_providers) {
    if (&other != &one && other.hdf5_api.load(std::memory_order_relaxed) != nullptr) return true;
  }
  return false;
}

const void* api_table(Provider& provider, std::atomic<const void*>& table,
                      std::atomic<void*>& spare, std::size_t bytes,
                      void (*fill)(Provider& provider, void* table)) noexcept {
  const void* const known = table.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  if (provider.object.load(std::memory_order_acquire) == nullptr) return nullptr;
  const OwnCode own;
  void* made = spare.exchange(nullptr, std::memory_order_acq_rel);
  if (made == nullptr) made = private_memory(bytes);
  if (made == nullptr) return nullptr;
  fill(provider, made);
  const void* first = nullptr;
  if (table.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return made;
  spare.store(made, std::memory_order_release);
  return first;
}

Provider* provider_of(const LoadedObject& object) noexcept {
  for (Provider& provider : g_providers) {
    if (is_same(provider, object)) return &provider;
  }
  return nullptr;
}

namespace {

// Whether the library itself defines all of these. One that has but a few functions of such names
// is no HDF5 and no MPI, whatever it is linked to, and what it calls a version may be anything.
bool defines(const LoadedObject& object, std::initializer_list<const char*> names) noexcept {
  for (const char* const name : names) {
    bool indirect = false;
    if (symbol_in(object, SymbolName(name), indirect) == nullptr) return false;
  }
  return true;
}

}  // namespace

void prepare_introduction(const LoadedObject& object, Interface interface,
                          Introduction& made) noexcept {
  made = {};
  made.interface = interface;
  const auto symbol = [&](const char* name) { return symbol_of(object, SymbolName(name)); };
  if (interface == Interface::kHdf5) {
    if (!defines(object, {"H5get_libversion", "H5check_version", "H5open", "H5close"})) return;
    made.hdf5_version = reinterpret_cast<decltype(made.hdf5_version)>(symbol("H5get_libversion"));
    return;
  }
  if (!defines(object, {"MPI_Get_library_version", "MPI_Init", "MPI_Finalize", "MPI_Initialized",
                        "MPI_Comm_rank", "MPI_Comm_size"})) {
    return;
  }
  made.mpi_version =
      reinterpret_cast<decltype(made.mpi_version)>(symbol("MPI_Get_library_version"));
  made.has_open_mpi_objects = symbol("ompi_mpi_comm_world") != nullptr;
  const char* soname = soname_of(object);
  if (soname == nullptr) {
    const char* const slash = std::strrchr(path_of(object), '/');
    soname = slash == nullptr ? path_of(object) : slash + 1;
  }
  std::strncpy(made.soname, soname, sizeof made.soname - 1);
}

void ask_library(Introduction& made) noexcept {
  const OwnCode own;
  if (made.interface == Interface::kHdf5) {
    unsigned major = 0, minor = 0, release = 0;
    // Until 1.8 hid_t had 32 bits.
    made.known = made.hdf5_version != nullptr && made.hdf5_version(&major, &minor, &release) >= 0 &&
                 (major > 1 || (major == 1 && minor >= 10));
    return;
  }
  constexpr std::size_t kTextBytes = 12288;  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most
  auto* const text = static_cast<char*>(private_memory(kTextBytes));
  if (text == nullptr) return;
  int length = 0;
  if (made.mpi_version != nullptr && made.mpi_version(text, &length) == 0) {
    text[kTextBytes - 1] = '\0';
    const MpiIdentity identity = identify_mpi(text, made.soname, made.has_open_mpi_objects);
    made.known = identity.known;
    made.mpi_abi = identity.abi;
    static_assert(sizeof made.version == sizeof identity.version);
    std::memcpy(made.version, identity.version, sizeof made.version);
  }
  unmap(text, kTextBytes);
}

Provider* introduce(const LoadedObject& object, const Introduction& made) noexcept {
  Provider* provider = provider_of(object);
  if (provider == nullptr) {
    provider = new_place();
    if (provider == nullptr) return nullptr;
    provider->number = g_next_number++;
    provider->base = object.l_addr;
    std::memset(provider->name, 0, sizeof provider->name);
    std::strncpy(provider->name, path_of(object), sizeof provider->name - 1);
    for (bool& asked : provider->asked) asked = false;
    for (bool& known : provider->known) known = false;
    provider->asynchronous.store(false, std::memory_order_relaxed);
    provider->connector_set.store(false, std::memory_order_relaxed);
    provider->object.store(&object, std::memory_order_release);
  }
  const auto interface = static_cast<std::size_t>(made.interface);
  if (made.interface == Interface::kMpi && !provider->asked[interface]) {
    provider->mpi_abi = made.mpi_abi;
    std::memcpy(provider->mpi_version, made.version, sizeof provider->mpi_version);
  }
  provider->known[interface] = made.known;
  provider->asked[interface] = true;
  return provider;
}

std::size_t forget_unloaded_providers(std::uint16_t* numbers, std::size_t capacity) noexcept {
  std::size_t count = 0;
  for (Provider& provider : g_providers) {
    const LoadedObject* const object = provider.object.load(std::memory_order_relaxed);
    if (object == nullptr || (is_loaded(object) && is_same(provider, *object))) continue;
    provider.object.store(nullptr, std::memory_order_release);
    retire(provider.hdf5_api, provider.spare_hdf5_table);
    retire(provider.mpi_api, provider.spare_mpi_table);
    if (count < capacity) numbers[count++] = provider.number;
  }
  return count;
}

}  // namespace iotune
