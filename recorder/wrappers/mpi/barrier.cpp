// MPI_Barrier. Ranks that share a file count on it: what one wrote before it the others read
// afterwards, though MPI wants an MPI_File_sync for that. HDF5's ranks do so with their metadata.
#include "recorder/hooks/service.h"
#include "recorder/wrappers/mpi/order_call.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

int meet(Word comm, bool profiling, const void* caller) noexcept {
  constexpr CallNumber kNumber = CallNumber::kMPI_Barrier;
  tell_services<&Service::before_meeting>();
  const int result = order_call<Ordered<Word, OrderForm::kHandle>>(
      comm,
      {.number = kNumber, .small = kNumber, .profiling = profiling, .tests = false, .stays = true},
      caller);
  tell_services<&Service::after_meeting>();
  return result;
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int MPI_Barrier(Word comm) noexcept {
  return meet(comm, false, __builtin_return_address(0));
}
IOTUNE_EXPORT int PMPI_Barrier(Word comm) noexcept {
  return meet(comm, true, __builtin_return_address(0));
}

}  // extern "C"
