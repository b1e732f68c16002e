// The rings of all threads: who has which, and where they lie. The buffer's lock is held.
#pragma once

#include "recorder/ring/buffer_state.h"

namespace iotune::recorder {

// A ring for a thread that has none: an ended thread's, or a new one in private memory. nullptr
// where there is none, which is said.
Ring* ring_for(long thread) noexcept;

RingPlace& place_of(const Ring& ring) noexcept;
// The ring's own pointer to them is wiped by a fork.
void remember_regions(const Ring& ring, RegionTable* regions) noexcept;

// A ring of private memory goes into the buffer file. Where there is no room its calls go into a
// block, or are counted as dropped.
void move_into_file(RingPlace& place) noexcept;

// In a forked child: the parent's rings are given back without a store.
void forget_rings() noexcept;

}  // namespace iotune::recorder
