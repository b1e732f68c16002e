// Calls by the pointer that all ranks share, in the order of the ranks, on files that we tune.
//
// ROMIO keeps that order only while the ranks exchange what they transfer: with romio_cb_write or
// romio_cb_read of "disable" the first rank goes on before the others have moved the pointer, and
// the next call's bytes take their places. The program's first ordered call of a file takes these
// settings back, so that they act until then. An MPI-IO that does not take a hint of an open file
// (Open MPI 4) never gets them: patterndb/settings/proven_table.h.
#pragma once

#include "core/abi/mpi_api.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::tuner {

// Whether `hints` may be passed by this rank: if they let ranks not exchange, a place is left to
// remember the file.
bool can_remember(const SettingList& hints) noexcept;

// After an open: `hints` that we passed, nullptr: none. On every rank.
void remember_exchange(Word file, const SettingList* hints) noexcept;

// Collective, as the call that follows is.
void before_ordered(Provider& provider, Word file) noexcept;

}  // namespace iotune::tuner
