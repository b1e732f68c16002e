#include "gather/mpi/mpi_functions.h"

namespace iotune::gather {

constinit MpiFunctions g_mpi = {};
constinit GatherMpi g_world = {};

bool find_functions(const GatherMpi& mpi) noexcept {
  bool all = mpi.constants.known;
  const auto find = [&]<typename Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(mpi.function(name));
    all = all && function != nullptr;
  };
#define IOTUNE_FIND(name) find(#name, g_mpi.name)
  IOTUNE_FIND(MPI_File_open);
  IOTUNE_FIND(MPI_File_close);
  IOTUNE_FIND(MPI_File_set_view);
  IOTUNE_FIND(MPI_File_set_atomicity);
  IOTUNE_FIND(MPI_File_get_errhandler);
  IOTUNE_FIND(MPI_File_set_errhandler);
  IOTUNE_FIND(MPI_Errhandler_free);
  IOTUNE_FIND(MPI_File_call_errhandler);
  IOTUNE_FIND(MPI_File_write_at);
  IOTUNE_FIND(MPI_File_write_at_all);
  IOTUNE_FIND(MPI_File_seek);
  IOTUNE_FIND(MPI_File_get_position);
  IOTUNE_FIND(MPI_Type_size);
  IOTUNE_FIND(MPI_Type_get_extent);
  IOTUNE_FIND(MPI_Type_get_true_extent);
  IOTUNE_FIND(MPI_Type_create_hvector);
  IOTUNE_FIND(MPI_Type_create_hindexed);
  IOTUNE_FIND(MPI_Type_commit);
  IOTUNE_FIND(MPI_Type_free);
  IOTUNE_FIND(MPI_Pack);
  IOTUNE_FIND(MPI_Unpack);
  IOTUNE_FIND(MPI_Status_set_elements);
  IOTUNE_FIND(MPI_Status_set_cancelled);
  IOTUNE_FIND(MPI_Grequest_start);
  IOTUNE_FIND(MPI_Grequest_complete);
  IOTUNE_FIND(MPI_Error_class);
  IOTUNE_FIND(MPI_Allreduce);
  IOTUNE_FIND(MPI_Comm_rank);
  IOTUNE_FIND(MPI_Comm_free);
  IOTUNE_FIND(MPI_Info_free);
#undef IOTUNE_FIND
  if (all) g_world = mpi;
  return all;
}

bool all_say(Word comm, bool own) noexcept {
  const std::int64_t mine = own ? 1 : 0;
  std::int64_t least = 0;
  const MpiConstants& mpi = g_world.constants;
  return g_mpi.MPI_Allreduce(&mine, &least, 1, mpi.int64, mpi.op_min, comm) == 0 && least == 1;
}

}  // namespace iotune::gather
