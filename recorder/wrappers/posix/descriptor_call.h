// A call on a descriptor that moves no data.
#pragma once

#include "core/link/real_function.h"
#include "core/process/thread_state.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

// This libc may lack the call. `numbers`: what is recorded between descriptor and result.
template <typename Result, typename... Arguments, typename... Numbers>
Result call_on_descriptor(CallNumber number, int fd, NextCall<Result, Arguments...> real,
                          Numbers... numbers) noexcept {
  if (!real.exists()) return no_such_call();
  return traced_call<Layer::kPosix, Result>(number, fd, file_of_descriptor(fd), real, numbers...);
}

}  // namespace iotune::recorder
