// What must hold before each setting is applied, for people: the preload, which applies them, has
// no use for the words.
#pragma once

#include "patterndb/settings/parameters.h"

namespace iotune {

struct ParameterGate {
  const char* name;
  const char* text;
};

// In the order of kParameters.
inline constexpr ParameterGate kParameterGates[] = {
    {"alignment",
     "agreed by all ranks; growth of files of small objects is capped by a higher threshold"},
    {"meta_block_size", "agreed by all ranks; growth capped"},
    {"sieve_buf_size", "memory per open dataset and rank"},
    {"coll_metadata_write", "agreed by all ranks; MPI-IO driver only"},
    {"page_buffer",
     "files of one process that are paged already, opened for reading alone; memory per file"},
    {"mdc_size", "agreed by all ranks; memory per file and rank"},
    {"evict_on_close",
     "only when asked for: a second open of the file without it fails; an HDF5 without MPI only"},
    {"libver_low", "only when asked for; new files only: an older HDF5 cannot read them"},
    {"chunk_cache", "memory per dataset and rank: reads of chunked datasets, under a cap"},
    {"chunk", "only when asked for; never where the program set a layout"},
    {"fill_time",
     "only when asked for, and only with chunks of iotune's own: HDF5 fills those, and would never "
     "have filled the contiguous dataset of the program"},
    {"dxpl_mpio_collective_opt",
     "agreed by all ranks; collective calls of the program stay collective for HDF5, only their "
     "bytes go out independently"},
    {"cb_nodes", "agreed by all ranks; without cb_config_list ROMIO keeps one aggregator a host"},
    {"cb_config_list", "agreed by all ranks; goes with cb_nodes"},
    {"cb_buffer_size", "agreed by all ranks; memory per aggregator"},
    {"romio_cb_write",
     "agreed by all ranks; disable: while writes are sieved an MPI-IO that is known to sieve "
     "rightly "
     "and locks that hold between nodes; never on NFS"},
    {"romio_cb_read", "agreed by all ranks"},
    {"romio_ds_write",
     "agreed by all ranks; enable only where file locks are coherent between nodes"},
    {"romio_ds_read", "agreed by all ranks"},
    {"ind_rd_buffer_size", "agreed by all ranks; memory per rank"},
    {"ind_wr_buffer_size", "agreed by all ranks; memory per rank"},
    {"romio_no_indep_rw",
     "agreed by all ranks; true: files that the program names by a whole path, never against a "
     "romio_cb_write or romio_cb_read of the program, of its user or of ours"},
    {"romio_cb_pfr",
     "agreed by all ranks; enable and automatic sieve: never on NFS, and only where file locks are "
     "coherent between nodes"},
    {"romio_cb_alltoall", "agreed by all ranks; only beside romio_cb_pfr"},
    {"romio_cb_ds_threshold", "agreed by all ranks; only beside romio_cb_pfr"},
    {"romio_lustre_co_ratio", "agreed by all ranks; on Lustre only"},
    {"romio_lustre_coll_threshold",
     "agreed by all ranks; on Lustre only; more than 0 is gated like romio_cb_write=disable"},
    {"romio_lustre_ds_in_coll", "agreed by all ranks; on Lustre only"},
    {"collective_buffering",
     "agreed by all ranks; OMPIO alone, from 5.0.10 on; false: never on NFS, and only where file "
     "locks are coherent between nodes"},
    {"cray_cb_nodes_multiplier", "agreed by all ranks; on Lustre only"},
    {"cray_cb_write_lock_mode",
     "agreed by all ranks; on Lustre only; 1 and 2 beside romio_cb_write=enable, 1 beside "
     "romio_no_indep_rw=true too"},
    {"iotune_gather_writes",
     "only where IOTUNE_GATHER or the site allows it: other ranks see what was written at a sync "
     "or "
     "a close, and not before"},
    {"striping_factor", "new files only; a layout that the user set is left alone"},
    {"striping_unit", "new files only; a layout that the user set is left alone"},
    {"overstriping",
     "goes with striping_factor; Lustre from 2.13 on, others do as they did before"},
    {"fadvise", "agreed by all ranks; descriptors that the open itself makes"},
    {"fallocate",
     "files that the open makes or empties, of exactly this pattern; an eighth of the free space "
     "at most, and none of a file system in memory"},
};

// The words for `name`, a name of kParameters; nullptr for any other.
constexpr const char* find_gate(const char* name) {
  for (const ParameterGate& gate : kParameterGates) {
    if (parameter_detail::equal(gate.name, name)) return gate.text;
  }
  return nullptr;
}

}  // namespace iotune
