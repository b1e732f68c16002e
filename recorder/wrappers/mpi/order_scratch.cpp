#include "recorder/wrappers/mpi/order_scratch.h"

#include <atomic>
#include <new>

#include "core/os/private_memory.h"

namespace iotune::recorder {

struct OrderScratch::Area {
  std::size_t bytes;  // with this
};

namespace {
// Areas that no call uses. A thread that ends leaves none of its own.
constexpr std::size_t kMostKept = 4;
constinit std::atomic<void*> g_kept[kMostKept] = {};
}  // namespace

void* OrderScratch::have_area(std::size_t bytes) noexcept {
  const std::size_t wanted = (bytes + sizeof(Area) + 0xffff) & ~std::size_t{0xffff};
  for (std::atomic<void*>& kept : g_kept) {
    area_ = static_cast<Area*>(kept.exchange(nullptr, std::memory_order_acq_rel));
    if (area_ == nullptr) continue;
    if (area_->bytes >= wanted) return area_ + 1;
    unmap(area_, area_->bytes);
    area_ = nullptr;
  }
  void* const memory = private_memory(wanted);
  if (memory == nullptr) return nullptr;
  area_ = ::new (memory) Area{wanted};
  return area_ + 1;
}

OrderScratch::~OrderScratch() {
  if (area_ == nullptr) return;
  for (std::atomic<void*>& kept : g_kept) {
    void* none = nullptr;
    if (kept.compare_exchange_strong(none, area_, std::memory_order_acq_rel)) return;
  }
  unmap(area_, area_->bytes);
}

}  // namespace iotune::recorder
