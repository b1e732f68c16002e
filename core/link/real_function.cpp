#include "core/link/real_function.h"

#include <link.h>

#include <cstring>

#include "core/os/private_memory.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"

namespace iotune {
namespace {

// What follows runs inside of with_objects_still().

// What a caller in `library` would get without us and those before us: the loader searches the
// global scope first, and takes what has the version that the caller was linked to.
void* next_function(const LoadedObject* library, const SymbolName& name) noexcept {
  void* const global = next_at_start(name);
  if (global != nullptr) return global;
  void* const found =
      library == nullptr || is_program(*library) ? nullptr : symbol_of(*library, name);
  return found == nullptr || is_not_behind_us(found) ? symbol_of_any(name) : found;
}

// A call whose return address lies in an object that does not use the function: a library that did
// call it ended with the call (a jump, so that its own caller returns from it), or the function was
// asked for by name. Which library that was cannot be known; what all that use the function get is
// right. Where that differs the one that was loaded last is taken, and nothing remembered.
struct GuessedCall {
  void* function = nullptr;
  bool certain = true;
};
GuessedCall guess_function(const char* name) noexcept {
  GuessedCall guess;
  for (const LoadedObject* at = nullptr; (at = object_behind(at)) != nullptr;) {
    const SymbolUse use = use_of(*at, name);
    if (!use.used) continue;
    void* const found = next_function(at, SymbolName(name, use.version));
    // A library's calls of its own functions return into it.
    if (found == nullptr || object_at(found) == at) continue;
    guess.certain = guess.certain && (guess.function == nullptr || guess.function == found);
    guess.function = found;
  }
  if (guess.function == nullptr) guess.function = next_function(nullptr, SymbolName(name));
  return guess;
}

// The library that `function` is part of, or wraps: a profiling tool may stand between us and the
// MPI or HDF5 whose handles the call is about, and has but some of its calls. Of MPI it is the one
// with the call's profiling name, of HDF5 one with a call that none wraps.
const LoadedObject* behind_tools(const LoadedObject* library, const SymbolName& name,
                                 const void* function) noexcept {
  char asked[128] = "P";
  if (std::strncmp(name.text, "MPI_", 4) == 0) {
    std::strncat(asked, name.text, sizeof asked - 2);
  } else if (std::strncmp(name.text, "H5", 2) == 0) {
    std::strcpy(asked, "H5get_libversion");
  } else {
    return object_at(function);
  }
  const void* const found = next_function(library, SymbolName(asked));
  const LoadedObject* const behind = found == nullptr ? nullptr : object_at(found);
  // An MPI may be two libraries, of which the one with the profiling names has no others.
  const bool whole = behind != nullptr && symbol_of(*behind, name) != nullptr;
  return whole ? behind : object_at(function);
}

// Whether an object that defines `name` wraps it, as another library has it: it looks for the next
// definition, or calls MPI's profiling name. One that does neither has a function of its own, which
// may have other arguments.
bool is_tool(const LoadedObject* object, const char* name) noexcept {
  if (object == nullptr) return false;
  if (use_of(*object, "dlsym").used || use_of(*object, "dlvsym").used) return true;
  char profiling[128] = "P";
  std::strncat(profiling, name, sizeof profiling - 2);
  return std::strncmp(name, "MPI_", 4) == 0 && use_of(*object, profiling).used;
}

// dlcloses that run now, and what the loader had counted when the first of them began.
constinit unsigned g_unloads = 0;
constinit AfterFork g_after_fork([]() noexcept { CallerSymbol::resume_after_fork(); },
                                 WhenCopied::kAlways);
constinit LoadCounts g_at_suspension = {};
constinit bool g_protected = false;
// By Interface.
constinit std::atomic<CallerReplacement> g_replacements[2] = {};
// Rises when entries are buried.
constinit std::atomic<std::uint32_t> g_generation{0};

}  // namespace

constinit CallerSymbol::Entry CallerSymbol::entries_[kEntries] = {};
constinit std::atomic<void*> CallerSymbol::functions_[kEntries] = {};
constinit std::atomic<std::uint16_t> CallerSymbol::used_{0};

// What the newest displaces was the next newest. Threads that do this at once may leave one twice.
// A word whose entry was buried meanwhile is not carried on.
void CallerSymbol::remember(std::uint16_t number, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if ((address & ~kAddress) != 0) return;
  const std::uint32_t generation = g_generation.load(std::memory_order_acquire);
  std::uint64_t word = address | std::uint64_t{number} << kEntryShift;
  for (std::atomic<std::uint64_t>& one : newest_) {
    word = one.exchange(word, std::memory_order_acq_rel);
  }
  if (g_generation.load(std::memory_order_acquire) == generation) return;
  for (std::atomic<std::uint64_t>& one : newest_) one.store(0, std::memory_order_release);
}

std::uint16_t CallerSymbol::entry_of(const LoadedObject* caller) const noexcept {
  std::uint16_t number = first_.load(std::memory_order_acquire);
  while (number != 0 && entries_[number].caller.load(std::memory_order_acquire) != caller) {
    number = entries_[number].next;
  }
  return number;
}

[[gnu::hot]] RealFunction CallerSymbol::find_by_library(const char* name,
                                                        const void* caller) noexcept {
  const LoadedObject* const object = object_at(caller);
  const std::uint16_t number = object == nullptr ? std::uint16_t{0} : entry_of(object);
  const RealFunction known = real_of(number);
  if (known.function == nullptr) return look_up(name, object);
  if (!entries_[number].guessed) {
    remember(number, caller);
  } else if (is_outdated(number)) {
    return look_up(name, object);
  }
  return known;
}

[[gnu::hot]] void* CallerSymbol::newest_function(const void* caller) const noexcept {
  return newest_function_inline(caller);
}

namespace {
enum class Guess : std::uint8_t { kNone, kCertain, kUncertain };

Interface interface_of(const char* name) noexcept {
  if (std::strncmp(name, "H5", 2) == 0) return Interface::kHdf5;
  const char* const mpi = *name == 'P' ? name + 1 : name;
  return std::strncmp(mpi, "MPI_", 4) == 0 ? Interface::kMpi : Interface::kOther;
}

// A call for which a library finds no function, and how many objects the loader had added by then:
// it finds none until another one comes. Used with the objects still.
struct Absent {
  const CallerSymbol* symbol;
  const LoadedObject* caller;
  std::uint32_t name_hash;  // a symbol may be asked for under two names (find_small_form)
  unsigned long long loads;
  bool operator==(const Absent&) const noexcept = default;
};
Absent& absent_of(const CallerSymbol& symbol) noexcept {
  static constinit Absent known[16] = {};
  return known[reinterpret_cast<std::uintptr_t>(&symbol) / sizeof symbol % 16];
}
}  // namespace

struct CallerSymbol::LookUp {
  RealFunction real;
  const LoadedObject* caller;
  const LoadedObject* callee;
  const LoadedObject* behind;  // the provider's
  Guess guess;
  unsigned long long added_objects;
};

// Without an entry every call is looked up anew. Another thread may have made it meanwhile.
bool CallerSymbol::publish(const LookUp& found) noexcept {
  if (found.caller == nullptr || g_protected || g_unloads != 0 || entry_of(found.caller) != 0)
    return false;
  if (found.guess == Guess::kUncertain) return false;
  std::uint16_t number = entry_of(nullptr);
  const bool fresh = number == 0;
  if (fresh) {
    number = static_cast<std::uint16_t>(used_.load(std::memory_order_relaxed) + 1);
    if (number == kEntries) return false;
  }
  Entry& entry = entries_[number];
  entry.callee = found.callee;
  entry.function = found.real.function;
  entry.provider = found.real.provider;
  entry.symbol = this;
  entry.internal = found.real.internal;
  entry.from_start = is_from_start(found.caller) && is_from_start(found.callee) &&
                     (found.behind == nullptr || is_from_start(found.behind));
  entry.guessed = found.guess != Guess::kNone;
  entry.added_objects = found.added_objects;
  functions_[number].store(found.real.function, std::memory_order_release);
  entry.caller.store(found.caller, std::memory_order_release);
  if (fresh) {
    entry.next = first_.load(std::memory_order_relaxed);
    used_.store(number, std::memory_order_release);
    first_.store(number, std::memory_order_release);
  }
  return true;
}

// The loader's list is asked twice where a library is met for the first time: in between it is
// called to say what it is.
RealFunction CallerSymbol::look_up(const char* name, const LoadedObject* caller) noexcept {
  const OwnCode own;
  const Interface interface = interface_of(name);
  const auto kind = static_cast<std::size_t>(interface);
  LookUp found{{}, caller, nullptr, nullptr, Guess::kNone, 0};
  Introduction introduction;
  bool is_new = false;
  const auto settle = [&](Provider* provider) {
    if (interface == Interface::kOther) provider = nullptr;
    if (provider != nullptr && provider->known[kind]) found.real.provider = provider;
    found.real.internal = found.real.provider != nullptr && found.behind == caller;
    const CallerReplacement replacement =
        found.real.provider == nullptr || found.real.internal
            ? nullptr
            : g_replacements[kind].load(std::memory_order_acquire);
    if (replacement != nullptr) {
      found.real.function = replacement(name, found.real.function, *provider, caller);
    }
    found.real.looked_up = publish(found);
  };
  with_objects_still([&](const LoadCounts& counts) {
    Absent& absent = absent_of(*this);
    const Absent sought{this, caller, SymbolName(name).gnu_hash, counts.added};
    if (absent == sought) return;
    const LoadedObject* const library = caller == own_object() ? nullptr : caller;
    const SymbolUse use = library == nullptr ? SymbolUse{true, nullptr} : use_of(*library, name);
    const SymbolName wanted(name, use.version);
    void* function = nullptr;
    if (use.used) {
      function = next_function(library, wanted);
    } else {
      const GuessedCall guess = guess_function(name);
      function = guess.function;
      found.guess = guess.certain ? Guess::kCertain : Guess::kUncertain;
      found.added_objects = counts.added;
    }
    if (function == nullptr) {
      absent = sought;
      return;
    }
    found.real.function = function;
    found.callee = object_at(function);
    // Those that are known are no tools: most calls of a library ask for nothing else.
    Provider* provider = found.callee == nullptr ? nullptr : provider_of(*found.callee);
    found.behind = provider != nullptr ? found.callee : behind_tools(library, wanted, function);
    if (found.behind != found.callee && !is_tool(found.callee, name)) found.behind = found.callee;
    if (found.behind != nullptr && provider == nullptr) provider = provider_of(*found.behind);
    found.real.lasting = found.callee != nullptr &&
                         (is_from_start(found.callee) ||
                          (library != nullptr && symbol_of(*library, wanted) == function));
    is_new = interface != Interface::kOther && found.behind != nullptr &&
             (provider == nullptr || !provider->asked[kind]);
    if (is_new) {
      prepare_introduction(*found.behind, interface, introduction);
    } else {
      settle(provider);
    }
  });
  if (is_new) {
    ask_library(introduction);
    with_objects_still([&](const LoadCounts&) { settle(introduce(*found.behind, introduction)); });
  }
  return found.real;
}

void interpose(Interface of, CallerReplacement replacement) noexcept {
  g_replacements[static_cast<std::size_t>(of)].store(replacement, std::memory_order_release);
}

void CallerSymbol::protect_unused(bool protects) noexcept {
  with_objects_still([=](const LoadCounts&) {
    if (protects == g_protected || used_.load(std::memory_order_relaxed) != 0) return;
    g_protected = protects;
    static_assert(sizeof entries_ % kPageBytes == 0 && sizeof functions_ % kPageBytes == 0);
    protect_pages(entries_, sizeof entries_, protects);
    protect_pages(functions_, sizeof functions_, protects);
  });
}

bool CallerSymbol::suspend_for_unload() noexcept {
  if (used_.load(std::memory_order_acquire) == 0) return false;
  g_after_fork.enlist();
  with_objects_still([](const LoadCounts& counts) {
    if (g_unloads++ == 0) g_at_suspension = counts;
    for (std::uint16_t i = 1; i <= used_.load(std::memory_order_relaxed); ++i) {
      if (!entries_[i].from_start) functions_[i].store(nullptr, std::memory_order_release);
    }
  });
  return true;
}

bool CallerSymbol::has_left(const Entry& entry) noexcept {
  const LoadedObject* const behind =
      entry.provider == nullptr ? nullptr : entry.provider->object.load(std::memory_order_relaxed);
  return !is_loaded(entry.caller.load(std::memory_order_relaxed)) || !is_loaded(entry.callee) ||
         (entry.provider != nullptr && behind == nullptr);
}

void CallerSymbol::bury(std::uint16_t number) noexcept {
  Entry& entry = entries_[number];
  functions_[number].store(nullptr, std::memory_order_release);
  for (std::atomic<std::uint64_t>& one : entry.symbol->newest_) {
    std::uint64_t word = one.load(std::memory_order_acquire);
    if (word >> kEntryShift == number) {
      one.compare_exchange_strong(word, 0, std::memory_order_acq_rel);
    }
  }
  entry.provider = nullptr;
  entry.caller.store(nullptr, std::memory_order_release);
}

bool CallerSymbol::is_outdated(std::uint16_t number) noexcept {
  bool outdated = false;
  with_objects_still([&](const LoadCounts& counts) {
    Entry& entry = entries_[number];
    outdated = counts.added != entry.added_objects;
    if (outdated && entry.caller.load(std::memory_order_relaxed) != nullptr) bury(number);
  });
  return outdated;
}

// Where something was loaded meanwhile, it may lie where something else left, and be taken for it.
std::size_t CallerSymbol::resume_after_unload(std::uint16_t* left, std::size_t capacity) noexcept {
  std::size_t count = 0;
  with_objects_still([&](const LoadCounts& counts) {
    if (g_unloads > 0) --g_unloads;
    const bool removed = counts.removed != g_at_suspension.removed;
    const bool added = counts.added != g_at_suspension.added;
    if (removed) {
      count = forget_unloaded_providers(left, capacity);
      g_generation.fetch_add(1, std::memory_order_acq_rel);
    }
    for (std::uint16_t i = 1; i <= used_.load(std::memory_order_relaxed); ++i) {
      Entry& entry = entries_[i];
      if (entry.from_start || entry.caller.load(std::memory_order_relaxed) == nullptr) continue;
      if (removed && (added || has_left(entry))) {
        bury(i);
      } else if (g_unloads == 0) {
        functions_[i].store(entry.function, std::memory_order_release);
      }
    }
  });
  return count;
}

void CallerSymbol::resume_after_fork() noexcept {
  if (g_unloads == 0) return;
  g_unloads = 1;
  resume_after_unload(nullptr, 0);
}

void leave_to_caller(const char* name, const void* caller, const RealFunction& real) noexcept {
  const OwnCode own;
  const LoadedObject* const object = object_at(caller);
  if (object == nullptr || real.provider == nullptr || !real.lasting) return;
  // A tool in front of the provider wants to see the calls.
  if (object_at(real.function) != real.provider->object.load(std::memory_order_acquire)) return;
  void** const slot = call_slot_of(*object, name);
  if (slot == nullptr || reinterpret_cast<std::uintptr_t>(slot) % alignof(void*) != 0) return;
  if (!is_writable_in(*object, slot)) return;
  // As the loader stores it: at once, while other threads may call.
  const std::atomic_ref<void*> entry(*slot);
  void* held = entry.load(std::memory_order_relaxed);
  if (object_at(held) == own_object()) {
    entry.compare_exchange_strong(held, real.function, std::memory_order_release);
  }
}

namespace {
constinit std::atomic<NextSymbol*> g_next_symbols{nullptr};
using Replacement = void* (*)(const char* name, void* real);
// In the order in which they came; each gets what the one before it returned.
constinit std::atomic<Replacement> g_interposed[kMostInterposed] = {};
// How often something was interposed.
constinit std::atomic<unsigned> g_times_interposed{0};
}  // namespace

void* next_definition(const char* name) noexcept {
  // None: the loader, too, would look among what was loaded with the program alone.
  return next_at_start(SymbolName(name));
}

void* NextSymbol::look_up(const char* name) noexcept {
  void* const next = next_definition(name);
  if (next == nullptr) return nullptr;
  // Threads that are here at once find the same; the first one lists it.
  const char* unlisted = nullptr;
  if (__atomic_compare_exchange_n(&name_, &unlisted, name, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    others_ = g_next_symbols.load(std::memory_order_acquire);
    while (!g_next_symbols.compare_exchange_weak(others_, this)) {
    }
  }
  // What is interposed meanwhile counts: this answer must not be stored over that one.
  void* real = next;
  unsigned times = 0;
  do {
    times = g_times_interposed.load();
    real = next;
    for (const auto& entry : g_interposed) {
      if (const Replacement replacement = entry.load()) real = replacement(name, real);
    }
    real_.store(real);
  } while (g_times_interposed.load() != times);
  return real;
}

void interpose(void* (*replacement)(const char* name, void* real)) noexcept {
  for (auto& entry : g_interposed) {
    Replacement held = nullptr;
    if (entry.compare_exchange_strong(held, replacement) || held == replacement) break;
  }
  g_times_interposed.fetch_add(1);
  for (NextSymbol* at = g_next_symbols.load(); at != nullptr; at = at->others_) {
    at->real_.store(nullptr, std::memory_order_release);
    at->look_up(at->name_);
  }
}

const char* own_library_path() noexcept {
  const LoadedObject* const own = own_object();
  return own == nullptr || own->l_name == nullptr ? "" : own->l_name;
}

void* default_symbol(const char* name) noexcept {
  const SymbolName wanted(name);
  void* found = nullptr;
  with_objects_still([&](const LoadCounts&) {
    for (const LoadedObject* at = nullptr; (at = object_behind(at)) != nullptr;) {
      bool indirect = false;
      found = symbol_in(*at, wanted, indirect);
      if (found != nullptr && !indirect) return;
      found = nullptr;
    }
  });
  return found;
}

void* program_symbol(const char* name) noexcept {
  const SymbolName wanted(name);
  void* found = nullptr;
  with_objects_still([&](const LoadCounts&) { found = symbol_of_program(wanted); });
  return found;
}

}  // namespace iotune
