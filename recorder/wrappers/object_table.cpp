#include "recorder/wrappers/object_table.h"

#include <atomic>
#include <cstddef>

#include "core/os/mapped_file.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/process_events.h"

namespace iotune::recorder {
namespace {

struct Slot {
  std::int64_t id;
  std::int64_t number;  // 0 free
  std::uint64_t provider;
};

constinit Slot* g_slots = nullptr;
constinit std::size_t g_capacity = 0;
// Read without the lock, too, by a thread that looks for what it put in itself.
constinit std::atomic<std::size_t> g_used{0};
constinit std::int64_t g_next_object = 1, g_next_file = 1;
constinit ProcessLock g_lock;
// Changes of the table so far, each counted while the lock is held.
constinit std::atomic<std::uint64_t> g_changes{1};

// What this thread looked up last: right while the table has not changed. A program mostly asks for
// the same object again.
struct Found {
  std::uint64_t changes;  // 0: nothing was looked up
  std::int64_t id, number;
  std::uint16_t provider;
};
__thread Found t_found __attribute__((tls_model("initial-exec")));
constinit AfterUnload g_after_unload(forget_objects_of);

std::size_t start_of(std::uint16_t provider, std::int64_t id, std::size_t capacity) noexcept {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(id) ^ (std::uint64_t{provider} << 48)) * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(mixed >> 32) & (capacity - 1);
}

Slot* find_slot(std::uint16_t provider, std::int64_t id) noexcept {
  if (g_capacity == 0) return nullptr;
  for (std::size_t at = start_of(provider, id, g_capacity);; at = (at + 1) & (g_capacity - 1)) {
    Slot& slot = g_slots[at];
    if (slot.number == 0) return nullptr;
    if (slot.id == id && slot.provider == provider) return &slot;
  }
}

void insert(Slot* slots, std::size_t capacity, const Slot& entry) noexcept {
  std::size_t at = start_of(static_cast<std::uint16_t>(entry.provider), entry.id, capacity);
  while (slots[at].number != 0) at = (at + 1) & (capacity - 1);
  slots[at] = entry;
}

bool grow() noexcept {
  const std::size_t capacity = g_capacity == 0 ? 256 : g_capacity * 2;
  auto* const slots = static_cast<Slot*>(private_memory(capacity * sizeof(Slot)));
  if (slots == nullptr) return false;
  for (std::size_t i = 0; i < g_capacity; ++i) {
    if (g_slots[i].number != 0) insert(slots, capacity, g_slots[i]);
  }
  if (g_slots != nullptr) unmap(g_slots, g_capacity * sizeof(Slot));
  g_slots = slots;
  g_capacity = capacity;
  return true;
}

// Leaves no mark: those behind it move up as far as they may, so that a search never passes what
// was there once.
void remove(Slot* slot) noexcept {
  g_changes.fetch_add(1, std::memory_order_release);
  const std::size_t mask = g_capacity - 1;
  auto hole = static_cast<std::size_t>(slot - g_slots);
  for (std::size_t at = (hole + 1) & mask; g_slots[at].number != 0; at = (at + 1) & mask) {
    const Slot& next = g_slots[at];
    const std::size_t start =
        start_of(static_cast<std::uint16_t>(next.provider), next.id, g_capacity);
    if (((at - start) & mask) < ((at - hole) & mask)) continue;
    g_slots[hole] = next;
    hole = at;
  }
  g_slots[hole].number = 0;
}

}  // namespace

[[gnu::hot]] std::int64_t find_object(std::uint16_t provider, std::int64_t id) noexcept {
  if (g_used.load(std::memory_order_relaxed) == 0) return 0;
  Found& last = t_found;
  if (last.id == id && last.provider == provider &&
      last.changes == g_changes.load(std::memory_order_acquire)) {
    return last.number;
  }
  const JumpSafeGuard guard(g_lock);
  const Slot* const slot = find_slot(provider, id);
  last = {g_changes.load(std::memory_order_relaxed), id, slot == nullptr ? 0 : slot->number,
          provider};
  return last.number;
}

std::int64_t add_object(std::uint16_t provider, std::int64_t id) noexcept {
  g_after_unload.enlist();
  const JumpSafeGuard guard(g_lock);
  const std::size_t used = g_used.load(std::memory_order_relaxed) + 1;
  if (used * 2 > g_capacity && !grow()) return 0;
  const Slot entry{id, g_next_object++, provider};
  g_changes.fetch_add(1, std::memory_order_release);
  insert(g_slots, g_capacity, entry);
  g_used.store(used, std::memory_order_relaxed);
  return entry.number;
}

[[gnu::hot]] void forget_object(std::uint16_t provider, std::int64_t id) noexcept {
  if (g_used.load(std::memory_order_relaxed) == 0) return;
  const JumpSafeGuard guard(g_lock);
  Slot* const slot = find_slot(provider, id);
  if (slot == nullptr) return;
  remove(slot);
  g_used.store(g_used.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void forget_objects_of(std::uint16_t provider) noexcept {
  if (g_used.load(std::memory_order_relaxed) == 0) return;
  const JumpSafeGuard guard(g_lock);
  std::size_t gone = 0;
  for (std::size_t i = 0; i < g_capacity;) {
    // What moves up into the hole is looked at next.
    if (g_slots[i].number == 0 || g_slots[i].provider != provider) {
      ++i;
    } else {
      remove(&g_slots[i]);
      ++gone;
    }
  }
  g_used.store(g_used.load(std::memory_order_relaxed) - gone, std::memory_order_relaxed);
}

bool knows_no_objects() noexcept {
  return g_used.load(std::memory_order_relaxed) == 0;
}

std::int64_t next_file_number() noexcept {
  return __atomic_fetch_add(&g_next_file, 1, __ATOMIC_RELAXED);
}

}  // namespace iotune::recorder
