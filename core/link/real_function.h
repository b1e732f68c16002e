// Finding the function that the program would have called without us.
//
// One pointer per symbol is not enough: a Python process can hold three HDF5 libraries, and a
// wheel's library is visible to its own extension modules alone. HDF5 and MPI calls are
// resolved per calling library; POSIX calls, of which there is one provider, once. Between us and
// MPI or HDF5 may be a profiling tool, which gets the calls that it would get without us.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/link/provider.h"

namespace iotune {

struct RealFunction {
  void* function = nullptr;
  Provider* provider = nullptr;  // nullptr: none that iotune knows, the call is left alone
  bool internal = false;         // the caller is the provider, or part of a library that has both
  bool looked_up = false;        // just now, for the first time for this library
  bool lasting = false;          // it stays loaded for as long as its caller; known if looked_up
};

// From now on the library that `caller` is in calls `real` itself, as without us: its entry for
// `name`, where the loader put our wrapper, holds the real function. Nothing happens where that
// entry is another's (an auditor's, a debugger's), read-only, or the function a tool's.
void leave_to_caller(const char* name, const void* caller, const RealFunction& real) noexcept;

// The cache of one symbol: which real function each calling library gets. All zero at start,
// and the name is passed and not kept: hundreds of these cost no relocation and touch no page
// before their first call. What was found lies in a table of all symbols, in the order of their
// first calls: a program's few lie together, where a call between two large transfers finds the
// caches cold.
//
// An entry dies with the objects that it is about: addresses are used again by what is loaded next.
// While a dlclose runs, entries of objects that may leave are suspended: their calls are looked up
// anew each time. The cost is nothing for all others: a word whose entry has no function does not
// match.
class CallerSymbol {
 public:
  // `caller`: a return address in the calling library. {nullptr, nullptr} where there is none.
  RealFunction find(const char* name, const void* caller) noexcept {
    RealFunction found = find_newest(caller);
    if (found.function == nullptr) found = find_by_library(name, caller);
    return found;
  }

  // Where one of the places that called last calls again, as it mostly does; else without function.
  RealFunction find_newest(const void* caller) const noexcept {
    return real_of(newest_entry(caller));
  }
  RealFunction find_by_library(const char* name, const void* caller) noexcept;
  // find_newest, for calls that go straight through: code that they all share, and so is mostly in
  // the caches.
  void* newest_function(const void* caller) const noexcept;
  // The same for those that are the most: nothing is called, so that no argument need be saved. It
  // takes a hundred bytes, which the hundreds of others are not worth.
  [[gnu::always_inline]] void* newest_function_inline(const void* caller) const noexcept {
    return functions_[newest_entry(caller)].load(std::memory_order_relaxed);
  }

  // Around a dlclose. False: nothing is cached, and resume_after_unload() is not called.
  static bool suspend_for_unload() noexcept;
  // Buries the entries of what has left. The providers' numbers are added to `left`.
  static std::size_t resume_after_unload(std::uint16_t* left, std::size_t capacity) noexcept;
  // No library of HDF5 or MPI was called so far: the tables of what is cached become read-only, and
  // nothing is cached from now on (privilege_drop_call.cpp); or again as they were.
  static void protect_unused(bool protects) noexcept;
  // No other thread of the parent will resume.
  static void resume_after_fork() noexcept;

