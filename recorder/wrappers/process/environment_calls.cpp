// NVTX finds a tool by a variable of the environment. It is answered for here and set nowhere:
// children inherit a variable also where they do not inherit the preload, and would load the
// library that somebody kept away from them.
#include <cstring>

#include "core/link/real_function.h"
#include "core/process/thread_state.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

// A tool that the user named stays.
IOTUNE_EXPORT char* getenv(const char* name) noexcept {
  static constinit NextSymbol next;
  char* const found = next.prepare<char*>("getenv", name)();
  if (found != nullptr || g_recording == kNothing) return found;
  if (std::strcmp(name, "NVTX_INJECTION64_PATH") != 0) return nullptr;
  return const_cast<char*>(own_library_path());
}
}
