// Pieces of many logs, side by side in one buffer: planned as they come, and read together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "logstore/read/container.h"

namespace iotune::logstore {

class PieceBuffer {
 public:
  static constexpr std::int64_t kBytes = std::int64_t{8} << 20U;

  // The container outlives it. No more than `most` bytes will be added at a time.
  explicit PieceBuffer(const Container& container, std::int64_t most = kBytes)
      : container_(container), bytes_(static_cast<std::size_t>(most < kBytes ? most : kBytes)) {}

  std::int64_t size() const noexcept { return read_ + plan_.bytes(); }
  std::int64_t room() const noexcept { return std::ssize(bytes_) - size(); }

  // No more than room(). An error is of a log that cannot be read.
  std::optional<Error> add_data(std::uint32_t writer, std::int64_t physical, std::int64_t length);
  std::optional<Error> add_zeros(std::int64_t length);

  // All that was added. The buffer is empty then, and its bytes are there until more are added.
  Result<std::span<const std::byte>> take();

 private:
  std::optional<Error> read_planned();

  const Container& container_;
  std::vector<std::byte> bytes_;
  ReadPlan plan_;
  std::int64_t read_ = 0;  // bytes that are there; those of the plan follow
};

}  // namespace iotune::logstore
