#include "recorder/preload/real_function.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "recorder/preload/glibc_floor.h"
#include "recorder/preload/jump_safe_guard.h"
#include "recorder/preload/linkage_slot.h"
#include "recorder/preload/thread_state.h"

namespace iotune::recorder {
namespace {

// What glibc 2.35's _dl_find_object fills (dlfcn.h has it there; older headers do not).
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* link_map;
  void* eh_frame;
  unsigned long long reserved[8];
};
using FindObject = int (*)(void*, FoundObject*);

struct ObjectRange {
  std::uintptr_t start, end;
  const struct link_map* map;
};

// Fallback for older glibc: walks the loaded objects.
struct Search {
  std::uintptr_t address;
  std::uintptr_t base;
  bool found;
};

int match_segment(struct dl_phdr_info* object, std::size_t, void* context) noexcept {
  auto& search = *static_cast<Search*>(context);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t start = object->dlpi_addr + header.p_vaddr;
    if (search.address >= start && search.address < start + header.p_memsz) {
      search.base = object->dlpi_addr;
      search.found = true;
      return 1;
    }
  }
  return 0;
}

FindObject find_object_function() noexcept {
  static constinit std::atomic<void*> known{nullptr};
  static constinit std::atomic<bool> looked{false};
  if (!looked.load(std::memory_order_acquire)) {
    known.store(dlsym(RTLD_DEFAULT, "_dl_find_object"), std::memory_order_release);
    looked.store(true, std::memory_order_release);
  }
  return reinterpret_cast<FindObject>(known.load(std::memory_order_acquire));
}

[[gnu::hot]] const struct link_map* map_of(const void* address) noexcept {
  if (const FindObject find = find_object_function()) {
    FoundObject found{};
    if (find(const_cast<void*>(address), &found) == 0) return found.link_map;
    return nullptr;
  }
  Search search{reinterpret_cast<std::uintptr_t>(address), 0, false};
  dl_iterate_phdr(match_segment, &search);
  if (!search.found) return nullptr;
  void* const program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  const auto* map = static_cast<const struct link_map*>(program);
  while (map != nullptr && map->l_addr != search.base) map = map->l_next;
  if (program != nullptr) dlclose(program);
  return map;
}

// Marks this library: an address in it is one of our wrappers.
constinit char g_here = 0;
const struct link_map* own_map() noexcept {
  static constinit std::atomic<const struct link_map*> known{nullptr};
  const struct link_map* map = known.load(std::memory_order_acquire);
  if (map == nullptr) {
    map = map_of(&g_here);
    known.store(map, std::memory_order_release);
  }
  return map;
}

// True for this library and for those loaded before it: the call has come through these already,
// if they are preloads of the same kind.
bool is_not_behind_us(const void* function) noexcept {
  const struct link_map* const map = map_of(function);
  for (const struct link_map* at = own_map(); at != nullptr; at = at->l_prev) {
    if (at == map) return true;
  }
  return false;
}

constexpr std::size_t kMaxProviders = 16;
constinit Provider g_providers[kMaxProviders];
constinit std::uint16_t g_provider_count = 0;
// Look-ups are rare; dlsym takes the loader's lock in any case.
constinit SpinLock g_lookup_lock;

Provider* known_provider(const struct link_map* map) noexcept {
  for (std::uint16_t i = 0; i < g_provider_count; ++i) {
    if (g_providers[i].link_map == map) return &g_providers[i];
  }
  return nullptr;
}

bool is_program(const struct link_map* map) noexcept {
  return map->l_name == nullptr || map->l_name[0] == '\0';
}

// Another handle of a library that is loaded, for the caller to close.
void* handle_of(const struct link_map* map) noexcept {
  return dlopen(is_program(map) ? nullptr : map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

// What a caller in `library` would get without us and those before us.
void* next_function(void* library, const char* name) noexcept {
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  return found == nullptr || is_not_behind_us(found) ? dlsym(RTLD_NEXT, name) : found;
}

// A function of the library that `function` is part of, or wraps: a profiling tool may stand
// between us and the MPI or HDF5 whose handles the call is about, and has but some of its calls.
// Of MPI it is the one with the call's profiling name, of HDF5 one with a call that none wraps.
const void* behind_tools(void* library, const char* name, const void* function) noexcept {
  char asked[128] = "P";
  if (std::strncmp(name, "MPI_", 4) == 0) {
    std::strncat(asked, name, sizeof asked - 2);
  } else if (std::strncmp(name, "H5", 2) == 0) {
    std::strcpy(asked, "H5get_libversion");
  } else {
    return function;
  }
  const void* const found = next_function(library, asked);
  const struct link_map* const map = found == nullptr ? nullptr : map_of(found);
  void* const behind = map == nullptr ? nullptr : handle_of(map);
  if (behind == nullptr) return function;
  // An MPI may be two libraries, of which the one with the profiling names has no others.
  const bool whole = dlsym(behind, name) != nullptr;
  dlclose(behind);
  return whole ? found : function;
}

// `own` is what the caller's library finds by itself. In front of the same MPI or HDF5 the global
// scope may have a tool, which a call of any library meets first; another MPI or HDF5 there is not
// what this caller was linked to (their symbols have versions).
void* through_tools(const char* name, void* own) noexcept {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next == nullptr || next == own) return own;
  const struct link_map* const map = map_of(own);
  return map_of(next) != map && map_of(behind_tools(nullptr, name, next)) == map ? next : own;
}

// Those that are known are no tools: most calls of a library ask for nothing else.
Provider* provider_of(void* library, const char* name, const void* function) noexcept {
  if (Provider* const known = known_provider(map_of(function))) return known;
  const struct link_map* const map = map_of(behind_tools(library, name, function));
  if (map == nullptr) return nullptr;
  if (Provider* const known = known_provider(map)) return known;
  if (g_provider_count == kMaxProviders) return nullptr;
  Provider& provider = g_providers[g_provider_count];
  provider.number = g_provider_count++;
  provider.link_map = map;
  provider.handle = handle_of(map);
  std::strncpy(provider.name, is_program(map) ? "(program)" : map->l_name,
               sizeof provider.name - 1);
  return &provider;
}

}  // namespace

