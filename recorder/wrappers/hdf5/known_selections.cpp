#include "recorder/wrappers/hdf5/known_selections.h"

#include <atomic>
#include <cstring>

#include "core/process/one_thread.h"
#include "core/process/process_events.h"
#include "recorder/wrappers/hdf5/selection_kinds.h"

namespace iotune::recorder {
namespace {

constexpr unsigned kMostDimensions = 8;

struct Known {
  const Provider* provider;
  Hid space;
  std::uint64_t epoch;  // g_epoch when it was kept
  std::uint8_t n;
  bool is_valid;  // false: dimensions alone are known
  bool is_whole;
  bool may_be_set;  // no offset of H5Soffset_simple moves what is set
  std::uint32_t uses;
  std::uint64_t points;
  std::uint64_t words[4 * kMostDimensions];  // start, stride, count, block; or dimensions
  std::atomic<bool> is_busy;
};

constexpr std::size_t kEntries = 64;
constinit Known g_known[kEntries] = {};
// Entries of an earlier epoch are void. 0: nothing is believed any more.
constinit std::atomic<std::uint64_t> g_epoch{1};

constinit AfterUnload g_after_unload([](std::uint16_t) noexcept { forget_selections(); });

// The entry of a dataspace, held; without one where it has none, or where another thread (or what a
// signal handler left) holds it.
class Held {
 public:
  Held(const Provider* provider, Hid space) noexcept
      : entry_(g_known[static_cast<std::uint64_t>(space) % kEntries]) {
    is_held_ = !set_flag(entry_.is_busy);
    is_of_space_ = is_held_ && entry_.space == space && entry_.provider == provider &&
                   entry_.epoch == g_epoch.load(std::memory_order_relaxed);
  }
  ~Held() {
    if (is_held_) entry_.is_busy.store(false, std::memory_order_release);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  bool is_held() const noexcept { return is_held_; }
  bool is_of_space() const noexcept { return is_of_space_; }
  Known* operator->() const noexcept { return &entry_; }

 private:
  Known& entry_;
  bool is_held_, is_of_space_;
};

// Whether a selection of this shape that was believed, and asked for as a check, is another.
bool differs(const Held& held, bool is_whole, unsigned n, const std::uint64_t* words) noexcept {
  return held.is_of_space() && held->is_valid &&
         (held->is_whole != is_whole || held->n != n ||
          std::memcmp(held->words, words, std::size_t{8} * (is_whole ? n : 4 * n)) != 0);
}

void keep(const Provider& provider, Hid space, unsigned n, const std::uint64_t* words,
          bool is_whole, bool may_be_set) noexcept {
  const std::uint64_t epoch = g_epoch.load(std::memory_order_relaxed);
  if (epoch == 0 || n == 0 || n > kMostDimensions) return;
  const Held held(&provider, space);
  if (!held.is_held()) return;
  if (differs(held, is_whole, n, words)) {
    g_epoch.store(0, std::memory_order_relaxed);
    return;
  }
  g_after_unload.enlist();
  if (!held.is_of_space()) held->uses = 0;
  held->provider = &provider;
  held->space = space;
  held->epoch = epoch;
  held->n = static_cast<std::uint8_t>(n);
  held->is_valid = true;
  held->is_whole = is_whole;
  held->may_be_set = may_be_set;
  held->points =
      is_whole ? product(words, n) : product(words + 2 * n, n) * product(words + 3 * n, n);
  std::memcpy(held->words, words, std::size_t{8} * (is_whole ? n : 4 * n));
}

}  // namespace

void forget_selections() noexcept {
  std::uint64_t epoch = g_epoch.load(std::memory_order_relaxed);
  while (epoch != 0 && !g_epoch.compare_exchange_weak(epoch, epoch + 1)) {
  }
}

[[gnu::hot]] SelectionChange::SelectionChange(const RealFunction& found, Hid space,
                                              bool only_selects) noexcept
    : provider_(found.provider), space_(space) {
  // Of no HDF5 that iotune knows: nor are its transfers.
  if (provider_ == nullptr) return;
  const Held held(provider_, space);
  if (!held.is_held()) {
    forget_selections();
    return;
  }
  if (!held.is_of_space()) return;
  held->is_valid = false;
  if (!only_selects) held->space = 0;
}

[[gnu::hot]] void SelectionChange::set_hyperslab(int op, const std::uint64_t* start,
                                                 const std::uint64_t* stride,
                                                 const std::uint64_t* count,
                                                 const std::uint64_t* block) const noexcept {
  constexpr int kSet = 0;  // H5S_SELECT_SET
  if (op != kSet || provider_ == nullptr || start == nullptr || count == nullptr) return;
  const Held held(provider_, space_);
  if (!held.is_of_space() || !held->may_be_set) return;
  const unsigned n = held->n;
  std::uint64_t points = 1;
  for (unsigned d = 0; d < n; ++d) {
    // HDF5 says of it what was set, too.
    const std::uint64_t block_elements = block == nullptr ? 1 : block[d];
    held->words[d] = start[d];
    held->words[n + d] = stride == nullptr ? 1 : stride[d];
    held->words[2 * n + d] = count[d];
    held->words[3 * n + d] = block_elements;
    points *= count[d] * block_elements;
  }
  // Nothing is selected then, which is no hyperslab; and a count may be without bound.
  if (points == 0 || points > UINT64_MAX / 2) return;
  held->points = points;
  held->is_whole = false;
  held->is_valid = true;
}

[[gnu::hot]] bool append_known_selection(RecordWriter& record, const Provider& provider, Hid space,
                                         bool with_points) noexcept {
  const Held held(&provider, space);
  constexpr std::uint32_t kCheckedOne = 256;
  if (!held.is_of_space() || !held->is_valid || ++held->uses % kCheckedOne == 0) return false;
  const unsigned n = held->n;
  if (with_points) record.number(static_cast<std::int64_t>(held->points));
  record.number(std::int64_t{held->is_whole ? kAll : kRegular});
  record.number(std::int64_t{n});
  record.values(held->words, held->is_whole ? n : std::size_t{4} * n);
  return true;
}

[[gnu::hot]] int known_dimensions(const Provider& provider, Hid space) noexcept {
  const Held held(&provider, space);
  return held.is_of_space() ? held->n : -1;
}

void keep_hyperslab(const Provider& provider, Hid space, unsigned n, const std::uint64_t* parts,
                    bool moved) noexcept {
  keep(provider, space, n, parts, false, !moved);
}

void keep_whole(const Provider& provider, Hid space, unsigned n,
                const std::uint64_t* dims) noexcept {
  keep(provider, space, n, dims, true, false);
}

}  // namespace iotune::recorder
