#include "gather/held/growing_memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace iotune::gather {

GrowingMemory::~GrowingMemory() {
  release();
}

bool GrowingMemory::have(std::size_t bytes) noexcept {
  if (bytes <= bytes_) return true;
  constexpr std::size_t kLeast = std::size_t{256} << 10U, kPage = 4096;
  const std::size_t wanted = (std::max({bytes, 2 * bytes_, kLeast}) + kPage - 1) / kPage * kPage;
  void* const memory = memory_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                          : mremap(memory_, bytes_, wanted, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = wanted;
  return true;
}

void GrowingMemory::release() noexcept {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  memory_ = nullptr;
  bytes_ = 0;
}

}  // namespace iotune::gather
