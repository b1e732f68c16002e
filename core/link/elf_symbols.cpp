#include "core/link/elf_symbols.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace iotune {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT, kGlobalData = R_X86_64_GLOB_DAT,
                        kAddress = R_X86_64_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobalData = R_AARCH64_GLOB_DAT,
                        kAddress = R_AARCH64_ABS64;
#else
#error "which relocations of this processor store a symbol's address?"
#endif

// The loader replaces most of the dynamic section's addresses by absolute ones, where it may write
// to it. An offset is always below the place where the object was loaded.
template <typename T>
const T* table_at(const struct link_map& object, Elf64_Addr address) noexcept {
  return reinterpret_cast<const T*>(address < object.l_addr ? address + object.l_addr : address);
}

struct Relocations {
  const Elf64_Rela* entries = nullptr;
  std::size_t count = 0;
  std::size_t without_symbol = 0;  // that many at the begin
};

struct Tables {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Half* versions = nullptr;
  const Elf64_Verdef* defined_versions = nullptr;
  const Elf64_Verneed* needed_versions = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* elf_hash = nullptr;
  Relocations calls, others;
};

Tables tables_of(const struct link_map& object) noexcept {
  Tables found;
  for (const Elf64_Dyn* at = object.l_ld; at != nullptr && at->d_tag != DT_NULL; ++at) {
    switch (at->d_tag) {
      case DT_SYMTAB:
        found.symbols = table_at<Elf64_Sym>(object, at->d_un.d_ptr);
        break;
      case DT_STRTAB:
        found.names = table_at<char>(object, at->d_un.d_ptr);
        break;
      case DT_VERSYM:
        found.versions = table_at<Elf64_Half>(object, at->d_un.d_ptr);
        break;
      case DT_VERDEF:
        found.defined_versions = table_at<Elf64_Verdef>(object, at->d_un.d_ptr);
        break;
      case DT_VERNEED:
        found.needed_versions = table_at<Elf64_Verneed>(object, at->d_un.d_ptr);
        break;
      case DT_JMPREL:
        found.calls.entries = table_at<Elf64_Rela>(object, at->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        found.calls.count = at->d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_RELA:
        found.others.entries = table_at<Elf64_Rela>(object, at->d_un.d_ptr);
        break;
      case DT_RELASZ:
        found.others.count = at->d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_RELACOUNT:
        found.others.without_symbol = at->d_un.d_val;
        break;
      case DT_GNU_HASH:
        found.gnu_hash = table_at<std::uint32_t>(object, at->d_un.d_ptr);
        break;
      case DT_HASH:
        found.elf_hash = table_at<std::uint32_t>(object, at->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  return found;
}

constexpr Elf64_Half kHidden = 0x8000;  // an old version of the symbol

template <typename T, typename From>
const T* behind(const From* from, std::uint32_t bytes) noexcept {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(from) + bytes);
}

// nullptr: the symbol has none.
const char* version_defined(const Tables& tables, Elf64_Half index) noexcept {
  for (const Elf64_Verdef* at = tables.defined_versions; at != nullptr;
       at = behind<Elf64_Verdef>(at, at->vd_next)) {
    if (at->vd_ndx == index) {
      if ((at->vd_flags & VER_FLG_BASE) != 0) return nullptr;
      return tables.names + behind<Elf64_Verdaux>(at, at->vd_aux)->vda_name;
    }
    if (at->vd_next == 0) break;
  }
  return nullptr;
}

const char* version_needed(const Tables& tables, Elf64_Half index) noexcept {
  for (const Elf64_Verneed* at = tables.needed_versions; at != nullptr;
       at = behind<Elf64_Verneed>(at, at->vn_next)) {
    const auto* one = behind<Elf64_Vernaux>(at, at->vn_aux);
    for (unsigned i = 0; i < at->vn_cnt; ++i) {
      if ((one->vna_other & ~kHidden) == index) return tables.names + one->vna_name;
      one = behind<Elf64_Vernaux>(one, one->vna_next);
    }
    if (at->vn_next == 0) break;
  }
  return nullptr;
}

bool has_version(const Tables& tables, std::uint32_t index, const char* wanted) noexcept {
  if (tables.versions == nullptr) return true;
  const Elf64_Half entry = tables.versions[index];
  const bool hidden = (entry & kHidden) != 0;
  if (wanted == nullptr) return !hidden;
  const char* const has = version_defined(tables, entry & static_cast<Elf64_Half>(~kHidden));
  return has == nullptr ? !hidden : std::strcmp(has, wanted) == 0;
}

bool is_wanted(const Tables& tables, std::uint32_t index, const SymbolName& name) noexcept {
  const Elf64_Sym& symbol = tables.symbols[index];
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC) {
    return false;
  }
  if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) return false;
  return std::strcmp(tables.names + symbol.st_name, name.text) == 0 &&
         has_version(tables, index, name.version);
}

std::uint32_t find_by_gnu_hash(const Tables& tables, const SymbolName& name) noexcept {
  const std::uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1];
  const std::uint32_t filter_words = tables.gnu_hash[2], shift = tables.gnu_hash[3];
  if (buckets == 0 || filter_words == 0) return 0;
  const auto* const filter = reinterpret_cast<const std::uint64_t*>(tables.gnu_hash + 4);
  const std::uint32_t hash = name.gnu_hash;
  const std::uint64_t word = filter[hash / 64 % filter_words];
  if ((word >> hash % 64 & word >> (hash >> shift) % 64 & 1) == 0) return 0;
  const auto* const bucket = reinterpret_cast<const std::uint32_t*>(filter + filter_words);
  const std::uint32_t* const chain = bucket + buckets;
  std::uint32_t index = bucket[hash % buckets];
  if (index < first) return 0;
  for (;; ++index) {
    const std::uint32_t entry = chain[index - first];
    if ((entry | 1) == (hash | 1) && is_wanted(tables, index, name)) return index;
    if ((entry & 1) != 0) return 0;
  }
}

