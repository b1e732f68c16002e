#include "core/process/one_thread.h"

#include "core/link/real_function.h"

namespace iotune {

constinit std::atomic<const char*> g_single_threaded{nullptr};

const char* find_single_threaded() noexcept {
  static constexpr char kUnknown = 0;
  const auto* flag = static_cast<const char*>(default_symbol("__libc_single_threaded"));
  if (flag == nullptr) flag = &kUnknown;
  g_single_threaded.store(flag, std::memory_order_relaxed);
  return flag;
}

}  // namespace iotune
