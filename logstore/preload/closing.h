// Containers that ranks have opened together by MPI_File_open: what becomes of them at the close.
#pragma once

#include <string>

#include "logstore/preload/library_interface.h"

namespace iotune::logstore {

// This thread has opened the container at `path`.
void note_opened(const std::string& path) noexcept;

ClosingCalls closing_calls() noexcept;

}  // namespace iotune::logstore
