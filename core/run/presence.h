// Is every rank of the run loaded? (design.md, rule 2.) Settled once, without messages: each
// rank registers before the real MPI_Init, and after it the registrations must add up.
#pragma once

namespace iotune {

// At most, of its file in the run's directory (recorder/gather/leftovers.cpp).
inline constexpr long kPresenceBytes = 120;

// A service that this process runs, and whose ranks speak to each other within MPI_File_open.
enum class JointService : unsigned char { kLogs, kGather };
// Before register_presence.
void announce_service(JointService service) noexcept;

// Before the real MPI_Init.
void register_presence() noexcept;

// After it. True where all ranks of the world are loaded: the same answer on every loaded rank,
// because the first decision published holds for all.
bool settle_presence(int world_size) noexcept;

// Of the last settle_presence; false before.
bool all_ranks_loaded() noexcept;
// The same for ranks that may tune: one with IOTUNE_MODE=record takes no part in agreements.
bool all_ranks_tune() noexcept;
bool all_ranks_run(JointService service) noexcept;

// Of the last settle_presence, whatever its answer; 0 before.
int world_ranks() noexcept;

// Nodes of the run as settle_presence saw them, at least 1.
int run_nodes() noexcept;

// After a collective call in which every rank of the world has taken part.
void remove_presence_files() noexcept;

}  // namespace iotune
