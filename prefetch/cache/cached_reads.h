// The program's reads, out of what was read ahead for them (cache delivery).
#pragma once

#include "recorder/hooks/service.h"

namespace iotune::prefetch {

// As recorder::Service has it. What it returns, and the descriptor's position after it, are
// what the kernel would have made of the call.
std::int64_t serve_read(recorder::Transfer& transfer, const void* memory,
                        std::int64_t parts) noexcept;

void synchronised(int fd) noexcept;

}  // namespace iotune::prefetch
