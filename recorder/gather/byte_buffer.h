// Private memory that grows no more once it is made: for what is gathered at the end of a run.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "core/os/mapped_file.h"

namespace iotune::recorder {

class ByteBuffer {
 public:
  ByteBuffer() noexcept = default;
  // Pages that are never written cost nothing. capacity() is 0 where there is no memory.
  explicit ByteBuffer(std::size_t capacity) noexcept
      : memory_(capacity == 0 ? nullptr : static_cast<std::byte*>(private_memory(capacity))),
        capacity_(memory_ == nullptr ? 0 : capacity) {}
  ByteBuffer(ByteBuffer&& other) noexcept { swap(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ByteBuffer() {
    if (memory_ != nullptr) unmap(memory_, capacity_);
  }

  // False, and nothing is added, where it does not fit.
  bool append(const void* bytes, std::size_t size) noexcept {
    if (size > capacity_ - used_) return false;
    if (size > 0) std::memcpy(memory_ + used_, bytes, size);
    used_ += size;
    return true;
  }
  // After the first `used` bytes of room() were written.
  void set_used(std::size_t used) noexcept { used_ = used; }

  std::size_t used() const noexcept { return used_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::span<std::byte> room() noexcept { return {memory_, capacity_}; }
  std::span<const std::byte> whole() const noexcept { return {memory_, capacity_}; }
  std::span<std::byte> bytes() noexcept { return {memory_, used_}; }
  std::span<const std::byte> bytes() const noexcept { return {memory_, used_}; }

 private:
  void swap(ByteBuffer& other) noexcept {
    std::byte* const memory = memory_;
    const std::size_t capacity = capacity_, used = used_;
    memory_ = other.memory_, capacity_ = other.capacity_, used_ = other.used_;
    other.memory_ = memory, other.capacity_ = capacity, other.used_ = used;
  }

  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
};

}  // namespace iotune::recorder
