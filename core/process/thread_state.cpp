#include "core/process/thread_state.h"

#include "core/abi/mpi_file_mark.h"
#include "core/link/at_start.h"

namespace iotune {

IOTUNE_START_DATA constinit Recording g_recording = kNothing;
IOTUNE_START_DATA constinit bool g_records_to_learn = false;
IOTUNE_START_DATA constinit bool g_records_order = false;
IOTUNE_START_DATA constinit long g_own_pid = 0;
__thread ThreadState t_thread __attribute__((tls_model("initial-exec")));
__thread const MpiFileMark* t_mpi_file_mark __attribute__((tls_model("initial-exec")));

}  // namespace iotune
