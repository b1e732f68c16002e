// Whose blocks stand where in a process buffer and what belongs to it.
#pragma once

#include "recorder/read/blocks/buffer_reader.h"
#include "recorder/read/blocks/trace_index.h"

namespace iotune::recorder {

// Adds the process of the buffer `index.file`, which `buffer` was read from.
void index_buffer(BufferImage& buffer, TraceIndex& index);

}  // namespace iotune::recorder
