// Whose blocks stand where in a process buffer and what belongs to it.
#pragma once

#include "recorder/read/trace_blocks/buffer_reader.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::recorder {

// Adds the process of the buffer `index.file`, which `buffer` was read from.
void index_buffer(BufferImage& buffer, TraceIndex& index);

}  // namespace iotune::recorder
