// Containers that ranks have opened together by MPI_File_open: what becomes of them at the close.
#pragma once

#include <string>

#include "logstore/preload/library_interface.h"

namespace iotune::logstore {

// What IOTUNE_LOGSTORE_CLOSE says.
enum class AtClose : unsigned char { kFlatten, kCompact, kKeep };
extern AtClose g_at_close;

// This thread has opened the container at `path`.
void note_opened(const std::string& path) noexcept;

ClosingCalls closing_calls() noexcept;

}  // namespace iotune::logstore
