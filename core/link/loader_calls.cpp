#include "core/link/loader_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "core/link/elf_symbols.h"
#include "core/link/loaded_objects.h"

namespace iotune {
namespace {

constexpr const char* kLibc = "libc.so.6";
constexpr const char* kLibdl = "libdl.so.2";

struct Search {
  const char* soname;
  const SymbolName& name;
  void* found;
};

// The loader's list may not have a head that is known yet, so that the object is described by its
// program headers alone.
int look_in(struct dl_phdr_info* object, std::size_t, void* context) noexcept {
  auto& search = *static_cast<Search*>(context);
  ::link_map described = {};
  described.l_addr = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    described.l_ld = reinterpret_cast<ElfW(Dyn)*>(object->dlpi_addr + header.p_vaddr);
  }
  if (described.l_ld == nullptr) return 0;
  const char* const soname = soname_of(described);
  if (soname == nullptr || std::strcmp(soname, search.soname) != 0) return 0;
  bool indirect = false;
  void* const found = symbol_in(described, search.name, indirect);
  if (found == nullptr || indirect) return 0;
  search.found = found;
  return 1;
}

void* defined_by(const char* soname, const SymbolName& name) noexcept {
  Search search{.soname = soname, .name = name, .found = nullptr};
  visit_objects(look_in, &search);
  return search.found;
}

// Before glibc 2.34, in a program without libdl: by what libc itself loads its modules with.
void load_libdl() noexcept {
  constexpr unsigned kForDlopen = 0x80000000;  // glibc's __RTLD_DLOPEN
  using OpenMode = void* (*)(const char*, int);
  const auto open = reinterpret_cast<OpenMode>(defined_by(kLibc, SymbolName("__libc_dlopen_mode")));
  if (open != nullptr) open(kLibdl, static_cast<int>(RTLD_NOW | kForDlopen));
}

void* find(const char* name) noexcept {
  const SymbolName wanted(name);
  if (void* const found = defined_by(kLibc, wanted)) return found;
  if (void* const found = defined_by(kLibdl, wanted)) return found;
  load_libdl();
  return defined_by(kLibdl, wanted);
}

template <typename Function>
Function known_or_found(std::atomic<void*>& known, const char* name) noexcept {
  void* function = known.load(std::memory_order_acquire);
  if (function == nullptr) {
    function = find(name);
    known.store(function, std::memory_order_release);
  }
  return reinterpret_cast<Function>(function);
}

constinit std::atomic<void*> g_dlsym{nullptr};
constinit std::atomic<void*> g_dlopen{nullptr};

}  // namespace

void* loader_symbol(void* handle, const char* name) noexcept {
  const auto function = known_or_found<decltype(&dlsym)>(g_dlsym, "dlsym");
  return function == nullptr ? nullptr : function(handle, name);
}

void* loader_open(const char* path, int flags) noexcept {
  const auto function = known_or_found<decltype(&dlopen)>(g_dlopen, "dlopen");
  return function == nullptr ? nullptr : function(path, flags);
}

}  // namespace iotune
