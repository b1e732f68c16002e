// How much memory chunk caches may take in this process: they grow with datasets and ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::tuner {

// An eighth of the memory of a node, or of what the job may have of it, shared by the ranks of this
// run on a node.
constexpr std::uint64_t cache_budget_bytes(std::uint64_t node_bytes, int ranks,
                                           int nodes) noexcept {
  const auto all = static_cast<std::uint64_t>(ranks < 1 ? 1 : ranks);
  const auto places = static_cast<std::uint64_t>(nodes < 1 ? 1 : nodes);
  return node_bytes / 8 / ((all + places - 1) / places);
}

constexpr std::uint64_t kDefaultBytes = std::uint64_t{1} << 20;  // HDF5's own

// What each dataset may have that takes the file's default, as those do that are opened without an
// access list (H5Oopen, by which h5py opens all): how many there will be nobody knows at the file's
// open. 0: HDF5's own.
constexpr std::uint64_t file_cache_bytes(std::uint64_t budget, std::uint64_t wanted) noexcept {
  constexpr std::uint64_t kDatasets = 64;
  if (wanted <= kDefaultBytes) return wanted;
  const std::uint64_t each = wanted < budget / kDatasets ? wanted : budget / kDatasets;
  return each > kDefaultBytes ? each : 0;
}

// What a buffer of one file may have: how many files will be open at once nobody knows either.
constexpr std::uint64_t file_buffer_bytes(std::uint64_t budget) noexcept {
  constexpr std::uint64_t kFiles = 8;
  return budget / kFiles;
}

// What one more dataset may have of `budget` where `open` others have a cache of `wanted` already;
// below HDF5's own default it is 0: not worth a change.
constexpr std::uint64_t cache_share_bytes(std::uint64_t budget, std::uint64_t wanted,
                                          std::uint64_t open) noexcept {
  if (wanted <= kDefaultBytes) return wanted;
  if (budget <= kDefaultBytes) return 0;
  const std::uint64_t each = wanted < budget ? wanted : budget;
  const std::uint64_t whole = budget / each;
  if (open < whole) return each;
  const std::uint64_t rest = open == whole ? budget - whole * each : 0;
  return rest > kDefaultBytes ? rest : 0;
}

constexpr bool is_prime(std::size_t number) noexcept {
  for (std::size_t factor = 2; factor <= number / factor; ++factor) {
    if (number % factor == 0) return false;
  }
  return number > 1;
}

// Slots of the hash table of a chunk cache: of two chunks in one slot the later evicts the earlier,
// however much room there is. HDF5 advises a prime of ten to a hundred times the chunks that fit,
// but a dataset's chunks are not known before its open: 64 times those of 64 KiB, ten times those
// of 10 KiB. A slot takes 8 bytes, cleared at each open: no more than 8 MiB of them, and about a
// hundredth of the cache unless it is a small one.
constexpr std::size_t chunk_slots(std::uint64_t cache_bytes) noexcept {
  constexpr std::uint64_t kLeast = 12421, kMost = std::uint64_t{1} << 20, kBytesPerSlot = 1024;
  const std::uint64_t wanted = cache_bytes / kBytesPerSlot;
  std::size_t slots = wanted < kLeast ? kLeast : wanted < kMost ? wanted : kMost;
  while (!is_prime(slots)) ++slots;
  return slots;
}

// The budget of this process.
std::uint64_t own_cache_budget_bytes() noexcept;

}  // namespace iotune::tuner
