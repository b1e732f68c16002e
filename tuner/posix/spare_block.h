// Memory of what an open keeps from before to after, which is too large for a stack or an
// OpenState. The last block given back is kept for the next open: mapping one anew and touching it
// first is most of what an open costs where nothing is set.
#pragma once

#include "core/os/mapped_file.h"
#include "core/os/private_memory.h"

namespace iotune::tuner {

template <typename T>
class SpareBlock {
 public:
  // Not initialised; nullptr without memory. For threads at once.
  T* take() noexcept {
    T* const kept = __atomic_exchange_n(&kept_, nullptr, __ATOMIC_ACQUIRE);
    return kept != nullptr ? kept : static_cast<T*>(private_memory(sizeof(T)));
  }

  void give_back(T* block) noexcept {
    T* none = nullptr;
    if (!__atomic_compare_exchange_n(&kept_, &none, block, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED)) {
      unmap(block, sizeof(T));
    }
  }

 private:
  T* kept_ = nullptr;
};

}  // namespace iotune::tuner
