#include "prefetch/budget/budget_table.h"

#include <fcntl.h>

#include <cstring>

#include "core/files/process_files.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/process_namespace.h"
#include "prefetch/budget/shared_table.h"

namespace iotune::prefetch {
namespace {

// In the file's name: another layout is another file.
constexpr int kLayout = 2;

bool is_alive(std::uint64_t owner) noexcept {
  const ProcessStat now = process_stat(owner >> 32);
  return static_cast<std::uint32_t>(now.start) == static_cast<std::uint32_t>(owner) &&
         now.state != 'Z' && now.state != 'X';
}

// For another storage: a device's number is mounted once, and never seen again.
bool has_no_room(const void* memory) noexcept {
  for (const SharedStorage& storage : static_cast<const BudgetTable*>(memory)->storages) {
    if (storage.device.load(std::memory_order_relaxed) == 0) return false;
  }
  return true;
}

bool take(ProcessUse& entry, std::uint64_t before, std::uint64_t owner) noexcept {
  if (!entry.owner.compare_exchange_strong(before, owner, std::memory_order_seq_cst)) return false;
  for (StorageUse& use : entry.storages) {
    use.device.store(0, std::memory_order_relaxed);
    use.requests.store(0, std::memory_order_relaxed);
    use.transfers.store(0, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace

BudgetTable* map_budget_table(const char* private_folder) noexcept {
  const std::uint64_t space = process_namespace();
  if (space == 0 || private_folder == nullptr) return nullptr;
  ShortText<512> path;
  path << private_folder << "/prefetch-budget-" << kLayout << '-' << space;
  if (path.cut()) return nullptr;
  return static_cast<BudgetTable*>(
      map_shared_table(path.c_str(), sizeof(BudgetTable), TableStorage::kLocal, has_no_room)
          .memory);
}

ProcessUse* take_budget_entry(BudgetTable& table) noexcept {
  const auto thread = static_cast<std::uint64_t>(raw::call(SYS_gettid));
  const std::uint32_t start = static_cast<std::uint32_t>(process_stat(thread).start);
  if (start == 0) return nullptr;  // no /proc: nobody could tell when we are gone
  const std::uint64_t owner = thread << 32 | start;
  for (unsigned i = 0; i < kBudgetProcesses; ++i) {
    ProcessUse& entry = table.processes[i];
    const std::uint64_t before = entry.owner.load(std::memory_order_acquire);
    if (before != 0 && is_alive(before)) continue;
    if (!take(entry, before, owner)) continue;
    std::uint32_t used = table.entries_used.load(std::memory_order_relaxed);
    while (used <= i && !table.entries_used.compare_exchange_weak(used, i + 1)) {
    }
    return &entry;
  }
  return nullptr;
}

void free_dead_entries(BudgetTable& table) noexcept {
  for (ProcessUse& entry : table.processes) {
    std::uint64_t owner = entry.owner.load(std::memory_order_acquire);
    if (owner != 0 && !is_alive(owner)) entry.owner.compare_exchange_strong(owner, 0);
  }
}

}  // namespace iotune::prefetch
