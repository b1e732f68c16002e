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

struct LinkageTable {
  const Elf64_Rela* entries = nullptr;
  std::size_t count = 0;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
};

// The loader replaces most of these addresses by absolute ones, where it may write to them.
template <typename T>
const T* table_at(const struct link_map& map, Elf64_Addr address) noexcept {
  const Elf64_Addr absolute = address < map.l_addr ? address + map.l_addr : address;
  return reinterpret_cast<const T*>(absolute);
}

LinkageTable linkage_table(const struct link_map& map) noexcept {
  LinkageTable table;
  bool with_addends = false;
  for (const Elf64_Dyn* at = map.l_ld; at != nullptr && at->d_tag != DT_NULL; ++at) {
    switch (at->d_tag) {
      case DT_JMPREL:
        table.entries = table_at<Elf64_Rela>(map, at->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        table.count = at->d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_PLTREL:
        with_addends = at->d_un.d_val == DT_RELA;
        break;
      case DT_SYMTAB:
        table.symbols = table_at<Elf64_Sym>(map, at->d_un.d_ptr);
        break;
      case DT_STRTAB:
        table.names = table_at<char>(map, at->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  const bool whole = table.entries != nullptr && table.symbols != nullptr && table.names != nullptr;
  return whole && with_addends ? table : LinkageTable{};
}

struct Place {
  const struct link_map* map;
  std::uintptr_t address;
  bool writable;
};

bool holds(const struct dl_phdr_info& object, const Elf64_Phdr& header,
           std::uintptr_t address) noexcept {
  const std::uintptr_t start = object.dlpi_addr + header.p_vaddr;
  return address >= start && address < start + header.p_memsz;
}

int look_at_object(struct dl_phdr_info* object, std::size_t, void* context) noexcept {
  auto& place = *static_cast<Place*>(context);
  bool is_it = false, writable = false, made_read_only = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const Elf64_Phdr& header = object->dlpi_phdr[i];
    const auto dynamic = reinterpret_cast<std::uintptr_t>(place.map->l_ld);
    if (header.p_type == PT_DYNAMIC) is_it = object->dlpi_addr + header.p_vaddr == dynamic;
    const bool here = holds(*object, header, place.address);
    if (header.p_type == PT_LOAD && here) writable = (header.p_flags & PF_W) != 0;
    if (header.p_type == PT_GNU_RELRO && here) made_read_only = true;
  }
  if (!is_it) return 0;
  place.writable = writable && !made_read_only;
  return 1;
}

bool is_writable(const struct link_map& map, std::uintptr_t address) noexcept {
  Place place{&map, address, false};
  dl_iterate_phdr(look_at_object, &place);
  return place.writable;
}

}  // namespace

void** linkage_slot(const struct link_map& map, const char* name) noexcept {
  const LinkageTable table = linkage_table(map);
  for (std::size_t i = 0; i < table.count; ++i) {
    const Elf64_Rela& entry = table.entries[i];
    if (ELF64_R_TYPE(entry.r_info) != kJumpSlot) continue;
    const Elf64_Sym& symbol = table.symbols[ELF64_R_SYM(entry.r_info)];
    if (std::strcmp(table.names + symbol.st_name, name) != 0) continue;
    const std::uintptr_t address = map.l_addr + entry.r_offset;
    const bool usable = address % alignof(void*) == 0 && is_writable(map, address);
    return usable ? reinterpret_cast<void**>(address) : nullptr;
  }
  return nullptr;
}

}  // namespace iotune::recorder
