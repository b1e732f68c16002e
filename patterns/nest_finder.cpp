#include "patterns/nest_finder.h"

#include <bit>
#include <cstring>

namespace iotune::patterns {
namespace {

// Iterations of the open loop; times the longest body, it stays below 2^64.
constexpr std::uint64_t kForever = std::uint64_t{1} << 48U;

constexpr std::uint32_t kBarren = 4096, kBarrenCycle = 512, kBarrenLook = 16;

struct Capacities {
  std::uint32_t leaves, bodies, parts, strides, table;
};
constexpr Capacities capacities(std::uint32_t terms) noexcept {
  const std::uint32_t bodies = terms / 2 + 16;
  return {2 * terms, bodies, 2 * terms, 2 * terms, std::bit_ceil(2 * bodies)};
}

template <class T>
T* carve(std::byte*& at, std::size_t count) noexcept {
  T* array = reinterpret_cast<T*>(at);
  at += (count * sizeof(T) + 7) / 8 * 8;
  return array;
}

}  // namespace

std::size_t NestFinder::memory_bytes(std::uint32_t capacity) noexcept {
  const Capacities room = capacities(capacity);
  return capacity * (sizeof(NestTerm) + sizeof(std::uint64_t)) + room.leaves * sizeof(Step) +
         room.bodies * sizeof(NestBody) + room.parts * sizeof(NestPart) +
         (room.strides + capacity / 3 + 1) * sizeof(Step) +
         (room.table + kRecentNestSlots) * sizeof(std::uint32_t) + sizeof(std::uint64_t) * 8;
}

NestFinder::NestFinder(std::span<std::byte> memory, std::uint32_t capacity) noexcept
    : capacity_(capacity), leaf_capacity_(capacities(capacity).leaves) {
  const Capacities room = capacities(capacity);
  std::byte* at = memory.data();
  terms_ = carve<NestTerm>(at, capacity);
  prints_ = carve<std::uint64_t>(at, capacity);
  leaves_ = carve<Step>(at, room.leaves);
  bodies_ = carve<NestBody>(at, room.bodies);
  parts_ = carve<NestPart>(at, room.parts);
  strides_ = carve<Step>(at, room.strides);
  flat_ = carve<Step>(at, capacity / 3 + 1);
  table_ = carve<std::uint32_t>(at, room.table);
  recent_ = carve<std::uint32_t>(at, kRecentNestSlots);
  table_mask_ = room.table - 1;
  bodies_[0] = {};
  bodies_[0].rows = 1;
  bodies_[0].leaves = 1;
  std::memset(table_, 0, room.table * sizeof(std::uint32_t));
  std::memset(recent_, 0, kRecentNestSlots * sizeof(std::uint32_t));
}

void NestFinder::adopt(const NestFinder& smaller) noexcept {
  const auto copy = [](auto* to, const auto* from, std::size_t count) noexcept {
    if (count != 0) std::memcpy(to, from, count * sizeof(*to));
  };
  copy(terms_, smaller.terms_, smaller.size_);
  copy(prints_, smaller.prints_, smaller.size_);
  copy(leaves_, smaller.leaves_, smaller.leaf_count_);
  copy(bodies_, smaller.bodies_, smaller.body_count_);
  copy(parts_, smaller.parts_, smaller.part_count_);
  copy(strides_, smaller.strides_, smaller.stride_count_);
  copy(recent_, smaller.recent_, kRecentNestSlots);
  size_ = smaller.size_;
  leaf_count_ = smaller.leaf_count_;
  dropped_ = smaller.dropped_;
  body_count_ = smaller.body_count_;
  part_count_ = smaller.part_count_;
  stride_count_ = smaller.stride_count_;
  generation_ = smaller.generation_;
  barren_ = smaller.barren_;
  left_ = smaller.left_;
  run_ = smaller.run_;
  next_ = smaller.next_;
  step_ = smaller.step_;
  predicted_ = smaller.predicted_;
  depth_ = smaller.depth_;
  period_ = smaller.period_;
  leaf_ = smaller.leaf_;
  run_stride_ = smaller.run_stride_;
  if (period_ > 1) copy(flat_, smaller.flat_, period_);
  copy(levels_, smaller.levels_, depth_);
  for (std::uint32_t index = 1; index < body_count_; ++index) {
    auto slot = static_cast<std::uint32_t>(hash_of(bodies_[index])) & table_mask_;
    while (table_[slot] != 0) slot = (slot + 1) & table_mask_;
    table_[slot] = index;
  }
  // What did not fit there.
  if (smaller.cramped_ && left_ == 0 && reduce()) reopen();
}

std::size_t NestFinder::add(const Extent* accesses, std::size_t count) noexcept {
  std::size_t done = 0;
  while (done < count) {
    done += go_on(accesses + done, count - done);
    if (done == count || !has_room()) return done;
    if (!settle({static_cast<std::uint64_t>(accesses[done].offset),
                 static_cast<std::uint64_t>(accesses[done].length)})) {
      return done;
    }
    ++done;
  }
  return done;
}

std::size_t NestFinder::add_until_open(const Extent* accesses, std::size_t count) noexcept {
  std::size_t done = 0;
  while (left_ == 0 && done < count && has_room()) {
    if (barren_ > kBarren) {
      // Only some stretches are looked at: settle() for the others, without its questions.
      while ((barren_ + 1) % kBarrenCycle >= kBarrenLook && done < count && has_room()) {
        push_access({static_cast<std::uint64_t>(accesses[done].offset),
                     static_cast<std::uint64_t>(accesses[done].length)});
        ++done;
      }
      if (done == count || !has_room()) break;
    }
    if (!settle({static_cast<std::uint64_t>(accesses[done].offset),
                 static_cast<std::uint64_t>(accesses[done].length)})) {
      break;
    }
    ++done;
  }
  return done;
}

std::size_t NestFinder::go_on(const Extent* accesses, std::size_t count) noexcept {
  std::size_t done = 0;
  while (left_ != 0 && done < count) {
    done += follow(accesses + done, count - done);
    if (left_ != 0) break;
    advance();
  }
  return done;
}

// Takes what goes on with the run that the cursor is in.
std::size_t NestFinder::follow(const Extent* accesses, std::size_t count) noexcept {
  const std::size_t most = count < left_ ? count : static_cast<std::size_t>(left_);
  std::size_t taken = 0;
  if (period_ == 1) {
    Step next = next_;
    while (taken < most && is(accesses[taken], next)) {
      next = plus(next, step_);
      ++taken;
    }
    next_ = next;
  } else {
    const Step* stride = strides_ + run_stride_;
    std::uint32_t leaf = leaf_;
    while (taken < most && is(accesses[taken], flat_[leaf])) {
      flat_[leaf] = plus(flat_[leaf], stride[leaf]);
      leaf = leaf + 1 == period_ ? 0 : leaf + 1;
      ++taken;
    }
    leaf_ = leaf;
    next_ = flat_[leaf];
  }
  left_ -= taken;
  return taken;
}

bool NestFinder::has_room() const noexcept {
  if (left_ == 0)
    return !bodies_full_ && !cramped_ && size_ < capacity_ && leaf_count_ < leaf_capacity_;
  const std::uint32_t need = bodies_[terms_[size_ - 1].body].cut_leaves + 1;
  return size_ + need <= capacity_ && leaf_count_ + need <= leaf_capacity_;
}

std::uint32_t NestFinder::terms_due() const noexcept {
  if (left_ == 0 && bodies_full_) return size_;
  // The open loop stays.
  const std::uint32_t most = left_ == 0 ? size_ : size_ - 1;
  std::uint32_t due = (size_ + 1) / 2;
  const auto leaves_after = [this](std::uint32_t terms) noexcept {
    return terms == size_ ? 0 : leaf_count_ - terms_[terms].first_leaf;
  };
  while (due < most && leaves_after(due) > leaf_capacity_ / 3) ++due;
  return due < most ? due : most;
}

void NestFinder::drop(std::uint32_t terms) noexcept {
  const std::uint32_t leaves = terms == size_ ? leaf_count_ : terms_[terms].first_leaf;
  size_ -= terms;
  leaf_count_ -= leaves;
  dropped_ += terms;
  std::memmove(terms_, terms_ + terms, size_ * sizeof(NestTerm));
  std::memmove(prints_, prints_ + terms, size_ * sizeof(std::uint64_t));
  std::memmove(leaves_, leaves_ + leaves, leaf_count_ * sizeof(Step));
  for (std::uint32_t i = 0; i < size_; ++i) terms_[i].first_leaf -= leaves;
  if (size_ == 0 && bodies_full_) forget_bodies();
}

bool NestFinder::finish() noexcept {
  if (left_ != 0) {
    if (!has_room()) return false;
    close();
    while (reduce()) {
    }
  }
  return !cramped_;
}

// A loop that was opened may predict the access; else it is closed, and what is then on the stack
// may be a larger one.
bool NestFinder::settle(Step access) noexcept {
  while (left_ != 0) {
    const Extent as_extent = {static_cast<std::int64_t>(access.offset),
                              static_cast<std::int64_t>(access.length)};
    if (follow(&as_extent, 1) == 1) {
      if (left_ == 0) advance();
      return true;
    }
    close();
    if (reduce()) reopen();
  }
  if (cramped_) return false;
  push_access(access);
  // Where nothing was found for long, only some stretches are looked at.
  if (barren_ > kBarren && barren_ % kBarrenCycle >= kBarrenLook) return true;
  if (reduce()) reopen();
  return true;
}

void NestFinder::push_access(Step access) noexcept {
  terms_[size_] = {1, 0, leaf_count_};
  prints_[size_++] = print(access);
  leaves_[leaf_count_++] = access;
  if (barren_ < UINT32_MAX) ++barren_;
}

// Where leaf `leaf` of the open loop stands in the present iterations of the outermost levels.
NestFinder::Step NestFinder::value(std::uint32_t levels, std::uint32_t leaf) const noexcept {
  Step at = leaves_[terms_[size_ - 1].first_leaf + leaf];
  for (std::uint32_t k = 0; k < levels; ++k) {
    const Level& level = levels_[k];
    const Step stride = strides_[bodies_[level.body].first_leaf + (leaf - level.leaf)];
    at = plus(at, times(stride, level.iteration));
  }
  return at;
}

void NestFinder::reopen() noexcept {
  const NestTerm& loop = terms_[size_ - 1];
  levels_[0] = {loop.body, 0, 0, loop.count, kForever};
  depth_ = 1;
  predicted_ = 0;
  descend();
}

void NestFinder::descend() noexcept {
  while (true) {
    const Level& top = levels_[depth_ - 1];
    const NestBody& body = bodies_[top.body];
    const NestPart& part = parts_[body.first_part + top.part];
    const std::uint32_t leaf = top.leaf + part.first_leaf;
    if (part.body != 0) {
      levels_[depth_++] = {part.body, 0, leaf, 0, part.count};
      continue;
    }
    next_ = value(depth_, leaf);
    step_ = strides_[body.first_leaf];
    period_ = body.depth == 1 ? body.parts : 1;
    left_ = run_ = body.depth == 1 ? (top.count - top.iteration) * period_ : 1;
    if (period_ > 1) {
      leaf_ = 0;
      run_stride_ = body.first_leaf;
      for (std::uint32_t l = 0; l < period_; ++l) flat_[l] = value(depth_, leaf + l);
    }
    return;
  }
}

// All of a run was met.
void NestFinder::advance() noexcept {
  predicted_ += run_;
  Level* top = levels_ + depth_ - 1;
  if (bodies_[top->body].depth == 1) {
    top->iteration += run_ / period_;
  } else if (++top->part == bodies_[top->body].parts) {
    top->part = 0;
    ++top->iteration;
  }
  while (top->iteration == top->count) {
    --depth_;
    --top;
    if (++top->part == bodies_[top->body].parts) {
      top->part = 0;
      ++top->iteration;
    }
  }
  descend();
}

// The whole iterations of the open loop are its count; what was begun of the next one becomes
// terms. What is too short to be a loop is taken apart, as if it had been found alone.
void NestFinder::close() noexcept {
  Level& last = levels_[depth_ - 1];
  if (bodies_[last.body].depth == 1) {
    last.iteration += (run_ - left_) / period_;
    last.part = static_cast<std::uint32_t>((run_ - left_) % period_);
  }
  const std::uint32_t opened = size_ - 1;
  const std::uint32_t depth = depth_;
  left_ = 0;
  // The terms are made above the top and counted at the end: value() reads the open one.
  std::uint32_t terms = size_, leaves = leaf_count_;
  const auto push = [&](std::uint32_t levels, std::uint32_t body, std::uint64_t count,
                        std::uint32_t leaf) noexcept {
    terms_[terms] = {count, body, leaves};
    for (std::uint32_t l = 0; l < bodies_[body].leaves; ++l) {
      leaves_[leaves++] = value(levels, leaf + l);
    }
    prints_[terms] = print(leaves_[terms_[terms].first_leaf]);
    ++terms;
  };
  const auto push_parts = [&](std::uint32_t levels, std::uint32_t count) noexcept {
    const Level& level = levels_[levels - 1];
    const NestPart* part = parts_ + bodies_[level.body].first_part;
    for (std::uint32_t p = 0; p < count; ++p, ++part) {
      push(levels, part->body, part->count, level.leaf + part->first_leaf);
    }
  };
  for (std::uint32_t k = 0; k < depth; ++k) {
    push_parts(k + 1, levels_[k].part);
    if (k + 1 == depth) break;
    Level& inner = levels_[k + 1];
    const std::uint64_t whole = inner.iteration;
    if (whole >= kLeastNestIterations) {
      push(k + 1, inner.body, whole, inner.leaf);
    } else {
      for (inner.iteration = 0; inner.iteration < whole; ++inner.iteration) {
        push_parts(k + 2, bodies_[inner.body].parts);
      }
    }
  }
  terms_[opened].count = levels_[0].iteration;
  size_ = terms;
  leaf_count_ = leaves;
  depth_ = 0;
}

}  // namespace iotune::patterns
