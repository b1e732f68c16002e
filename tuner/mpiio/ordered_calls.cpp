#include "tuner/mpiio/ordered_calls.h"

#include <atomic>
#include <cstring>

namespace iotune::tuner {
namespace {

// The hint, the value with which ranks may not exchange what they transfer (nullptr: any but the
// other), and the one with which they do.
struct Joining {
  const char* name;
  const char* apart;
  const char* joined;

  bool is_apart(const char* value) const noexcept {
    return apart != nullptr ? std::strcmp(value, apart) == 0 : std::strcmp(value, joined) != 0;
  }
};
constexpr Joining kJoining[] = {
    {"romio_cb_read", "disable", "enable"},
    {"romio_cb_write", "disable", "enable"},
    {"romio_lustre_coll_threshold", nullptr, "0"},
};

// Files whose ranks do not exchange, as we asked. A closed file's handle stays until another file
// has it.
constexpr int kMostFiles = 512;
constinit std::atomic<Word> g_files[kMostFiles];
constinit std::atomic<bool> g_used = false;

bool unjoins(const SettingList& hints) noexcept {
  for (const Joining& one : kJoining) {
    const char* const value = find_setting(hints, one.name);
    if (value != nullptr && one.is_apart(value)) return true;
  }
  return false;
}

// Puts `with` into one place that holds `old`. False where there is none.
bool replace(Word old, Word with) noexcept {
  for (std::atomic<Word>& place : g_files) {
    Word expected = old;
    if (place.compare_exchange_strong(expected, with)) return true;
  }
  return false;
}

// What takes the settings back: of those that keep the ranks apart.
bool fill_info(const MpiApi& mpi, Word now, Word wanted) noexcept {
  bool fills = false;
  for (const Joining& one : kJoining) {
    char value[16];
    if (!read_info(mpi, now, one.name, value, sizeof value)) continue;
    if (!one.is_apart(value)) continue;
    fills = mpi.MPI_Info_set(wanted, one.name, one.joined) == 0 || fills;
  }
  return fills;
}

}  // namespace

bool can_remember(const SettingList& hints) noexcept {
  if (!unjoins(hints)) return true;
  for (const std::atomic<Word>& place : g_files) {
    if (place.load(std::memory_order_relaxed) == 0) return true;
  }
  return false;
}

void remember_exchange(Word file, const SettingList* hints) noexcept {
  const bool remembers = hints != nullptr && unjoins(*hints);
  if (!remembers && !g_used.load(std::memory_order_relaxed)) return;
  replace(file, 0);
  if (!remembers) return;
  g_used.store(true, std::memory_order_relaxed);
  replace(0, file);
}

void before_ordered(Provider& provider, Word file) noexcept {
  if (!g_used.load(std::memory_order_relaxed) || !replace(file, 0)) return;
  const MpiApi* const mpi = mpi_api(provider);
  Word now = 0, wanted = 0;
  if (mpi == nullptr || mpi->MPI_File_get_info(file, &now) != 0) return;
  if (mpi->MPI_Info_create(&wanted) == 0) {
    // The same on all ranks, because ROMIO's hints are.
    if (fill_info(*mpi, now, wanted)) mpi->MPI_File_set_info(file, wanted);
    mpi->MPI_Info_free(&wanted);
  }
  mpi->MPI_Info_free(&now);
}

}  // namespace iotune::tuner
