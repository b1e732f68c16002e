#include "recorder/preload/linkage_slot.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iotune::recorder {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
#else
#error "which relocation of this processor is a jump slot?"
#endif

using Object = struct dl_phdr_info;

bool is_in(const Object& object, const Elf64_Phdr& header, std::uintptr_t address) noexcept {
  const std::uintptr_t start = object.dlpi_addr + header.p_vaddr;
  return address >= start && address < start + header.p_memsz;
}

bool is_loaded(const Object& object, std::uintptr_t address) noexcept {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const Elf64_Phdr& header = object.dlpi_phdr[i];
    if (header.p_type == PT_LOAD && is_in(object, header, address)) return true;
  }
  return false;
}

// What the program may store to once the loader has protected what it relocated.
bool is_writable(const Object& object, std::uintptr_t address) noexcept {
  bool writable = false;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const Elf64_Phdr& header = object.dlpi_phdr[i];
    if (!is_in(object, header, address)) continue;
    if (header.p_type == PT_LOAD) writable = (header.p_flags & PF_W) != 0;
    if (header.p_type == PT_GNU_RELRO) return false;
  }
  return writable;
}

// The loader replaces most of the dynamic section's addresses by absolute ones, where it may write
// to it.
template <typename T>
const T* table_at(const Object& object, Elf64_Addr address) noexcept {
  const Elf64_Addr absolute = is_loaded(object, address) ? address : address + object.dlpi_addr;
  return reinterpret_cast<const T*>(absolute);
}

struct LinkageTable {
  const Elf64_Rela* entries = nullptr;
  std::size_t count = 0;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
};

LinkageTable linkage_table(const Object& object, const Elf64_Dyn* dynamic) noexcept {
  LinkageTable table;
  bool with_addends = false;
  for (const Elf64_Dyn* at = dynamic; at->d_tag != DT_NULL; ++at) {
    switch (at->d_tag) {
      case DT_JMPREL:
        table.entries = table_at<Elf64_Rela>(object, at->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        table.count = at->d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_PLTREL:
        with_addends = at->d_un.d_val == DT_RELA;
        break;
      case DT_SYMTAB:
        table.symbols = table_at<Elf64_Sym>(object, at->d_un.d_ptr);
        break;
      case DT_STRTAB:
        table.names = table_at<char>(object, at->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  const bool whole = table.entries != nullptr && table.symbols != nullptr && table.names != nullptr;
  return whole && with_addends ? table : LinkageTable{};
}

void** slot_in(const Object& object, const Elf64_Dyn* dynamic, const char* name) noexcept {
  const LinkageTable table = linkage_table(object, dynamic);
  for (std::size_t i = 0; i < table.count; ++i) {
    const Elf64_Rela& entry = table.entries[i];
    if (ELF64_R_TYPE(entry.r_info) != kJumpSlot) continue;
    const Elf64_Sym& symbol = table.symbols[ELF64_R_SYM(entry.r_info)];
    if (std::strcmp(table.names + symbol.st_name, name) != 0) continue;
    const std::uintptr_t address = object.dlpi_addr + entry.r_offset;
    const bool usable = address % alignof(void*) == 0 && is_writable(object, address);
    return usable ? reinterpret_cast<void**>(address) : nullptr;
  }
  return nullptr;
}

struct Search {
  const Elf64_Dyn* dynamic;  // which object it is
  const char* name;
  void** slot;
};

int look_at_object(Object* object, std::size_t, void* context) noexcept {
  auto& search = *static_cast<Search*>(context);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const Elf64_Phdr& header = object->dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    const std::uintptr_t dynamic = object->dlpi_addr + header.p_vaddr;
    if (dynamic != reinterpret_cast<std::uintptr_t>(search.dynamic)) return 0;
    search.slot = slot_in(*object, search.dynamic, search.name);
    return 1;
  }
  return 0;
}

}  // namespace

void** linkage_slot(const struct link_map& map, const char* name) noexcept {
  Search search{map.l_ld, name, nullptr};
  if (search.dynamic != nullptr) dl_iterate_phdr(look_at_object, &search);
  return search.slot;
}

}  // namespace iotune::recorder
