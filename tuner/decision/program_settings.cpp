#include "tuner/decision/program_settings.h"

#include <cstdlib>
#include <cstring>

#include "core/os/mapped_file.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/process_events.h"
#include "recorder/hooks/decisions.h"
#include "tuner/mpiio/user_hints.h"

namespace iotune::tuner {
namespace {

using recorder::CallNumber;

struct Entry {
  std::int64_t id;
  std::uint32_t provider;
  std::uint32_t used;  // 0: free
  ListSettings settings;
};

// Lists that live at one time: few. Searched in a line, newest first.
constinit Entry* g_entries = nullptr;
constinit std::size_t g_count = 0, g_capacity = 0;
constinit ProcessLock g_lock;

Entry* find(std::uint32_t provider, std::int64_t id) noexcept {
  for (std::size_t i = g_count; i > 0; --i) {
    Entry& entry = g_entries[i - 1];
    if (entry.used != 0 && entry.id == id && entry.provider == provider) return &entry;
  }
  return nullptr;
}

Entry* add(std::uint32_t provider, std::int64_t id) noexcept {
  for (std::size_t i = 0; i < g_count; ++i) {
    if (g_entries[i].used == 0) {
      g_entries[i] = {id, provider, 1, {}};
      return &g_entries[i];
    }
  }
  if (g_count == g_capacity) {
    const std::size_t capacity = g_capacity == 0 ? 64 : g_capacity * 2;
    auto* const entries = static_cast<Entry*>(private_memory(capacity * sizeof(Entry)));
    if (entries == nullptr) return nullptr;
    if (g_entries != nullptr) {
      std::memcpy(entries, g_entries, g_count * sizeof(Entry));
      unmap(g_entries, g_capacity * sizeof(Entry));
    }
    g_entries = entries;
    g_capacity = capacity;
  }
  Entry& entry = g_entries[g_count++];
  entry = {id, provider, 1, {}};
  return &entry;
}

// Each holder has a copy of its own, so that closing one list frees one.
Word copy_info(Word info) noexcept {
  Provider* const world = world_provider();
  const MpiApi* const mpi = world == nullptr ? nullptr : mpi_api(*world);
  Word copy = 0;
  if (mpi == nullptr || info == 0 ||
      (info & mpi->constants.handle_mask) == mpi->constants.info_null ||
      mpi->MPI_Info_dup(info, &copy) != 0) {
    return mpi == nullptr ? 0 : mpi->constants.info_null;
  }
  return copy;
}

void free_info(Word info) noexcept {
  Provider* const world = world_provider();
  const MpiApi* const mpi = world == nullptr ? nullptr : mpi_api(*world);
  int finalized = 1;
  if (mpi == nullptr || info == 0 ||
      (info & mpi->constants.handle_mask) == mpi->constants.info_null) {
    return;
  }
  mpi->MPI_Finalized(&finalized);
  if (finalized == 0) mpi->MPI_Info_free(&info);
}

void mark(const Provider& provider, std::int64_t id, ProgramSet bit) noexcept {
  const JumpSafeGuard guard(g_lock);
  Entry* entry = find(provider.number, id);
  if (entry == nullptr) entry = add(provider.number, id);
  if (entry != nullptr) entry->settings.set_by_program |= bit;
}

constinit UserHints g_hints;
constinit bool g_hints_read = false;

}  // namespace

ListSettings settings_of(const Provider& hdf5, std::int64_t id) noexcept {
  const JumpSafeGuard guard(g_lock);
  const Entry* const entry = find(hdf5.number, id);
  return entry == nullptr ? ListSettings{} : entry->settings;
}

void store_settings(const Provider& hdf5, std::int64_t id, const ListSettings& settings) noexcept {
  Word old = 0;
  {
    const JumpSafeGuard guard(g_lock);
    Entry* entry = find(hdf5.number, id);
    if (entry != nullptr) old = entry->settings.info;
    if (entry == nullptr) entry = add(hdf5.number, id);
    if (entry != nullptr) entry->settings = settings;
  }
  free_info(old);
}

void inherit_settings(const Provider& hdf5, std::int64_t id,
                      const ListSettings& settings) noexcept {
  ListSettings own = settings;
  own.info = settings.mpio ? copy_info(settings.info) : 0;
  if (own.mpio || own.set_by_program != 0) {
    store_settings(hdf5, id, own);
  } else {
    forget_settings(hdf5, id);  // an id may have been used before
  }
}

void forget_communicator(Word comm) noexcept {
  const JumpSafeGuard guard(g_lock);
  for (std::size_t i = 0; i < g_count; ++i) {
    if (g_entries[i].used != 0 && g_entries[i].settings.private_comm == comm) {
      g_entries[i].settings.private_comm = 0;
    }
  }
}

void forget_settings(const Provider& hdf5, std::int64_t id) noexcept {
  Word old = 0;
  {
    const JumpSafeGuard guard(g_lock);
    Entry* const entry = find(hdf5.number, id);
    if (entry == nullptr) return;
    old = entry->settings.info;
    entry->used = 0;
  }
  free_info(old);
}

void follow_property_call(Provider& hdf5, CallNumber call, const std::int64_t* words,
                          int) noexcept {
  switch (call) {
    case CallNumber::kH5Pcopy:
    case CallNumber::kH5Fget_access_plist:
      inherit_settings(hdf5, words[1], settings_of(hdf5, words[0]));
      break;
    case CallNumber::kH5Pcreate:
      forget_settings(hdf5, words[1]);
      break;
    case CallNumber::kH5Pclose:
    case CallNumber::kH5Fclose:
      forget_settings(hdf5, words[0]);
      break;
    case CallNumber::kH5Pset_alignment:
      mark(hdf5, words[0], kSetAlignment);
      break;
    case CallNumber::kH5Pset_meta_block_size:
      mark(hdf5, words[0], kSetMetaBlockSize);
      break;
    case CallNumber::kH5Pset_sieve_buf_size:
      mark(hdf5, words[0], kSetSieveBufSize);
      break;
    case CallNumber::kH5Pset_cache:
      mark(hdf5, words[0], kSetCache);
      break;
    case CallNumber::kH5Pset_coll_metadata_write:
      mark(hdf5, words[0], kSetCollMetadataWrite);
      break;
    case CallNumber::kH5Pset_libver_bounds:
      mark(hdf5, words[0], kSetLibverBounds);
      break;
    case CallNumber::kH5Pset_page_buffer_size:
      mark(hdf5, words[0], kSetPageBuffer);
      break;
    case CallNumber::kH5Pset_mdc_config:
      mark(hdf5, words[0], kSetMetadataCache);
      break;
    case CallNumber::kH5Pset_evict_on_close:
      mark(hdf5, words[0], kSetEvictOnClose);
      break;
    case CallNumber::kH5Pset_layout:
    case CallNumber::kH5Pset_chunk:
      mark(hdf5, words[0], kSetLayout);
      break;
    case CallNumber::kH5Pset_chunk_cache:
      mark(hdf5, words[0], kSetChunkCache);
      break;
    default:
      break;
  }
}

namespace {
void read_hints() noexcept {
  const JumpSafeGuard guard(g_lock);
  if (g_hints_read) return;
  g_hints.clear();
  // As ROMIO does: where its variable names no file that can be opened, the site's own holds.
  if (!g_hints.add_file(std::getenv("ROMIO_HINTS"))) g_hints.add_file("/etc/romio-hints");
  if (const char* const text = std::getenv("MPICH_MPIIO_HINTS")) g_hints.add_variable(text);
  // MCA parameters of Open MPI's OMPIO, over which a hint would win.
  if (std::getenv("OMPI_MCA_io_ompio_num_aggregators")) g_hints.add("cb_nodes", 8);
  if (std::getenv("OMPI_MCA_io_ompio_bytes_per_agg")) g_hints.add("cb_buffer_size", 14);
  __atomic_store_n(&g_hints_read, true, __ATOMIC_RELEASE);
}
}  // namespace

bool user_hints_name(const char* hint) noexcept {
  if (!__atomic_load_n(&g_hints_read, __ATOMIC_ACQUIRE)) read_hints();
  return g_hints.has(hint);
}

}  // namespace iotune::tuner
