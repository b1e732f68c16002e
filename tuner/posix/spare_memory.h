// Memory for what an open keeps between its before and after hooks, where that is too large for a
// stack or an OpenState. What was given back last is kept for the next open: to map new memory and
// to touch it first is most of what an open costs where nothing is set.
#pragma once

#include "core/os/mapped_file.h"
#include "core/os/private_memory.h"

namespace iotune::tuner {

template <typename T>
class SpareMemory {
 public:
  // Not initialised; nullptr where there is no memory. Threads may call both functions at once.
  T* take() noexcept {
    T* const kept = __atomic_exchange_n(&kept_, nullptr, __ATOMIC_ACQUIRE);
    return kept != nullptr ? kept : static_cast<T*>(private_memory(sizeof(T)));
  }

  void give_back(T* used) noexcept {
    T* none = nullptr;
    if (!__atomic_compare_exchange_n(&kept_, &none, used, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED)) {
      unmap(used, sizeof(T));
    }
  }

 private:
  T* kept_ = nullptr;
};

}  // namespace iotune::tuner
