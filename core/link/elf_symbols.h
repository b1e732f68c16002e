// The symbols that a loaded ELF object defines, read from its own tables. The loader's dlsym takes
// a lock that a thread in dlopen holds while constructors run, and those may wait for the caller.
#pragma once

#include <cstdint>

struct link_map;

namespace iotune {

// A name with the hashes that the objects' tables are ordered by.
struct SymbolName {
  explicit SymbolName(const char* name, const char* version = nullptr) noexcept;
  const char* text;
  const char* version;  // nullptr: the default one
  std::uint32_t gnu_hash, elf_hash;
};

// The function or object that `object` itself defines, as the loader matches versions: who defines
// no version has every one; nullptr: none.
// `indirect` becomes true where only the loader may resolve it (STT_GNU_IFUNC). Takes no lock and
// makes no call: the object has to stay loaded meanwhile.
void* symbol_in(const link_map& object, const SymbolName& name, bool& indirect) noexcept;

// How the object uses a function of another one, or its own in a way that others may take over.
struct SymbolUse {
  bool used;
  const char* version;  // that it was linked to; nullptr: none
};
SymbolUse use_of(const link_map& object, const char* name) noexcept;

// The entry for `name` in the object's procedure linkage table (a relocation JUMP_SLOT), where the
// loader stores the function; nullptr: none. It may be read-only by now.
void** call_slot_of(const link_map& object, const char* name) noexcept;

// Calls `visit` with each word of the object in which the loader stored the address of what the
// object asks for weakly, and may do without: 0 where nobody defines it.
void visit_weak_slots(const link_map& object,
                      void (*visit)(void** slot, const char* name, void* context),
                      void* context) noexcept;

// What DT_SONAME calls the object; nullptr: nothing.
const char* soname_of(const link_map& object) noexcept;

// The objects that it names as needed (DT_NEEDED), in order.
class NeededNames {
 public:
  explicit NeededNames(const link_map& object) noexcept;
  const char* next() noexcept;  // nullptr behind the last

 private:
  const void* at_;
  const char* names_;
};

}  // namespace iotune
