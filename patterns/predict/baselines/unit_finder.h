// The papers' Algorithm 1: a sequence of numbers as units [i,(d0,d1,…)^r].
// J. He et al., "Discovering Structure in Unstructured I/O", PDSW 2012, and "I/O Acceleration with
// Pattern Detection", HPDC 2013; the scans lack the listing, docs say what it was rebuilt from.
#pragma once

#include <cstdint>
#include <span>

namespace iotune::patterns {

inline constexpr unsigned kUnitWindow = 6;  // deltas, as in the authors' code

// Deltas deltas[first .. first + size), walked `repeats` times. Starts at the value before the
// first delta that it covers; covers size · repeats deltas, and units cover all deltas in order.
struct Unit {
  std::uint32_t first;
  std::uint32_t size;
  std::uint32_t repeats;
  std::uint32_t covered() const noexcept { return size * repeats; }
};

// Returns how many units were made; at most deltas.size(), which `units` must have room for.
std::size_t find_units(std::span<const std::int64_t> deltas, std::span<Unit> units,
                       unsigned window = kUnitWindow) noexcept;

}  // namespace iotune::patterns
