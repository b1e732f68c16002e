// A control call on one descriptor or stream.
#pragma once

#include <initializer_list>

#include "recorder/preload/record_writer.h"
#include "recorder/preload/thread_state.h"

namespace iotune::recorder {

void record_traced_call(const CallScope& scope, CallNumber number, int fd, std::uint32_t file,
                        std::initializer_list<std::int64_t> numbers) noexcept;

// Makes the call, and records it with `numbers` and the result where `file` is not 0.
template <Layer layer, typename Result, typename Call, typename... Numbers>
Result traced_call(CallNumber number, int fd, std::uint32_t file, Call call,
                   Numbers... numbers) noexcept {
  if (file == 0 || in_vfork_child()) return call();
  CallScope scope(layer);
  if (!scope.active()) return call();
  scope.start();
  const Result result = call();
  scope.stop();
  record_traced_call(scope, number, fd, file,
                     {static_cast<std::int64_t>(numbers)..., static_cast<std::int64_t>(result)});
  return result;
}

}  // namespace iotune::recorder
