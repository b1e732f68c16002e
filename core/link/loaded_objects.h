// What the loader has loaded, asked without the lock that dlopen, dlsym and dlclose hold while a
// library's constructors and destructors run: those may wait for the very thread that asks.
#pragma once

#include <cstddef>

#include "core/link/elf_symbols.h"

struct dl_phdr_info;
struct link_map;

namespace iotune {

using LoadedObject = struct link_map;

// The object that has this address; nullptr: none.
const LoadedObject* object_at(const void* address) noexcept;

// libiotune.so itself.
const LoadedObject* own_object() noexcept;

// The program itself has no name in the loader's list.
bool is_program(const LoadedObject& object) noexcept;

// The next definition behind libiotune.so among what was loaded with the program. These objects
// stay, so that nothing has to be held.
void* next_at_start(const SymbolName& name) noexcept;

// As dl_iterate_phdr, of which a fork waits.
int visit_objects(int (*visit)(dl_phdr_info* object, std::size_t size, void* context),
                  void* context) noexcept;

// To be called while only the program and what it was linked to are loaded.
void note_objects_at_start() noexcept;

// Around a fork: a child would find the loader's list held for ever by a thread that it does not
// have (glibc does not release it in the child).
void leave_objects_for_fork() noexcept;
void go_on_after_fork() noexcept;
// In the child.
void forget_other_threads() noexcept;

// Whether `object` has this address in a segment that it may store to, now that the loader has
// protected what it relocated (PT_GNU_RELRO).
bool is_writable_in(const LoadedObject& object, const void* address) noexcept;
// Stores into a word of the object's, also one that the loader has protected; false where it lies
// in no segment that was ever to be written, or the kernel gives the right to write back no more.
bool store_in(const LoadedObject& object, void** slot, void* value) noexcept;

// How many objects the loader has added and removed so far.
struct LoadCounts {
  unsigned long long added, removed;
};

// While it runs, `work` finds the loader's list unchanged. It makes no call out of this library.
void with_objects_still(void (*work)(const LoadCounts& counts, void* context),
                        void* context) noexcept;

template <typename Work>
void with_objects_still(Work&& work) noexcept {
  with_objects_still(
      [](const LoadCounts& counts, void* context) { (*static_cast<Work*>(context))(counts); },
      &work);
}

// The following only inside of with_objects_still().

bool is_loaded(const LoadedObject* object) noexcept;
// It was loaded with the program, and so is never unloaded.
bool is_from_start(const LoadedObject* object) noexcept;
// True for libiotune.so and the objects loaded before it.
bool is_not_behind_us(const void* function) noexcept;
// As dlsym finds it on a handle of `object`: its own definition, or the first one among those that
// it needs, directly or not.
void* symbol_of(const LoadedObject& object, const SymbolName& name) noexcept;
// The first definition behind libiotune.so of whatever is loaded.
void* symbol_of_any(const SymbolName& name) noexcept;
// The one that follows in the loader's list, libiotune.so left out. nullptr: the first one.
const LoadedObject* object_behind(const LoadedObject* object) noexcept;
// The program's own definition: where it is linked to a library, a variable of that may have moved
// into it (copy relocation).
void* symbol_of_program(const SymbolName& name) noexcept;

}  // namespace iotune
