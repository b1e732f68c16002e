#include "core/link/loaded_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "core/link/loader_calls.h"
#include "core/os/private_memory.h"
#include "core/os/sleep_lock.h"
#include "core/process/thread_state.h"

namespace iotune {
namespace {

// The list's head, by the word that the loader keeps for debuggers in the program itself.
const LoadedObject* find_first_object() noexcept {
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const std::size_t count = getauxval(AT_PHNUM);
  if (headers == nullptr) return nullptr;
  std::uintptr_t base = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) {
      base = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_DYNAMIC) continue;
    dynamic = reinterpret_cast<const ElfW(Dyn)*>(base + headers[i].p_vaddr);
  }
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag != DT_DEBUG) continue;
    const auto* const debug = reinterpret_cast<const struct r_debug*>(dynamic->d_un.d_ptr);
    return debug == nullptr ? nullptr : debug->r_map;
  }
  return nullptr;
}

const LoadedObject* first_object() noexcept {
  static constinit std::atomic<const LoadedObject*> known{nullptr};
  const LoadedObject* first = known.load(std::memory_order_acquire);
  if (first != nullptr) return first;
  first = find_first_object();
  if (first == nullptr) {  // a program that no debugger may look into
    first = static_cast<const LoadedObject*>(loader_open(nullptr, RTLD_LAZY));
  }
  known.store(first, std::memory_order_release);
  return first;
}

constinit std::atomic<const LoadedObject*> g_last_at_start{nullptr};

const LoadedObject* last_at_start() noexcept {
  const LoadedObject* last = g_last_at_start.load(std::memory_order_acquire);
  if (last != nullptr) return last;
  for (const LoadedObject* at = first_object(); at != nullptr; at = at->l_next) last = at;
  g_last_at_start.store(last, std::memory_order_release);
  return last;
}

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

FindObject find_object_function() noexcept {
  static constinit std::atomic<void*> known{nullptr};
  static constinit std::atomic<bool> looked{false};
  if (!looked.load(std::memory_order_acquire)) {
    known.store(next_at_start(SymbolName("_dl_find_object")), std::memory_order_release);
    looked.store(true, std::memory_order_release);
  }
  return reinterpret_cast<FindObject>(known.load(std::memory_order_acquire));
}

// Fallback for older glibc: walks the loaded objects.
struct Search {
  std::uintptr_t address;
  const LoadedObject* found;
};

const LoadedObject* object_with(const ElfW(Dyn) * dynamic) noexcept {
  const LoadedObject* at = first_object();
  while (at != nullptr && at->l_ld != dynamic) at = at->l_next;
  return at;
}

int match_segment(struct dl_phdr_info* object, std::size_t, void* context) noexcept {
  auto& search = *static_cast<Search*>(context);
  bool here = false;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      here = here || (search.address >= start && search.address < start + header.p_memsz);
    } else if (header.p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(start);
    }
  }
  if (here && dynamic != nullptr) search.found = object_with(dynamic);
  return here ? 1 : 0;
}

// Threads that hold the loader's list, and whether a fork waits for them.
constinit std::atomic<std::uint32_t> g_inside{0};
constinit std::atomic<std::uint32_t> g_forking{0};

}  // namespace

int visit_objects(int (*visit)(struct dl_phdr_info*, std::size_t, void*), void* context) noexcept {
  for (;;) {
    g_inside.fetch_add(1, std::memory_order_seq_cst);
    if (g_forking.load(std::memory_order_seq_cst) == 0) break;
    g_inside.fetch_sub(1, std::memory_order_seq_cst);
    sleep_while(g_forking, 1, &kNap);
  }
  const int result = dl_iterate_phdr(visit, context);
  g_inside.fetch_sub(1, std::memory_order_seq_cst);
  return result;
}