std::uint32_t find_by_elf_hash(const Tables& tables, const SymbolName& name) noexcept {
  const std::uint32_t buckets = tables.elf_hash[0];
  if (buckets == 0) return 0;
  const std::uint32_t* const bucket = tables.elf_hash + 2;
  const std::uint32_t* const chain = bucket + buckets;
  for (std::uint32_t i = bucket[name.elf_hash % buckets]; i != STN_UNDEF; i = chain[i]) {
    if (is_wanted(tables, i, name)) return i;
  }
  return 0;
}

}  // namespace

SymbolName::SymbolName(const char* name, const char* wanted) noexcept
    : text(name), version(wanted), gnu_hash(5381), elf_hash(0) {
  for (; *name != '\0'; ++name) {
    const auto byte = static_cast<unsigned char>(*name);
    gnu_hash = gnu_hash * 33 + byte;
    elf_hash = (elf_hash << 4) + byte;
    elf_hash ^= (elf_hash & 0xf0000000u) >> 24;
    elf_hash &= 0x0fffffffu;
  }
}

void* symbol_in(const struct link_map& object, const SymbolName& name, bool& indirect) noexcept {
  const Tables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.names == nullptr) return nullptr;
  std::uint32_t index = 0;
  if (tables.gnu_hash != nullptr) {
    index = find_by_gnu_hash(tables, name);
  } else if (tables.elf_hash != nullptr) {
    index = find_by_elf_hash(tables, name);
  }
  if (index == 0) return nullptr;
  const Elf64_Sym& symbol = tables.symbols[index];
  indirect = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
  const std::uintptr_t base = symbol.st_shndx == SHN_ABS ? 0 : object.l_addr;
  return reinterpret_cast<void*>(base + symbol.st_value);
}

SymbolUse use_of(const struct link_map& object, const char* name) noexcept {
  const Tables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.names == nullptr) return {false, nullptr};
  for (const Relocations& table : {tables.calls, tables.others}) {
    for (std::size_t i = 0; table.entries != nullptr && i < table.count; ++i) {
      const auto index = static_cast<std::uint32_t>(ELF64_R_SYM(table.entries[i].r_info));
      if (index == 0) continue;
      if (std::strcmp(tables.names + tables.symbols[index].st_name, name) != 0) continue;
      if (tables.versions == nullptr) return {true, nullptr};
      const auto version = static_cast<Elf64_Half>(tables.versions[index] & ~kHidden);
      const bool own = tables.symbols[index].st_shndx != SHN_UNDEF;
      return {true, own ? version_defined(tables, version) : version_needed(tables, version)};
    }
  }
  return {false, nullptr};
}

void** call_slot_of(const struct link_map& object, const char* name) noexcept {
  const Tables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.names == nullptr) return nullptr;
  for (std::size_t i = 0; tables.calls.entries != nullptr && i < tables.calls.count; ++i) {
    const Elf64_Rela& entry = tables.calls.entries[i];
    if (ELF64_R_TYPE(entry.r_info) != kJumpSlot) continue;
    const Elf64_Sym& symbol = tables.symbols[ELF64_R_SYM(entry.r_info)];
    if (std::strcmp(tables.names + symbol.st_name, name) != 0) continue;
    return reinterpret_cast<void**>(object.l_addr + entry.r_offset);
  }
  return nullptr;
}

void visit_weak_slots(const struct link_map& object,
                      void (*visit)(void** slot, const char* name, void* context),
                      void* context) noexcept {
  const Tables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.names == nullptr) return;
  for (const Relocations& table : {tables.calls, tables.others}) {
    if (table.entries == nullptr) continue;
    for (std::size_t i = table.without_symbol; i < table.count; ++i) {
      const Elf64_Rela& entry = table.entries[i];
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
      if (type != kJumpSlot && type != kGlobalData && type != kAddress) continue;
      const Elf64_Sym& symbol = tables.symbols[ELF64_R_SYM(entry.r_info)];
      if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_WEAK) continue;
      visit(reinterpret_cast<void**>(object.l_addr + entry.r_offset), tables.names + symbol.st_name,
            context);
    }
  }
}

const char* soname_of(const struct link_map& object) noexcept {
  const Tables tables = tables_of(object);
  if (tables.names == nullptr) return nullptr;
  for (const Elf64_Dyn* at = object.l_ld; at->d_tag != DT_NULL; ++at) {
    if (at->d_tag == DT_SONAME) return tables.names + at->d_un.d_val;
  }
  return nullptr;
}

NeededNames::NeededNames(const struct link_map& object) noexcept
    : at_(object.l_ld), names_(tables_of(object).names) {}

const char* NeededNames::next() noexcept {
  if (names_ == nullptr) return nullptr;
  for (const auto* at = static_cast<const Elf64_Dyn*>(at_); at->d_tag != DT_NULL; ++at) {
    if (at->d_tag != DT_NEEDED) continue;
    at_ = at + 1;
    return names_ + at->d_un.d_val;
  }
  names_ = nullptr;
  return nullptr;
}

}  // namespace iotune
