// MPI_Barrier, which is not recorded. Ranks that share a file count on it: what one wrote before it
// the others read afterwards, though MPI wants an MPI_File_sync for that. HDF5's ranks do so with
// their metadata.
#include "recorder/hooks/life_hooks.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

[[gnu::noinline]] int meet(CallerSymbol& symbol, const char* name, Word comm,
                           const void* caller) noexcept {
  auto* const real = reinterpret_cast<int (*)(Word)>(symbol.find(name, caller).function);
  if (real == nullptr) return -1;
  g_life_hooks.before_meeting();
  const int result = real(comm);
  g_life_hooks.after_meeting();
  return result;
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int MPI_Barrier(Word comm) noexcept {
  static constinit CallerSymbol symbol;
  return meet(symbol, "MPI_Barrier", comm, __builtin_return_address(0));
}
IOTUNE_EXPORT int PMPI_Barrier(Word comm) noexcept {
  static constinit CallerSymbol symbol;
  return meet(symbol, "PMPI_Barrier", comm, __builtin_return_address(0));
}

}  // extern "C"