namespace {

struct StillWork {
  void (*work)(const LoadCounts&, void*);
  void* context;
};

// The loader changes its list only under the lock that it holds here; it calls no constructor or
// destructor under it.
int do_work(struct dl_phdr_info* object, std::size_t, void* context) noexcept {
  auto& still = *static_cast<StillWork*>(context);
  still.work({object->dlpi_adds, object->dlpi_subs}, still.context);
  return 1;
}

struct WritableSearch {
  const ElfW(Dyn) * dynamic;  // which object it is
  std::uintptr_t address;
  bool writable, is_protected;  // by its segment; by the loader, later on
};

int look_at_segments(struct dl_phdr_info* object, std::size_t, void* context) noexcept {
  auto& search = *static_cast<WritableSearch*>(context);
  bool wanted = false, writable = false, is_protected = false;
  const std::uintptr_t page_mask = ~(getauxval(AT_PAGESZ) - 1);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) {
      wanted = start == reinterpret_cast<std::uintptr_t>(search.dynamic);
    }
    // The loader protects whole pages: what shares the last one may be written to.
    if (header.p_type == PT_GNU_RELRO) {
      is_protected = search.address >= (start & page_mask) &&
                     search.address < ((start + header.p_memsz) & page_mask);
    }
    if (search.address < start || search.address >= start + header.p_memsz) continue;
    if (header.p_type == PT_LOAD) writable = (header.p_flags & PF_W) != 0;
  }
  if (!wanted) return 0;
  search.writable = writable;
  search.is_protected = is_protected;
  return 1;
}

WritableSearch segments_at(const LoadedObject& object, const void* address) noexcept {
  WritableSearch search{object.l_ld, reinterpret_cast<std::uintptr_t>(address), false, false};
  visit_objects(look_at_segments, &search);
  return search;
}

bool is_named(const LoadedObject& object, const char* needed) noexcept {
  const char* const path = object.l_name;
  if (path == nullptr || *path == '\0') return false;
  const char* const slash = std::strrchr(path, '/');
  if (std::strcmp(slash == nullptr ? path : slash + 1, needed) == 0) return true;
  if (std::strcmp(path, needed) == 0) return true;
  const char* const soname = soname_of(object);
  return soname != nullptr && std::strcmp(soname, needed) == 0;
}

const LoadedObject* object_named(const char* needed) noexcept {
  const LoadedObject* at = first_object();
  while (at != nullptr && !is_named(*at, needed)) at = at->l_next;
  return at;
}

void* first_behind(const SymbolName& name, const LoadedObject* last) noexcept {
  const LoadedObject* at = own_object();
  while (at != nullptr && at != last) {
    at = at->l_next;
    bool indirect = false;
    void* const found = at == nullptr ? nullptr : symbol_in(*at, name, indirect);
    if (found != nullptr) return indirect ? loader_symbol(RTLD_NEXT, name.text) : found;
  }
  return nullptr;
}

}  // namespace

[[gnu::hot]] const LoadedObject* object_at(const void* address) noexcept {
  if (const FindObject find = find_object_function()) {
    FoundObject found{};
    if (find(const_cast<void*>(address), &found) == 0) return found.link_map;
    return nullptr;
  }
  Search search{reinterpret_cast<std::uintptr_t>(address), nullptr};
  visit_objects(match_segment, &search);
  return search.found;
}

const LoadedObject* own_object() noexcept {
  static constinit std::atomic<const LoadedObject*> known{nullptr};
  const LoadedObject* own = known.load(std::memory_order_acquire);
  if (own == nullptr) {
    own = object_with(_DYNAMIC);  // of this library: the linker gives each its own
    known.store(own, std::memory_order_release);
  }
  return own;
}

bool is_program(const LoadedObject& object) noexcept {
  return object.l_name == nullptr || object.l_name[0] == '\0';
}

void note_objects_at_start() noexcept {
  last_at_start();
}

void* next_at_start(const SymbolName& name) noexcept {
  return first_behind(name, last_at_start());
}

void with_objects_still(void (*work)(const LoadCounts& counts, void* context),
                        void* context) noexcept {
  StillWork still{work, context};
  visit_objects(do_work, &still);
}

