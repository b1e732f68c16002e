#include <atomic>

#include "gather/mpi/gathered_file.h"

namespace iotune::gather {
namespace {

constexpr int kMostFiles = 64;
constinit std::atomic<Word> g_handles[kMostFiles] = {};
constinit GatheredFile* g_files[kMostFiles] = {};
constinit std::atomic<int> g_used{0};  // slots that ever had a file
constinit std::mutex g_changes;

}  // namespace

GatheredFile* find_file(Word handle) noexcept {
  if (handle == 0) return nullptr;  // as a free place has it
  const int used = g_used.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    if (g_handles[i].load(std::memory_order_acquire) == handle) return g_files[i];
  }
  return nullptr;
}

GatheredFile* find_file(const FileIdentity& identity) noexcept {
  if (identity == FileIdentity{}) return nullptr;
  const std::lock_guard lock(g_changes);
  for (GatheredFile* const file : g_files) {
    if (file != nullptr && file->identity() == identity) return file;
  }
  return nullptr;
}

bool add_file(GatheredFile* file) noexcept {
  const std::lock_guard lock(g_changes);
  for (int i = 0; i < kMostFiles; ++i) {
    if (g_handles[i].load(std::memory_order_relaxed) != 0) continue;
    g_files[i] = file;
    g_handles[i].store(file->handle(), std::memory_order_release);
    if (i >= g_used.load(std::memory_order_relaxed)) g_used.store(i + 1, std::memory_order_release);
    return true;
  }
  return false;
}

void remove_file(GatheredFile* file) noexcept {
  const std::lock_guard lock(g_changes);
  for (int i = 0; i < kMostFiles; ++i) {
    if (g_files[i] != file) continue;
    g_handles[i].store(0, std::memory_order_release);
    g_files[i] = nullptr;
  }
}

void each_file(void (*visit)(GatheredFile& file)) noexcept {
  for (int i = 0; i < g_used.load(std::memory_order_acquire); ++i) {
    if (g_handles[i].load(std::memory_order_acquire) != 0) visit(*g_files[i]);
  }
}

}  // namespace iotune::gather