constinit CallerSymbol::Entry CallerSymbol::entries_[kEntries] = {};
constinit void* CallerSymbol::functions_[kEntries] = {};
constinit std::uint16_t CallerSymbol::used_ = 0;

// What the newest displaces was the next newest. Threads that do this at once may leave one twice.
void CallerSymbol::remember(std::uint16_t number, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if ((address & ~kAddress) != 0) return;
  std::uint64_t word = address | std::uint64_t{number} << kEntryShift;
  for (std::atomic<std::uint64_t>& one : newest_) {
    const std::uint64_t displaced = one.load(std::memory_order_acquire);
    one.store(word, std::memory_order_release);
    word = displaced;
  }
}

std::uint16_t CallerSymbol::entry_of(const void* caller_map) const noexcept {
  std::uint16_t number = first_.load(std::memory_order_acquire);
  while (number != 0 && entries_[number].caller_map != caller_map) number = entries_[number].next;
  return number;
}

[[gnu::hot]] RealFunction CallerSymbol::find_by_library(const char* name,
                                                        const void* caller) noexcept {
  const void* const map = map_of(caller);
  const std::uint16_t number = entry_of(map);
  if (number == 0) return look_up(name, map);
  remember(number, caller);
  return real_of(number);
}

[[gnu::hot]] void* CallerSymbol::newest_function(const void* caller) const noexcept {
  return newest_function_inline(caller);
}

RealFunction CallerSymbol::look_up(const char* name, const void* caller_map) noexcept {
  const OwnCode own;
  const auto* const map = static_cast<const struct link_map*>(caller_map);
  RealFunction real;
  const JumpSafeGuard guard(g_lookup_lock);
  void* const library = map != nullptr && map != own_map() ? handle_of(map) : nullptr;
  real.function = next_function(library, name);
  if (real.function != nullptr) real.function = through_tools(name, real.function);
  if (real.function != nullptr) real.provider = provider_of(library, name, real.function);
  if (library != nullptr) dlclose(library);
  if (real.function == nullptr) return {};
  real.internal = real.provider != nullptr && real.provider->link_map == caller_map;
  // Without an entry every call is looked up anew. Another thread may have made it meanwhile.
  if (caller_map == nullptr || used_ + 1u == kEntries || entry_of(caller_map) != 0) return real;
  const auto number = static_cast<std::uint16_t>(used_ + 1);
  entries_[number] = {caller_map, real.provider, first_.load(std::memory_order_relaxed),
                      real.internal};
  functions_[number] = real.function;
  used_ = number;
  first_.store(number, std::memory_order_release);
  real.looked_up = true;
  return real;
}

void leave_to_caller(const char* name, const void* caller, const RealFunction& real) noexcept {
  const OwnCode own;
  const struct link_map* const map = map_of(caller);
  // The provider stays loaded for as long as we are; a tool in front of it may not.
  if (map == nullptr || real.provider == nullptr) return;
  if (map_of(real.function) != real.provider->link_map) return;
  void** const slot = linkage_slot(*map, name);
  if (slot == nullptr) return;
  // As the loader stores it: at once, while other threads may call.
  const std::atomic_ref<void*> entry(*slot);
  void* held = entry.load(std::memory_order_relaxed);
  if (map_of(held) == own_map()) {
    entry.compare_exchange_strong(held, real.function, std::memory_order_release);
  }
}

void* NextSymbol::look_up(const char* name) noexcept {
  const OwnCode own;
  void* const real = dlsym(RTLD_NEXT, name);
  real_.store(real, std::memory_order_release);
  return real;
}

bool is_another_hdf5_in_use(const Provider& one) noexcept {
  for (std::size_t i = 0; i < g_provider_count; ++i) {
    const Provider& other = g_providers[i];
    if (&other != &one && other.hdf5_api.load(std::memory_order_relaxed) != nullptr) return true;
  }
  return false;
}

void unlock_lookups_after_fork() noexcept {
  g_lookup_lock.unlock();
}

const char* own_library_path() noexcept {
  const struct link_map* const map = own_map();
  return map == nullptr || map->l_name == nullptr ? "" : map->l_name;
}

void* default_symbol(const char* name) noexcept {
  const OwnCode own;
  return dlsym(RTLD_DEFAULT, name);
}

void* provider_symbol(const Provider& provider, const char* name) noexcept {
  const OwnCode own;
  void* const found = provider.handle == nullptr ? nullptr : dlsym(provider.handle, name);
  return found != nullptr && is_not_behind_us(found) ? dlsym(RTLD_NEXT, name) : found;
}

}  // namespace iotune::recorder
