// Agreement among the ranks that open a file, inside a call that is collective already
// (design.md, rule 2): rank 0 asks, broadcasts; every rank says what it would apply; only when
// all say the same is anything applied. No time-outs.
#pragma once

#include <cstdint>

#include "core/abi/mpi_api.h"
#include "recorder/hooks/open_hooks.h"
#include "tuner/decision/database_library.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::tuner {

// The private communicator over the members of `comm`, made at the first call and kept as an
// attribute of `comm`. Collective over `comm`. comm_null where the file is to be left alone:
// not all ranks loaded, an inter-communicator, members outside the world, an MPI without a row.
Word private_communicator(const MpiApi& mpi, Word comm) noexcept;

// Once, after MPI_Init, by the one thread that is there: the key of the attribute.
bool make_keyval(const MpiApi& mpi) noexcept;

// Before MPI_Finalize: the attributes of the world and of self, while MPI still works.
void free_world_communicator(const MpiApi& mpi) noexcept;

// A workload is known by the ranks of its run (patterndb/learn/observe.cpp), however many of them
// open the file together: `opening_ranks`.
void ask_as_run(int opening_ranks, FileQuestion& question) noexcept;

// Collective over `comm` (a private one). False on all ranks where there is no decision, else each
// has the whole one. A decision without settings needs no vote: nothing is what all would apply.
// True and a cleared decision, or on rank 0 one without settings, where all ranks knew before that
// the open gets none, and nobody spoke.
bool receive_decision(const MpiApi& mpi, Word comm, FileQuestion question,
                      iotune_answer& answer) noexcept;

// The part of a rank that cannot take part: changing nothing is a vote, never an absence. Goes
// with receive_decision and, where there are settings, the first all_agree of the others.
void decline(const MpiApi& mpi, Word comm) noexcept;

// Collective over `comm`: true on all ranks where all passed `willing` and equal hashes.
bool all_agree(const MpiApi& mpi, Word comm, bool willing, std::uint64_t hash) noexcept;

// Ranks of `comm` in order; -1 on failure.
int rank_in(const MpiApi& mpi, Word comm) noexcept;

}  // namespace iotune::tuner
