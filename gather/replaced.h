// One class for each replaced function of MPI or HDF5, which keeps where the real one is.
#pragma once

#include <cstddef>

namespace iotune::gather {

// A function's name, what stands in front of it, and what keeps the real function.
struct Entry {
  const char* name;
  void* own;
  void (*use)(void* real);
};

// A name as an argument of a template.
template <std::size_t kBytes>
struct Name {
  char text[kBytes] = {};
  constexpr Name() noexcept = default;
  constexpr Name(const char (&literal)[kBytes]) noexcept {  // NOLINT: as a literal
    for (std::size_t i = 0; i < kBytes; ++i) text[i] = literal[i];
  }
};

// `Definition` has `own`, and `real` of the same type.
template <typename Definition>
Entry entry(const char* name) noexcept {
  return {name, reinterpret_cast<void*>(&Definition::own), [](void* function) noexcept {
            Definition::real = reinterpret_cast<decltype(Definition::real)>(function);
          }};
}

}  // namespace iotune::gather
