#include "recorder/wrappers/descriptors/descriptor_table.h"

#include "core/os/private_memory.h"

namespace iotune::recorder {

constinit std::atomic<std::uint32_t> g_descriptor_file[kNearDescriptors] = {};

namespace {
constinit std::atomic<DescriptorWords*> g_far{nullptr};
}

DescriptorWords* far_descriptor(int fd, bool makes) noexcept {
  if (fd < kNearDescriptors || fd >= kMaxDescriptors) return nullptr;
  DescriptorWords* words = g_far.load(std::memory_order_acquire);
  if (words == nullptr) {
    if (!makes) return nullptr;
    constexpr std::size_t kBytes = (kMaxDescriptors - kNearDescriptors) * sizeof(DescriptorWords);
    auto* const made = static_cast<DescriptorWords*>(private_memory(kBytes));
    if (made == nullptr) return nullptr;
    if (g_far.compare_exchange_strong(words, made, std::memory_order_acq_rel)) {
      words = made;
    } else {
      unmap(made, kBytes);
    }
  }
  return &words[fd - kNearDescriptors];
}

std::uint32_t file_of_far_descriptor(int fd) noexcept {
  const DescriptorWords* const words = far_descriptor(fd);
  return words == nullptr ? 0 : words->file.load(std::memory_order_relaxed);
}

int end_of_descriptors() noexcept {
  return g_far.load(std::memory_order_acquire) == nullptr ? kNearDescriptors : kMaxDescriptors;
}

}  // namespace iotune::recorder
