#include "core/link/weak_references.h"

#include <cstring>

#include "core/link/at_start.h"
#include "core/link/loaded_objects.h"

namespace iotune {
namespace {

bool begins_with(const char* name, const char* begin) noexcept {
  return std::strncmp(name, begin, std::strlen(begin)) == 0;
}

// Programs ask for these to know of iotune itself (include/iotune.h).
bool is_about_us(const char* name) noexcept {
  return begins_with(name, "iotune_") || begins_with(name, "InitializeInjection");
}

IOTUNE_START_CODE void give_back(void** slot, const char* name, void* context) noexcept {
  if (*slot == nullptr) return;
  const SymbolName wanted(name);
  bool indirect = false;
  void* const ours = symbol_in(*own_object(), wanted, indirect);
  if (ours == nullptr || *slot != ours || is_about_us(name)) return;
  if (next_at_start(wanted) != nullptr) return;
  store_in(*static_cast<const LoadedObject*>(context), slot, nullptr);
}

}  // namespace

IOTUNE_START_CODE void give_back_weak_references() noexcept {
  if (own_object() == nullptr) return;
  for (const LoadedObject* at = nullptr; (at = object_behind(at)) != nullptr;) {
    // The loader's list is not const; nothing but the slot is written.
    visit_weak_slots(*at, give_back, const_cast<LoadedObject*>(at));
  }
}

}  // namespace iotune
