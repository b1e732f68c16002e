// Reads a container's bytes, and keeps the logs open that it needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "logstore/read/container.h"

namespace iotune::logstore {

// One thread at a time. The container must outlive it.
class ContainerReader {
 public:
  explicit ContainerReader(const Container& container) : container_(container) {}

  // As Container::read().
  Result<std::size_t> read(std::int64_t offset, std::span<std::byte> to);
  // All of `to`, from a writer's log.
  std::optional<Error> read_log(std::uint32_t writer, std::int64_t physical,
                                std::span<std::byte> to);

 private:
  // Logs that are open at a time.
  static constexpr std::size_t kMostOpen = 128;

  const Container& container_;
  std::map<std::uint32_t, OpenFile> logs_;
};

}  // namespace iotune::logstore
