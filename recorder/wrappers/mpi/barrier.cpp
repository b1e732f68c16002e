// MPI_Barrier, which is not recorded. Ranks that share a file count on it: what one wrote before it
// the others read afterwards, though MPI wants an MPI_File_sync for that. HDF5's ranks do so with
// their metadata.
#include "recorder/hooks/life_hooks.h"
#include "recorder/wrappers/call_entry.h"
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

IOTUNE_HIDDEN extern CallerSymbol iotune_symbol_MPI_Barrier;
constinit CallerSymbol iotune_symbol_MPI_Barrier;
int IOTUNE_BODY(MPI_Barrier)(Word comm) noexcept {
  return meet(iotune_symbol_MPI_Barrier, "MPI_Barrier", comm, __builtin_return_address(0));
}

IOTUNE_HIDDEN extern CallerSymbol iotune_symbol_PMPI_Barrier;
constinit CallerSymbol iotune_symbol_PMPI_Barrier;
int IOTUNE_BODY(PMPI_Barrier)(Word comm) noexcept {
  return meet(iotune_symbol_PMPI_Barrier, "PMPI_Barrier", comm, __builtin_return_address(0));
}

}  // extern "C"

#if defined(__x86_64__)
__asm__(IOTUNE_ENTRY_MACRO
        "    .pushsection .text.entries, \"ax\", @progbits\n"
        "    .cfi_startproc\n"
        "    IOTUNE_ENTRY MPI_Barrier, iotune_symbol_MPI_Barrier\n"
        "    IOTUNE_ENTRY PMPI_Barrier, iotune_symbol_PMPI_Barrier\n"
        "    .cfi_endproc\n"
        "    .popsection\n");
#endif
