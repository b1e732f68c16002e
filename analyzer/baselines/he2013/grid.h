// The papers' "imaginary global pattern matrix" behind a joined entry. Internal.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/baselines/he2013/global_index.h"

namespace iotune::he2013 {

// Bytes, but for rows and columns.
struct Grid {
  std::int64_t start;
  std::int64_t stride;          // > 0, a multiple of length
  std::int64_t length;          // > 0, of every piece
  std::int64_t rows;            // strides in a global stride
  std::int64_t columns;         // stride / length
  std::int64_t physical_start;  // of every id's first piece
  std::int64_t global_stride() const noexcept { return stride * rows; }

  // Of the local pattern of id p of the list.
  std::int64_t logical_of(std::uint64_t p) const noexcept {
    const auto place = static_cast<std::int64_t>(p);
    return start + global_stride() * (place / columns) + length * (place % columns);
  }
  // Where an id that stood `before` times in the list goes on in its log.
  std::int64_t physical_of(std::uint64_t before) const noexcept {
    return physical_start + static_cast<std::int64_t>(before) * rows * length;
  }
};

// The grid of which these units can be a column, if any.
std::optional<Grid> grid_of(const Unit& logical, std::span<const Unit> lengths,
                            std::span<const Unit> physical) noexcept;

}  // namespace iotune::he2013
