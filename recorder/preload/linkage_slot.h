// The place in a loaded library, or in the program, through which it calls a function of another.
#pragma once

struct link_map;

namespace iotune::recorder {

// The entry for `name` in the procedure linkage table of what is loaded as `map` (ELF: a relocation
// JUMP_SLOT). The loader stores a function there at the library's first call. nullptr where there
// is none, or where the loader has made it read-only (-z now with -z relro). For as long as the
// library is loaded.
void** linkage_slot(const struct link_map& map, const char* name) noexcept;

}  // namespace iotune::recorder
