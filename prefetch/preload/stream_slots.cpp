#include "prefetch/preload/stream_slots.h"

#include <cstddef>

#include "core/os/private_memory.h"
#include "patterns/predict/best_predictor.h"

namespace iotune::prefetch {

constinit std::atomic<StreamSlot*> g_slot_of_descriptor[recorder::kMaxDescriptors] = {};

namespace {

static_assert(sizeof(StreamSlot) + sizeof(patterns::NestPredictor) <= 1024);

// Memory is taken for this many at a time; pages that no stream touches cost nothing.
constexpr unsigned kSlab = 16;

constinit std::byte* g_slabs[kMostStreams / kSlab] = {};
constinit std::atomic<unsigned> g_made{0};
// Of a slot's number: memory of patterns::BestPredictor, or nothing.
constinit std::byte* g_best[kMostStreams] = {};
constinit std::atomic<unsigned> g_best_count{0};
constinit SleepLock g_lock;  // of making and freeing
constinit std::uint16_t g_free[kMostStreams] = {};
constinit unsigned g_free_count = 0;
constinit std::size_t g_slot_bytes = 0, g_predictor_bytes = 0;
constinit PrefetchOptions g_options;
constinit prefetch::Limits g_limits;

std::size_t aligned(std::size_t bytes) noexcept {
  constexpr std::size_t kAlign = 8;
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// g_lock is held.
StreamSlot* take_slot() noexcept {
  if (g_free_count != 0) return slot_number(g_free[--g_free_count]);
  const unsigned number = g_made.load(std::memory_order_relaxed);
  if (number == kMostStreams) return nullptr;
  std::byte*& slab = g_slabs[number / kSlab];
  if (slab == nullptr) {
    slab = static_cast<std::byte*>(private_memory(kSlab * g_slot_bytes));
    if (slab == nullptr) return nullptr;
  }
  auto* const slot = new (slab + number % kSlab * g_slot_bytes) StreamSlot{};
  slot->number = static_cast<std::uint8_t>(number);
  g_made.store(number + 1, std::memory_order_release);
  return slot;
}

constexpr unsigned kMostBest = 60;
static_assert(kMostBest * sizeof(patterns::BestPredictor) <= std::size_t{4} << 20U);

void take_best_back(const StreamSlot& slot) noexcept {
  std::byte*& best = g_best[slot.number];
  if (best == nullptr) return;
  unmap(best, sizeof(patterns::BestPredictor));
  best = nullptr;
  g_best_count.fetch_sub(1, std::memory_order_relaxed);
}

// Whether a plan of another stream predicted this one: it is not written down again.
bool is_predicted(const SavedState& state) noexcept {
  return !state.saved.empty() && !state.is_own_past && 2 * state.planned >= state.reads;
}

}  // namespace

void set_up_slots(const PrefetchOptions& options, const prefetch::Limits& limits) noexcept {
  g_options = options;
  g_limits = limits;
  g_predictor_bytes = aligned(options.kind->bytes({}));
  g_slot_bytes =
      aligned(sizeof(StreamSlot) + g_predictor_bytes + (options.keeps ? sizeof(SavedState) : 0));
}

StreamSlot* slot_number(unsigned number) noexcept {
  std::byte* const at = g_slabs[number / kSlab] + number % kSlab * g_slot_bytes;
  return std::launder(reinterpret_cast<StreamSlot*>(at));
}

SavedState* saved_state(StreamSlot& slot) noexcept {
  if (!g_options.keeps) return nullptr;
  return reinterpret_cast<SavedState*>(slot.predictor() + g_predictor_bytes);
}

std::uint64_t quick_ticks() noexcept {
  return g_limits.quick;
}

unsigned slots_made() noexcept {
  return g_made.load(std::memory_order_acquire);
}

StreamSlot* make_slot(int fd, std::uint32_t file) noexcept {
  const SleepGuard guard(g_lock);
  if (StreamSlot* const known = slot_of(fd)) return known;  // another thread was first
  StreamSlot* const slot = take_slot();
  if (slot == nullptr) return nullptr;
  const std::span<std::byte> memory(slot->predictor(), g_predictor_bytes);
  patterns::PredictorOptions how;
  SavedState* const state = saved_state(*slot);
  if (state != nullptr) {
    *state = {};
    state->key = saved_key(fd);
    state->saved_number = state->key.ordinal;
    state->saved = how.earlier = read_saved(state->key, g_options.name);
    // Where the stream turns out to be a known one the recorder is given back.
    if (g_options.kind->name == "recorded" && state->key.path != 0) {
      state->plan = PlanRecorder::make();
    }
  }
  if (!g_options.kind->start(memory, how)) {
    how.earlier = {};  // a model of another block size, or of another version
    g_options.kind->start(memory, how);
  }
  // A thread that found this slot as another descriptor's may be about to lock it.
  const SleepGuard of_slot(slot->lock);
  slot->fd = fd;
  slot->file = file;
  slot->live = true;
  slot->closing.store(false, std::memory_order_relaxed);
  slot->known = slot->unfit = false;
  slot->idle.store(false, std::memory_order_relaxed);
  slot->is_ahead.store(false, std::memory_order_relaxed);
  slot->plans = 0;
  slot->first_page = 0;
  slot->buffered_pages = 0;
  const bool known = state != nullptr && !state->saved.empty();
  new (slot->stream_memory) prefetch::Stream(*g_options.kind, slot->predictor(), g_limits, known);
  g_slot_of_descriptor[fd].store(slot, std::memory_order_release);
  return slot;
}

void keep_model(StreamSlot& slot) noexcept {
  SavedState* const state = saved_state(slot);
  if (state == nullptr || slot.unfit || slot.stream().counts().reads < kLeastReadsSaved) return;
  if (is_predicted(*state)) touch_saved({state->key.path, state->saved_number}, g_options.name);
  if (state->plan != nullptr && is_predicted(*state)) return;
  if (state->plan != nullptr) {
    state->is_written =
        write_saved(state->key, g_options.name, state->plan->finish(), state->is_written) ||
        state->is_written;
  }
  if (g_options.kind->keep == nullptr) return;
  const std::size_t bytes = g_options.kind->saved_bytes(slot.predictor());
  auto* const memory = static_cast<std::byte*>(private_memory(bytes));
  if (memory == nullptr) return;
  const std::size_t used = g_options.kind->keep(slot.predictor(), {memory, bytes});
  // Of what the processes of a path learn the last one stays.
  if (used > 0) write_saved(state->key, g_options.name, {memory, used}, true);
  unmap(memory, bytes);
}

void give_best(StreamSlot& slot) noexcept {
  std::byte*& best = g_best[slot.number];
  if (g_best_count.fetch_add(1, std::memory_order_relaxed) < kMostBest) {
    best = static_cast<std::byte*>(private_memory(sizeof(patterns::BestPredictor)));
  }
  if (best == nullptr) {
    g_best_count.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  slot.stream().go_on_with_best(best);
}

void free_slot(StreamSlot& slot) noexcept {
  take_best_back(slot);
  if (SavedState* const state = saved_state(slot)) {
    release_saved(state->saved);
    if (state->plan != nullptr) state->plan->release();
  }
  const SleepGuard guard(g_lock);
  g_slot_of_descriptor[slot.fd].store(nullptr, std::memory_order_release);
  g_free[g_free_count] = slot.number;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);  // never counted before it is there
  ++g_free_count;
}

void leave_slots_by_jump() noexcept {
  for (unsigned number = 0; number < slots_made(); ++number) {
    StreamSlot& slot = *slot_number(number);
    if (!slot.lock.is_held()) continue;
    slot.unfit = true;
    slot.idle.store(true, std::memory_order_relaxed);
    slot.lock.unlock();
  }
  release_by_jump(g_lock);
  leave_saved_by_jump();
}

void forget_slots_after_fork() noexcept {
  // A thread of the parent may have held any lock, and have been half-way through anything.
  g_lock.unlock();
  g_free_count = 0;
  for (unsigned number = 0; number < slots_made(); ++number) {
    StreamSlot* const slot = slot_number(number);
    g_slot_of_descriptor[slot->fd].store(nullptr, std::memory_order_relaxed);
    slot->live = false;
    slot->in_flight.forget();
    slot->lock.unlock();
    take_best_back(*slot);
    g_free[g_free_count++] = static_cast<std::uint16_t>(number);
  }
}

}  // namespace iotune::prefetch
