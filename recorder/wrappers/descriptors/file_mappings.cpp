#include "recorder/wrappers/descriptors/file_mappings.h"

#include <atomic>

namespace iotune::recorder {
namespace {

// Without a lock: a signal handler may unmap while its thread maps.
struct Place {
  std::atomic<std::uintptr_t> address{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::uint32_t> file{0};  // published last; kTaken while it is written
  std::atomic<int> fd{0};
};
constexpr std::uint32_t kTaken = UINT32_MAX;

constinit Place g_mappings[kMostMappings];
// Places in use at most: most programs map no traced file, and pay one load.
constinit std::atomic<int> g_places{0};

}  // namespace

void note_mapping(std::uintptr_t address, std::size_t bytes, int fd, std::uint32_t file) noexcept {
  for (int i = 0; i < kMostMappings; ++i) {
    Place& place = g_mappings[i];
    std::uint32_t nobody = 0;
    if (!place.file.compare_exchange_strong(nobody, kTaken, std::memory_order_acquire)) continue;
    place.address.store(address, std::memory_order_relaxed);
    place.bytes.store(bytes, std::memory_order_relaxed);
    place.fd.store(fd, std::memory_order_relaxed);
    place.file.store(file, std::memory_order_release);
    int places = g_places.load(std::memory_order_relaxed);
    while (places <= i && !g_places.compare_exchange_weak(places, i + 1)) {
    }
    return;
  }
}

FileMapping mapping_at(std::uintptr_t address) noexcept {
  const int places = g_places.load(std::memory_order_acquire);
  for (int i = 0; i < places; ++i) {
    const Place& place = g_mappings[i];
    const std::uint32_t file = place.file.load(std::memory_order_acquire);
    if (file == 0 || file == kTaken) continue;
    const FileMapping found{place.address.load(std::memory_order_relaxed),
                            place.bytes.load(std::memory_order_relaxed),
                            place.fd.load(std::memory_order_relaxed), file};
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool unchanged = place.file.load(std::memory_order_relaxed) == file;
    if (unchanged && address - found.address < found.bytes) return found;
  }
  return {0, 0, -1, 0};
}

void forget_mapping(std::uintptr_t address, std::size_t bytes) noexcept {
  const int places = g_places.load(std::memory_order_acquire);
  for (int i = 0; i < places; ++i) {
    Place& place = g_mappings[i];
    std::uint32_t file = place.file.load(std::memory_order_acquire);
    if (file == 0 || file == kTaken) continue;
    const std::uintptr_t begin = place.address.load(std::memory_order_relaxed);
    if (begin - address < bytes) {
      place.file.compare_exchange_strong(file, 0, std::memory_order_relaxed);
    }
  }
}

}  // namespace iotune::recorder
