// What programs call to mark regions: iotune's own functions, which include/iotune.h finds, and
// Caliper's, which are passed on to the program's Caliper.
#include "core/link/real_function.h"
#include "recorder/regions/regions.h"
#include "recorder/wrappers/wrapper_parts.h"

using iotune::recorder::begin_region;
using iotune::recorder::end_region;
using iotune::recorder::kNoRegionValue;

namespace {

constexpr char kCaliper = 0;  // its address is the owner

// The Caliper that the caller would have got; nullptr: none is loaded.
void (*caliper(iotune::CallerSymbol& symbol, const char* name, const void* caller))(const char*) {
  return reinterpret_cast<void (*)(const char*)>(symbol.find(name, caller).function);
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int iotune_region_enter(const char* name, long long value) noexcept {
  return begin_region(nullptr, name, value);
}

IOTUNE_EXPORT int iotune_region_leave(const char* name) noexcept {
  return end_region(nullptr, name);
}

IOTUNE_EXPORT void cali_begin_region(const char* name) noexcept {
  static constinit iotune::CallerSymbol symbol;
  auto* const real = caliper(symbol, "cali_begin_region", __builtin_return_address(0));
  if (real != nullptr) real(name);
  begin_region(&kCaliper, name, kNoRegionValue);
}

IOTUNE_EXPORT void cali_end_region(const char* name) noexcept {
  static constinit iotune::CallerSymbol symbol;
  end_region(&kCaliper, name);
  auto* const real = caliper(symbol, "cali_end_region", __builtin_return_address(0));
  if (real != nullptr) real(name);
}
}
