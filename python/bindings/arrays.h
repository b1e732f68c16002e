// Arrays of numbers from and to Python by the buffer protocol: NumPy's, array.array's, memoryviews.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "patterns/extent.h"
#include "python/bindings/errors.h"

// Memory that Python reads without a copy. LargeNumbers, SmallNumbers, RealNumbers are its types.
template <typename T>
struct Numbers {
  std::vector<T> values;
};

// A one-dimensional array of int64, with any step.
inline std::vector<std::int64_t> numbers_of(const pybind11::buffer& buffer, const char* what) {
  const pybind11::buffer_info info = buffer.request();
  const bool is_int64 = info.itemsize == 8 && (info.format == "q" || info.format == "l");
  if (info.ndim != 1 || !is_int64) {
    throw CoreError(std::string(what) + " must be one dimension of 64-bit integers");
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(info.shape[0]));
  const char* at = static_cast<const char*>(info.ptr);
  for (std::int64_t& number : numbers) {
    std::memcpy(&number, at, sizeof number);
    at += info.strides[0];
  }
  return numbers;
}

inline std::vector<iotune::patterns::Extent> accesses_of(const pybind11::buffer& offsets,
                                                         const pybind11::buffer& lengths) {
  const std::vector<std::int64_t> offset = numbers_of(offsets, "offsets");
  const std::vector<std::int64_t> length = numbers_of(lengths, "lengths");
  if (offset.size() != length.size()) throw CoreError("offsets and lengths differ in number");
  std::vector<iotune::patterns::Extent> accesses;
  accesses.reserve(offset.size());
  for (std::size_t k = 0; k < offset.size(); ++k) {
    if (length[k] < 0) throw CoreError("length " + std::to_string(k) + " is negative");
    accesses.push_back({offset[k], length[k]});
  }
  return accesses;
}

// Contiguous bytes of Python's, valid as long as the object is.
inline std::span<const std::byte> bytes_of(const pybind11::bytes& bytes) {
  const std::string_view view = bytes;
  return {reinterpret_cast<const std::byte*>(view.data()), view.size()};
}

inline pybind11::bytes python_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
