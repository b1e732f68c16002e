// Memory that grows and stays in one piece: pages move, bytes are not copied.
#pragma once

#include <cstddef>
#include <utility>

namespace iotune::gather {

class GrowingMemory {
 public:
  GrowingMemory() noexcept = default;
  ~GrowingMemory();
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;

  // Makes room for `bytes` in all. False: there is no memory, and everything is as it was.
  bool have(std::size_t bytes) noexcept;
  // Gives all of it back.
  void release() noexcept;
  void swap(GrowingMemory& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  std::byte* data() noexcept { return memory_; }
  const std::byte* data() const noexcept { return memory_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace iotune::gather
