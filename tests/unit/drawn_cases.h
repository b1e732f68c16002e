// How many of a test's drawn cases are tried.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace iotune::testing {

// All of them where IOTUNE_TEST_FULL is set (`make soak`), else a sixth.
inline std::uint64_t drawn_cases(std::uint64_t all) {
  return std::getenv("IOTUNE_TEST_FULL") != nullptr ? all : (all + 5) / 6;
}

}  // namespace iotune::testing
