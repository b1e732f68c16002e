// A ring's records on their way into a block of the buffer file. The buffer's lock is held.
#pragma once

#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {

// Memory to encode a ring in, taken at the first call. False: there is none.
bool have_scratch() noexcept;
// In a child of fork it is the parent's. The lock is held, or there is one thread.
void drop_scratch() noexcept;

// Another thread's ring stays as it is, because that thread may be writing: it is stored as a
// copy, and again when its owner empties it. A reader keeps the block with more calls.
void store_copy_of(Ring& ring) noexcept;

// Its owner's, or an ended thread's: stores the records and empties the ring. False: no room, the
// calls are counted as dropped.
bool store_and_empty(Ring& ring) noexcept;

}  // namespace iotune::recorder
