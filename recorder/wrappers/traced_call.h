// The rhythm of the wrappers that are written by hand: guard, real call, record.
#pragma once

#include <initializer_list>

#include "core/process/thread_state.h"
#include "recorder/ring/record_writer.h"

namespace iotune::recorder {

// Makes the call between two stamps; `record(scope, result)` notes it down afterwards. Neither
// where calls are not recorded now: the call is made all the same.
template <Layer layer, typename Result, typename Call, typename Record>
Result recorded_call(Call call, Record record) noexcept {
  if (in_vfork_child()) return call();
  CallScope scope(layer);
  if (!scope.active()) return call();
  scope.start();
  const Result result = call();
  scope.stop();
  record(scope, result);
  return result;
}

void record_traced_call(const CallScope& scope, CallNumber number, int fd, std::uint32_t file,
                        std::initializer_list<std::int64_t> numbers) noexcept;

// A control call on one descriptor or stream: recorded with `numbers` and the result where `file`
// is not 0.
template <Layer layer, typename Result, typename Call, typename... Numbers>
Result traced_call(CallNumber number, int fd, std::uint32_t file, Call call,
                   Numbers... numbers) noexcept {
  if (file == 0) return call();
  return recorded_call<layer, Result>(call, [=](const CallScope& scope, Result result) {
    record_traced_call(scope, number, fd, file,
                       {static_cast<std::int64_t>(numbers)..., static_cast<std::int64_t>(result)});
  });
}

}  // namespace iotune::recorder
