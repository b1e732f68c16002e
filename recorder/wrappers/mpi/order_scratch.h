// Memory for as long as one call lasts: for arrays as long as the program's, whose lengths nothing
// bounds. Small ones are the caller's own; larger areas are kept for the next such call.
#pragma once

#include <cstddef>

namespace iotune::recorder {

class OrderScratch {
 public:
  OrderScratch() noexcept = default;
  ~OrderScratch();
  OrderScratch(const OrderScratch&) = delete;
  OrderScratch& operator=(const OrderScratch&) = delete;

  // Once. nullptr where there is no memory.
  void* have(std::size_t bytes) noexcept {
    return bytes <= sizeof small_ ? small_ : have_area(bytes);
  }

 private:
  struct Area;
  [[gnu::cold]] void* have_area(std::size_t bytes) noexcept;

  Area* area_ = nullptr;
  alignas(8) std::byte small_[384];
};

}  // namespace iotune::recorder
