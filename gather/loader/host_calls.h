// What libiotune-gather.so calls of the preload (gather/mpi/interface.h).
#pragma once

#include "gather/mpi/interface.h"

namespace iotune::gather {

void write_note(const GatherNote& note) noexcept;
bool is_predefined_type(Word type) noexcept;
bool loops_of_type(Word filetype, void* to, void (*add)(void* to, const PieceLoop& loop)) noexcept;
bool joins_rightly(Word file) noexcept;
bool has_stored_answer(Word info) noexcept;

}  // namespace iotune::gather
