#include "core/abi/mpi_api.h"

#include <cstring>

#include "core/process/thread_state.h"

namespace iotune {
namespace {

constinit std::atomic<Provider*> g_world{nullptr};

template <typename Function>
bool fill(const Provider& provider, Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(provider_symbol(provider, name));
  return function != nullptr;
}

bool fill_all(const Provider& provider, MpiApi& api) noexcept {
  bool whole = true;
#define IOTUNE_NEEDED(name) whole = fill(provider, api.name, #name) && whole
  IOTUNE_NEEDED(MPI_Comm_rank);
  IOTUNE_NEEDED(MPI_Comm_size);
  IOTUNE_NEEDED(MPI_Comm_split);
  IOTUNE_NEEDED(MPI_Comm_free);
  IOTUNE_NEEDED(MPI_Comm_test_inter);
  IOTUNE_NEEDED(MPI_Comm_set_errhandler);
  IOTUNE_NEEDED(MPI_Comm_get_errhandler);
  IOTUNE_NEEDED(MPI_Errhandler_free);
  IOTUNE_NEEDED(MPI_Comm_create_keyval);
  IOTUNE_NEEDED(MPI_Comm_get_attr);
  IOTUNE_NEEDED(MPI_Query_thread);
  IOTUNE_NEEDED(MPI_Comm_set_attr);
  IOTUNE_NEEDED(MPI_Comm_delete_attr);
  IOTUNE_NEEDED(MPI_Comm_group);
  IOTUNE_NEEDED(MPI_Group_translate_ranks);
  IOTUNE_NEEDED(MPI_Group_free);
  IOTUNE_NEEDED(MPI_Bcast);
  IOTUNE_NEEDED(MPI_Allreduce);
  IOTUNE_NEEDED(MPI_Gather);
  IOTUNE_NEEDED(MPI_Send);
  IOTUNE_NEEDED(MPI_Recv);
  IOTUNE_NEEDED(MPI_Type_size);
  IOTUNE_NEEDED(MPI_Info_create);
  IOTUNE_NEEDED(MPI_Info_dup);
  IOTUNE_NEEDED(MPI_Info_set);
  IOTUNE_NEEDED(MPI_Info_free);
  IOTUNE_NEEDED(MPI_File_get_info);
  IOTUNE_NEEDED(MPI_File_set_info);
  IOTUNE_NEEDED(MPI_File_close);
  IOTUNE_NEEDED(MPI_File_get_errhandler);
  IOTUNE_NEEDED(MPI_File_set_errhandler);
  IOTUNE_NEEDED(MPI_Error_string);
  IOTUNE_NEEDED(MPI_Get_library_version);
  IOTUNE_NEEDED(MPI_Initialized);
  IOTUNE_NEEDED(MPI_Finalized);
#undef IOTUNE_NEEDED
  // MPI_Info_get is deprecated, and one day gone; its successor is of MPI 4.
  const bool old_info = fill(provider, api.MPI_Info_get, "MPI_Info_get");
  const bool new_info = fill(provider, api.MPI_Info_get_string, "MPI_Info_get_string");
  if (!whole || !(old_info || new_info)) return false;
#define IOTUNE_OPTIONAL(name) fill(provider, api.name, #name)
  IOTUNE_OPTIONAL(MPI_Type_size_x);
  IOTUNE_OPTIONAL(MPI_Type_get_extent);
  IOTUNE_OPTIONAL(MPI_Type_get_true_extent);
  IOTUNE_OPTIONAL(MPI_Type_get_envelope);
  IOTUNE_OPTIONAL(MPI_Type_get_envelope_c);
  IOTUNE_OPTIONAL(MPI_Type_get_contents);
  IOTUNE_OPTIONAL(MPI_Type_get_contents_c);
  IOTUNE_OPTIONAL(MPI_Type_free);
  IOTUNE_OPTIONAL(MPI_File_get_position);
  IOTUNE_OPTIONAL(MPI_Pack_external);
  IOTUNE_OPTIONAL(MPI_Test_cancelled);
  IOTUNE_OPTIONAL(MPI_T_init_thread);
  IOTUNE_OPTIONAL(MPI_T_cvar_get_index);
  IOTUNE_OPTIONAL(MPI_T_cvar_handle_alloc);
  IOTUNE_OPTIONAL(MPI_T_cvar_read);
  IOTUNE_OPTIONAL(MPI_T_cvar_handle_free);
  IOTUNE_OPTIONAL(MPI_T_finalize);
#undef IOTUNE_OPTIONAL
  api.abi = provider.mpi_abi;
  api.constants = constants_of(api.abi, provider);
  static_assert(sizeof api.version == sizeof provider.mpi_version);
  std::memcpy(api.version, provider.mpi_version, sizeof api.version);
  return true;
}

}  // namespace

const MpiApi* mpi_api(Provider& mpi) noexcept {
  // An MPI that lacks a function is remembered by a table without its first entry.
  const auto* const known = static_cast<const MpiApi*>(api_table(
      mpi, mpi.mpi_api, mpi.spare_mpi_table, sizeof(MpiApi), [](Provider& one, void* table) {
        auto* const api = static_cast<MpiApi*>(table);
        if (!fill_all(one, *api)) api->MPI_Comm_rank = nullptr;
      }));
  return known == nullptr || known->MPI_Comm_rank == nullptr ? nullptr : known;
}

MpiAbi abi_of(Provider& mpi) noexcept {
  return mpi.mpi_abi;
}

Word handle_at(Provider& mpi, const void* handle) noexcept {
  Word value = 0;
  if (handle != nullptr) {
    std::memcpy(&value, handle, handle_bytes(abi_of(mpi)));
  }
  return value;
}

bool read_info(const MpiApi& mpi, Word info, const char* key, char* value, int bytes) noexcept {
  int found = 0;
  value[0] = '\0';
  if (mpi.MPI_Info_get_string != nullptr) {
    int room = bytes;
    if (mpi.MPI_Info_get_string(info, key, &room, value, &found) != 0) return false;
  } else if (mpi.MPI_Info_get(info, key, bytes - 1, value, &found) != 0) {
    return false;
  }
  return found != 0;
}

Word split_quietly(const MpiApi& mpi, Word comm) noexcept {
  Word handler = 0, made = 0;
  int rank = 0;
  if (mpi.MPI_Comm_get_errhandler(comm, &handler) != 0) return mpi.constants.comm_null;
  mpi.MPI_Comm_set_errhandler(comm, mpi.constants.errors_return);
  mpi.MPI_Comm_rank(comm, &rank);
  const int result = mpi.MPI_Comm_split(comm, 0, rank, &made);
  mpi.MPI_Comm_set_errhandler(comm, handler);
  mpi.MPI_Errhandler_free(&handler);
  if (result != 0) return mpi.constants.comm_null;
  mpi.MPI_Comm_set_errhandler(made, mpi.constants.errors_return);
  return made;
}

bool is_inside_world(const MpiApi& mpi, Word comm) noexcept {
  const auto is = [&](Word other) { return ((comm ^ other) & mpi.constants.handle_mask) == 0; };
  if (is(mpi.constants.comm_world) || is(mpi.constants.comm_self)) return true;
  int inter = 1;
  if (mpi.MPI_Comm_test_inter(comm, &inter) != 0 || inter != 0) return false;
  int size = 0, world_size = 0, outside = 0;
  mpi.MPI_Comm_size(comm, &size);
  mpi.MPI_Comm_size(mpi.constants.comm_world, &world_size);
  if (size > world_size) return false;
  Word group = 0, world_group = 0;
  if (mpi.MPI_Comm_group(comm, &group) != 0) return false;
  if (mpi.MPI_Comm_group(mpi.constants.comm_world, &world_group) == 0) {
    // One rank at a time: no memory that grows with the communicator.
    for (int rank = 0; rank < size && outside == 0; ++rank) {
      int in_world = mpi.constants.undefined;
      mpi.MPI_Group_translate_ranks(group, 1, &rank, world_group, &in_world);
      outside = in_world == mpi.constants.undefined ? 1 : 0;
    }
    mpi.MPI_Group_free(&world_group);
  } else {
    outside = 1;
  }
  mpi.MPI_Group_free(&group);
  return outside == 0;
}

Provider* world_provider() noexcept {
  return g_world.load(std::memory_order_acquire);
}
void set_world_provider(Provider* mpi) noexcept {
  if (mpi != nullptr) mpi->pinned = true;
  g_world.store(mpi, std::memory_order_release);
}

}  // namespace iotune
