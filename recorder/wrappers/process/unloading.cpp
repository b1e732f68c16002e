// The wrapper of dlclose: what was cached about a library does not outlive it. dlopen has none: the
// loader searches where its caller says (RUNPATH), and we would be that caller.
#include "core/link/real_function.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT int dlclose(void* handle) {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("dlclose", handle);
  if (!real.exists()) return -1;
  if (!CallerSymbol::suspend_for_unload()) return real();
  const int result = real();
  std::uint16_t left[kMaxProviders];
  const std::size_t count = CallerSymbol::resume_after_unload(left, kMaxProviders);
  if (count == 0) return result;
  const OwnCode own;
  for (std::size_t i = 0; i < count; ++i) run_after_unload(left[i]);
  // The file that is sampled out may have been one of theirs.
  t_thread.unrecorded = ThreadState::Unrecorded::kNothing;
  return result;
}

}  // extern "C"
