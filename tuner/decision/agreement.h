// Agreement among the ranks that open a file, inside a call that is collective already: rank 0 asks
// the database and broadcasts the decision, every rank says what it would apply, and only where all
// say the same is anything applied. No time-outs.
#pragma once

#include <cstdint>

#include "core/abi/mpi_api.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/database_library.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::tuner {

// The private communicator over the members of `comm`, made at the first call and kept as an
// attribute of `comm`. Collective over `comm`. comm_null where the file is to be left alone: not
// all ranks have loaded iotune, `comm` is an inter-communicator or has members outside the world,
// or the MPI is unknown.
Word private_communicator(const MpiApi& mpi, Word comm) noexcept;

// Makes the key of the attribute. Called once, after MPI_Init, while there is one thread.
bool make_keyval(const MpiApi& mpi) noexcept;

// Frees the attributes of the world and of self. Called before MPI_Finalize, while MPI still works.
void free_world_communicator(const MpiApi& mpi) noexcept;

// Sets the ranks of the question. A workload is known by the ranks of its run
// (patterndb/learn/observe.cpp), however many of them open the file: `opening_ranks`.
void ask_as_run(int opening_ranks, FileQuestion& question) noexcept;

// Collective over `comm` (a private one). False on all ranks where there is no decision, else each
// has the whole one. A rank that cannot read it has voted for changing nothing when it learns it
// false. A decision without settings needs no vote, because no rank would apply
// anything. Where all ranks knew before that the open gets no settings, no message is sent: true
// and a cleared decision, or on rank 0 one without settings.
bool receive_decision(const MpiApi& mpi, Word comm, FileQuestion question,
                      iotune_answer& answer) noexcept;

// What a rank calls that can apply nothing: it votes for changing nothing, and is never absent.
// Matches receive_decision and, where there are settings, the first all_agree of the other ranks.
void decline(const MpiApi& mpi, Word comm) noexcept;

// Collective over `comm`. True on all ranks where all passed `willing` and equal hashes.
bool all_agree(const MpiApi& mpi, Word comm, bool willing, std::uint64_t hash) noexcept;

// This process's rank in `comm`; -1 on failure.
int rank_in(const MpiApi& mpi, Word comm) noexcept;

}  // namespace iotune::tuner
