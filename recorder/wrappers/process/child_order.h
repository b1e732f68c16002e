// Calls that make a child and wait for its end, as what orders processes.
#pragma once

#include <initializer_list>

#include "core/process/thread_state.h"
#include "recorder/ring/record_writer.h"

namespace iotune::recorder {

inline bool orders_children() noexcept {
  return g_records_order && !in_vfork_child();
}
void record_child(const CallScope& scope, CallNumber number,
                  std::initializer_list<std::int64_t> numbers) noexcept;

}  // namespace iotune::recorder
