// Which run this process belongs to (design.md, "The command line"): the name of the directory
// in which its buffers lie, and of the presence count.
#pragma once

#include <cstdint>

namespace iotune {

// Start time of a process in clock ticks since boot (/proc/PID/stat, field 22); 0 if unknown.
std::uint64_t process_start_time(long pid) noexcept;
// 0 if unknown.
long parent_of(long pid) noexcept;

// Only in a recognised launcher: gives the run a new id for all ranks to inherit.
void set_run_id_of_launcher() noexcept;

// The run's id: IOTUNE_RUN_ID, the batch system's job and step, a launcher's proxy as parent,
// or this process alone. A child of fork keeps its parent's. Never empty; letters, digits, '.'
// and '-' only.
const char* run_id() noexcept;

// The batch job's id, the same in all its steps, also when it is requeued; outside of one the
// run's.
const char* job_or_run_id() noexcept;

// At MPI_Init: what runs a rank (time, perf, a script) may stand between it and its launcher's
// proxy, whose run it is one of then. Other programs that a rank starts are runs of their own, as
// is a rank that has recorded something already.
void join_run_of_launcher() noexcept;

// True where the id is shared by all processes of a parallel run on every node.
bool run_id_is_global() noexcept;
// True where the id came from `iotune run`, or a launcher: the trace is joined by them.
bool run_has_owner() noexcept;

// `iotune run` hears that a process of its run has loaded the library, whether or not it records.
void tell_owner_of_this_process() noexcept;

// True where the run is this process and what it forks: no launcher, no `iotune run`.
bool run_is_this_process() noexcept;

// The directory of this run's buffers on this node, made private (0700, owner checked) at the
// first call; nullptr, after one line on stderr, where that cannot be had.
const char* run_directory() noexcept;

// Gets the folder in which a new directory of a run was made; the recorder sets it.
using RunDirectoryMade = void (*)(const char* root);
extern RunDirectoryMade g_run_directory_made;

// What that lies in, made private as well; nullptr where that cannot be had.
const char* private_buffer_root() noexcept;

}  // namespace iotune