bool is_writable_in(const LoadedObject& object, const void* address) noexcept {
  const WritableSearch found = segments_at(object, address);
  return found.writable && !found.is_protected;
}

bool store_in(const LoadedObject& object, void** slot, void* value) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(slot);
  const WritableSearch found = segments_at(object, slot);
  if (!found.writable || address % sizeof(void*) != 0) return false;
  // A word lies in one page.
  const std::uintptr_t page_bytes = getauxval(AT_PAGESZ);
  auto* const page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
  if (found.is_protected && !protect_pages(page, page_bytes, false)) return false;
  std::atomic_ref<void*>(*slot).store(value, std::memory_order_release);
  if (found.is_protected) protect_pages(page, page_bytes, true);
  return true;
}

// Bounded: what the threads wait for may in the end be the thread that forks, in a callback of its
// own.
void leave_objects_for_fork() noexcept {
  g_forking.store(1, std::memory_order_seq_cst);
  constexpr std::uint64_t kLongestWaitNs = 1'000'000'000;
  const std::uint64_t end =
      t_thread.ours != 0 || has_dropped_privileges() ? 0 : monotonic_ns() + kLongestWaitNs;
  constexpr timespec kMoment = {0, 20'000};
  for (;;) {
    const std::uint32_t inside = g_inside.load(std::memory_order_seq_cst);
    if (inside == 0 || end == 0 || monotonic_ns() >= end) return;
    sleep_while(g_inside, inside, &kMoment);
  }
}

void forget_other_threads() noexcept {
  g_inside.store(0, std::memory_order_relaxed);
  g_forking.store(0, std::memory_order_relaxed);
}

void go_on_after_fork() noexcept {
  g_forking.store(0, std::memory_order_seq_cst);
  wake_all(g_forking);
}

bool is_loaded(const LoadedObject* object) noexcept {
  const LoadedObject* at = first_object();
  while (at != nullptr && at != object) at = at->l_next;
  return at != nullptr;
}

bool is_from_start(const LoadedObject* object) noexcept {
  const LoadedObject* const last = last_at_start();
  for (const LoadedObject* at = first_object(); at != nullptr; at = at->l_next) {
    if (at == object) return true;
    if (at == last) return false;
  }
  return false;
}

bool is_not_behind_us(const void* function) noexcept {
  const LoadedObject* const object = object_at(function);
  for (const LoadedObject* at = own_object(); at != nullptr; at = at->l_prev) {
    if (at == object) return true;
  }
  return false;
}

void* symbol_of(const LoadedObject& object, const SymbolName& name) noexcept {
  // In the order in which they are needed, each once. What does not fit is not searched.
  constexpr std::size_t kMost = 256;
  const LoadedObject* objects[kMost];
  std::size_t count = 0;
  objects[count++] = &object;
  for (std::size_t i = 0; i < count; ++i) {
    bool indirect = false;
    void* const found = symbol_in(*objects[i], name, indirect);
    if (found != nullptr && !indirect) return found;
    NeededNames needed(*objects[i]);
    while (const char* const other = needed.next()) {
      const LoadedObject* const next = object_named(other);
      bool known = next == nullptr || count == kMost;
      for (std::size_t k = 0; k < count && !known; ++k) known = objects[k] == next;
      if (!known) objects[count++] = next;
    }
  }
  return nullptr;
}

void* symbol_of_any(const SymbolName& name) noexcept {
  return first_behind(name, nullptr);
}

const LoadedObject* object_behind(const LoadedObject* object) noexcept {
  const LoadedObject* const next = object == nullptr ? first_object() : object->l_next;
  return next != nullptr && next == own_object() ? next->l_next : next;
}

void* symbol_of_program(const SymbolName& name) noexcept {
  const LoadedObject* const program = first_object();
  bool indirect = false;
  return program == nullptr ? nullptr : symbol_in(*program, name, indirect);
}

}  // namespace iotune