 private:
  struct Entry {
    std::atomic<const LoadedObject*> caller;  // nullptr: free for another caller of the symbol
    const LoadedObject* callee;               // the object that the function is in
    void* function;                           // functions_ has it unless the entry is suspended
    Provider* provider;
    CallerSymbol* symbol;
    std::uint16_t next;  // the symbol's next entry; 0: none
    bool internal;
    bool from_start;  // none of its objects can leave
    // The caller does not use the symbol itself (GuessedCall in the source): right until another
    // object is loaded.
    bool guessed;
    unsigned long long added_objects;
  };
  struct LookUp;
  static RealFunction real_of(std::uint64_t number) noexcept {
    const Entry& entry = entries_[number];
    return {functions_[number].load(std::memory_order_acquire), entry.provider, entry.internal,
            false, false};
  }
  // 0: none of the newest.
  [[gnu::always_inline]] std::uint64_t newest_entry(const void* caller) const noexcept {
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(caller) << kAddressShift;
#pragma GCC unroll 3
    for (const std::atomic<std::uint64_t>& one : newest_) {
      const std::uint64_t newest = one.load(std::memory_order_acquire);
      if (newest << kAddressShift == address) return newest >> kEntryShift;
    }
    return 0;
  }
  std::uint16_t entry_of(const LoadedObject* caller) const noexcept;
  RealFunction look_up(const char* name, const LoadedObject* caller) noexcept;
  bool publish(const LookUp& found) noexcept;
  static bool is_outdated(std::uint16_t number) noexcept;
  void remember(std::uint16_t number, const void* caller) noexcept;
  static bool has_left(const Entry& entry) noexcept;
  static void bury(std::uint16_t number) noexcept;
  static constexpr std::size_t kEntries = 4096, kPageBytes = 4096;
  alignas(kPageBytes) static Entry entries_[kEntries];  // number 0 means none
  // All that calls need which go straight through.
  alignas(kPageBytes) static std::atomic<void*> functions_[kEntries];
  static std::atomic<std::uint16_t> used_;
  // A return address and the entry of its library, in one word: threads change it under each
  // other.
  static constexpr unsigned kEntryShift = 48, kAddressShift = 64 - kEntryShift;
  static constexpr std::uint64_t kAddress = (std::uint64_t{1} << kEntryShift) - 1;
  std::atomic<std::uint64_t> newest_[3] = {};
  std::atomic<std::uint16_t> first_{0};
};

// A call of the program's on its way to the next definition: that function with the arguments.
template <typename Result, typename... Arguments>
class NextCall {
 public:
  NextCall(Result (*real)(Arguments...), Arguments... arguments) noexcept
      : real_(real), arguments_(arguments...) {}
  // Whether there is a next definition.
  bool exists() const noexcept { return real_ != nullptr; }
  Result operator()() const noexcept { return make(std::index_sequence_for<Arguments...>()); }

 private:
  template <std::size_t... kPlaces>
  [[gnu::always_inline]] Result make(std::index_sequence<kPlaces...> /*places*/) const noexcept {
    return real_(std::get<kPlaces>(arguments_)...);
  }

  Result (*real_)(Arguments...);
  std::tuple<Arguments...> arguments_;
};

// The next definition after this library; nullptr where there is none. Looked up once, among what
// was loaded with the program, and so without a lock. A wrapper has one as a local static, which
// is zero at start:
//
//   static constinit NextSymbol next;
class NextSymbol {
 public:
  void* find(const char* name) noexcept {
    void* const found = known();
    return found != nullptr ? found : look_up(name);
  }
  void* known() const noexcept { return real_.load(std::memory_order_acquire); }
  // The same as a function of that type.
  template <typename Function>
  Function* find_as(const char* name) noexcept {
    return reinterpret_cast<Function*>(find(name));
  }
  // The program's call, to be made later. The types of `arguments` are the function's, so that they
  // have to be the wrapper's own parameters; no function with `...` is called so.
  template <typename Result, typename... Arguments>
  [[gnu::always_inline]] NextCall<Result, Arguments...> prepare(const char* name,
                                                                Arguments... arguments) noexcept {
    return {find_as<Result(Arguments...)>(name), arguments...};
  }

 private:
  friend void interpose(void* (*replacement)(const char* name, void* real)) noexcept;
  void* look_up(const char* name) noexcept;
  // First: assembly calls it (privilege_drop_calls.cpp).
  std::atomic<void*> real_{nullptr};
  // Of all that were looked up, for what is interposed later.
  const char* name_ = nullptr;
  NextSymbol* others_ = nullptr;
};

// One for each of iotune's own libraries that replaces calls: those beyond are not heard.
inline constexpr unsigned kMostInterposed = 4;
// From now on every NextSymbol gives what `replacement` returns for its name and its definition:
// that one, or a function of the same type that is called instead, and may call it. Those that
// were looked up already are asked for now, by any thread; again for another answer.
void interpose(void* (*replacement)(const char* name, void* real)) noexcept;

// From now on every CallerSymbol of HDF5, or of MPI, gives what `replacement` returns: `real`, or a
// function of the same type that is called instead and may call it. `caller` is where the call
// comes from. Before the first call of a file; not asked about calls that a library makes of its
// own functions, and with the loader's list still: it must call nothing but own code.
using CallerReplacement = void* (*)(const char* name, void* real, Provider& provider,
                                    const LoadedObject* caller);
void interpose(Interface of, CallerReplacement replacement) noexcept;

// What a NextSymbol of that name finds, without what was interposed.
void* next_definition(const char* name) noexcept;

// Where libiotune.so was loaded from, as the loader knows it.
const char* own_library_path() noexcept;

// The first definition of whatever is loaded, the program's own before all others; libiotune.so's
// are left out. Takes no lock of the loader's that a constructor may be run under.
void* default_symbol(const char* name) noexcept;

// The program's own definition of a variable that its MPI or HDF5 has too (copy relocation).
void* program_symbol(const char* name) noexcept;

}  // namespace iotune
