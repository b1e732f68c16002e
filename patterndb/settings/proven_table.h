// What is known of each setting: (library, versions, setting, class of its values) to a verdict.
// The one table of the gate (patterndb/settings/gate.h), of `iotune prove` and of docs/safety.md.
//
// A row of kProven names the test that compares bytes on disk over five seeds. Its two versions are
// tested releases of one major version, and it holds for all between them. What no row speaks of is
// unknown.
#pragma once

namespace iotune::patterndb {

enum class Known {
  kHarmless,  // moves no byte on its way to the file, or is read by nobody
  kProven,    // by a test of ours
  kBad,       // writes wrong bytes or fails: never applied
  kUnknown,
};

// What reads a setting: one of the MPI-IOs, or HDF5. Other libraries are gated by their own names
// ("Cray MPICH"), of which no row speaks.
inline constexpr char kMpich[] = "MPICH";  // its ROMIO
inline constexpr char kOmpio[] = "OMPIO";  // Open MPI's own; versions are Open MPI's
inline constexpr char kOpenMpiRomio[] = "Open MPI ROMIO";
inline constexpr char kHdf5[] = "HDF5";               // over MPI-IO
inline constexpr char kSerialHdf5[] = "serial HDF5";  // a file of one process
inline constexpr char kAnyLibrary[] = "*";
inline constexpr char kAnyClass[] = "*";

// The classes of a setting's values, in which one is as right as another, each with the values that
// tests and `iotune prove` try. Settings of one value come with those that they go with.
struct ValueClass {
  const char* parameter;
  const char* name;
  const char* tried;  // alternatives apart by spaces, settings of one apart by ';'
};

inline constexpr ValueClass kValueClasses[] = {
    {"alignment", "up to 64 MiB", "alignment=0,512 alignment=4096,4096 alignment=1000,65536"},
    {"alignment", "larger", "alignment=65536,134217728"},
    {"meta_block_size", "any", "meta_block_size=0 meta_block_size=4096 meta_block_size=1048576"},
    {"sieve_buf_size", "up to 64 MiB",
     "sieve_buf_size=0 sieve_buf_size=4096 sieve_buf_size=4194304 sieve_buf_size=67108864"},
    {"sieve_buf_size", "larger", "sieve_buf_size=134217728"},
    {"coll_metadata_write", "enable", "coll_metadata_write=enable"},
    {"coll_metadata_write", "disable", "coll_metadata_write=disable"},
    {"page_buffer", "up to 64 MiB", "page_buffer=4096 page_buffer=65536 page_buffer=67108864"},
    {"page_buffer", "larger", "page_buffer=134217728"},
    {"mdc_size", "up to 64 MiB", "mdc_size=65536 mdc_size=1048576 mdc_size=67108864"},
    {"mdc_size", "larger", "mdc_size=134217728"},
    {"evict_on_close", "enable", "evict_on_close=enable"},
    {"evict_on_close", "disable", "evict_on_close=disable"},
    {"libver_low", "v18", "libver_low=v18"},
    {"libver_low", "v110", "libver_low=v110"},
    {"libver_low", "v112", "libver_low=v112"},
    {"libver_low", "v114", "libver_low=v114"},
    {"chunk", "any", "chunk=16,16 chunk=7,33 chunk=1,64"},
    {"fill_time", "never", "fill_time=never;chunk=16,16"},
    {"fill_time", "ifset", "fill_time=ifset;chunk=16,16"},
    {"dxpl_mpio_collective_opt", "collective", "dxpl_mpio_collective_opt=collective"},
    {"dxpl_mpio_collective_opt", "individual", "dxpl_mpio_collective_opt=individual"},
    {"cb_nodes", "1", "cb_nodes=1;cb_config_list=*:1"},
    {"cb_nodes", "more",
     "cb_nodes=2;cb_config_list=*:2 cb_nodes=3;cb_config_list=*:3 cb_nodes=64;cb_config_list=*:64"},
    {"cb_config_list", "*:1", "cb_config_list=*:1"},
    {"cb_config_list", "*:N", "cb_config_list=*:2 cb_config_list=*:64"},
    {"cb_config_list", "other", "cb_config_list=*:*"},
    {"cb_buffer_size", "up to 64 MiB",
     "cb_buffer_size=4096 cb_buffer_size=65536 cb_buffer_size=1048576 cb_buffer_size=67108864"},
    {"cb_buffer_size", "larger", "cb_buffer_size=134217728"},
    {"romio_cb_write", "enable", "romio_cb_write=enable"},
    {"romio_cb_write", "disable", "romio_cb_write=disable;romio_ds_write=disable"},
    {"romio_cb_write", "automatic", "romio_cb_write=automatic"},
    {"romio_cb_read", "enable", "romio_cb_read=enable"},
    {"romio_cb_read", "disable", "romio_cb_read=disable"},
    {"romio_cb_read", "automatic", "romio_cb_read=automatic"},
    // Sieved by all ranks at once: what collective writes become where they are not joined.
    {"romio_ds_write", "enable",
     "romio_ds_write=enable romio_ds_write=enable;romio_cb_write=disable"},
    // Alone it is never applied (tuner/mpiio/hint_gates.h).
    {"romio_ds_write", "disable",
     "romio_ds_write=disable;romio_cb_write=enable romio_ds_write=disable;romio_cb_write=disable"},
    {"romio_ds_write", "automatic", "romio_ds_write=automatic"},
    {"romio_ds_read", "enable", "romio_ds_read=enable romio_ds_read=enable;romio_cb_read=disable"},
    {"romio_ds_read", "disable", "romio_ds_read=disable"},
    {"romio_ds_read", "automatic", "romio_ds_read=automatic"},
    {"ind_rd_buffer_size", "up to 64 MiB",
     "ind_rd_buffer_size=4096;romio_ds_read=enable ind_rd_buffer_size=67108864"},
    {"ind_rd_buffer_size", "larger", "ind_rd_buffer_size=134217728"},
    {"ind_wr_buffer_size", "up to 64 MiB",
     "ind_wr_buffer_size=4096;romio_ds_write=enable ind_wr_buffer_size=67108864"},
    {"ind_wr_buffer_size", "larger", "ind_wr_buffer_size=134217728"},
    {"romio_no_indep_rw", "true", "romio_no_indep_rw=true"},
    {"romio_no_indep_rw", "false", "romio_no_indep_rw=false"},
    {"romio_cb_pfr", "enable", "romio_cb_pfr=enable"},
    {"romio_cb_pfr", "disable", "romio_cb_pfr=disable"},
    {"romio_cb_pfr", "automatic", "romio_cb_pfr=automatic"},
    // ROMIO reads these two only beside romio_cb_pfr, and nothing else is applied.
    {"romio_cb_alltoall", "enable", "romio_cb_alltoall=enable;romio_cb_pfr=enable"},
    {"romio_cb_alltoall", "disable", "romio_cb_alltoall=disable;romio_cb_pfr=enable"},
    {"romio_cb_alltoall", "automatic", "romio_cb_alltoall=automatic;romio_cb_pfr=enable"},
    {"romio_cb_ds_threshold", "any",
     "romio_cb_ds_threshold=0;romio_cb_pfr=enable romio_cb_ds_threshold=50;romio_cb_pfr=enable "
     "romio_cb_ds_threshold=100;romio_cb_pfr=enable"},
    // On Lustre (python/iotune/proving/prover.py).
    {"romio_lustre_co_ratio", "any",
     "romio_lustre_co_ratio=1 romio_lustre_co_ratio=2 romio_lustre_co_ratio=64"},
    {"romio_lustre_coll_threshold", "0", "romio_lustre_coll_threshold=0"},
    {"romio_lustre_coll_threshold", "more",
     "romio_lustre_coll_threshold=1;romio_ds_write=disable;romio_cb_write=enable "
     "romio_lustre_coll_threshold=4096;romio_ds_write=disable;romio_cb_write=enable "
     "romio_lustre_coll_threshold=1048576;romio_ds_write=disable;romio_cb_write=enable"},
    {"romio_lustre_ds_in_coll", "enable", "romio_lustre_ds_in_coll=enable"},
    {"romio_lustre_ds_in_coll", "disable", "romio_lustre_ds_in_coll=disable"},
    // Of OMPIO.
    {"collective_buffering", "true", "collective_buffering=true"},
    {"collective_buffering", "false", "collective_buffering=false"},
    // Of Cray MPICH, on Lustre.
    {"cray_cb_nodes_multiplier", "any", "cray_cb_nodes_multiplier=1 cray_cb_nodes_multiplier=4"},
    {"cray_cb_write_lock_mode", "0", "cray_cb_write_lock_mode=0"},
    {"cray_cb_write_lock_mode", "1",
     "cray_cb_write_lock_mode=1;romio_cb_write=enable;romio_no_indep_rw=true"},
    {"cray_cb_write_lock_mode", "2", "cray_cb_write_lock_mode=2;romio_cb_write=enable"},
    // Nothing of these is tried: they are harmless.
    {"chunk_cache", "any", ""},
    {"fadvise", "any", ""},
    {"iotune_gather_writes", "any", ""},
    {"fallocate", "any", ""},
    {"striping_factor", "any", ""},
    {"striping_unit", "any", ""},
    {"overstriping", "any", ""},
};

struct KnownRow {
  const char* library;
  const char* from;  // the range, both ends included; "": without an end
  const char* to;
  const char* parameter;
  const char* value_class;
  Known known;
  const char* because;  // of kProven: the test; else the reason, as the end of a sentence
};

inline constexpr char kBytesTest[] = "tests/python/test_proven_table.py";

inline constexpr char kOmpioIgnores[] = "OMPIO does not read it";
inline constexpr char kRomioIgnores[] = "ROMIO does not read it";
inline constexpr char kGetsNone[] = "Open MPI 5 hands its ROMIO no hints";
inline constexpr char kGoesWithPfr[] =
    "it is read beside romio_cb_pfr alone, with which its ROMIO crashes";

inline constexpr KnownRow kKnownRows[] = {
    {"*", "", "", "chunk_cache", "*", Known::kHarmless, "memory of the reader alone"},
    {"*", "", "", "fadvise", "*", Known::kHarmless, "advice to the kernel"},
    {"*", "", "", "fallocate", "*", Known::kHarmless, "room beyond the file's end"},
    {"*", "", "", "iotune_gather_writes", "*", Known::kHarmless, "gather/ has gates of its own"},
    {"*", "", "", "striping_factor", "*", Known::kHarmless, "the file system's own placement"},
    {"*", "", "", "striping_unit", "*", Known::kHarmless, "the file system's own placement"},
    {"*", "", "", "overstriping", "*", Known::kHarmless, "the file system's own placement"},

    {kOmpio, "", "", "cb_config_list", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_cb_write", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_cb_read", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_ds_write", "disable", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_ds_write", "automatic", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_ds_read", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "ind_rd_buffer_size", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "ind_wr_buffer_size", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_no_indep_rw", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_cb_pfr", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_cb_alltoall", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_cb_ds_threshold", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_lustre_co_ratio", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_lustre_coll_threshold", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "romio_lustre_ds_in_coll", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "cray_cb_nodes_multiplier", "*", Known::kHarmless, kOmpioIgnores},
    {kOmpio, "", "", "cray_cb_write_lock_mode", "*", Known::kHarmless, kOmpioIgnores},
    // What is not true is false for it, and the other way round: its own fault, mended in 5.0.10.
    {kOmpio, "", "5.0.9", "collective_buffering", "*", Known::kBad,
     "OMPIO before 5.0.10 reads it the other way round"},
    // Of its collective writes one in some hundreds leaves what a buffer held before: seen
    // with 4.1.4 (nothing of the kind in 15,000 writes with 4.1.7, which is unknown all the same).
    {kOmpio, "", "4.1.6", "cb_nodes", "more", Known::kBad,
     "OMPIO writes wrong bytes with several aggregators"},

    // Before MPICH 4.0 ROMIO wrote sieved blocks back that it had not read under the lock: Open
    // MPI's is older than that, and nothing is said of its sieve for writes, though it passed.
    {kMpich, "4.0.2", "4.0.2", "cb_nodes", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "cb_config_list", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "cb_buffer_size", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "romio_cb_write", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "romio_cb_read", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "romio_ds_write", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "romio_ds_read", "enable", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "romio_ds_read", "automatic", Known::kProven, kBytesTest},
    {kMpich, "", "4.0.2", "romio_ds_read", "disable", Known::kBad,
     "its ROMIO reads wrong bytes without sieving"},
    {kMpich, "4.0.2", "4.0.2", "ind_rd_buffer_size", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "ind_wr_buffer_size", "*", Known::kProven, kBytesTest},
    {kMpich, "4.0.2", "4.0.2", "romio_no_indep_rw", "*", Known::kProven, kBytesTest},

    {kMpich, "5.0.2", "5.0.2", "cb_nodes", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "cb_config_list", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "cb_buffer_size", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "romio_cb_write", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "romio_cb_read", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "romio_ds_write", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "romio_ds_read", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "ind_rd_buffer_size", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "ind_wr_buffer_size", "*", Known::kProven, kBytesTest},
    {kMpich, "5.0.2", "5.0.2", "romio_no_indep_rw", "*", Known::kProven, kBytesTest},

    {kOpenMpiRomio, "4.1.4", "4.1.4", "cb_nodes", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "cb_config_list", "*:1", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "cb_config_list", "*:N", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "cb_buffer_size", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_cb_write", "enable", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_cb_write", "automatic", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_cb_read", "enable", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_cb_read", "automatic", Known::kProven, kBytesTest},
    // Other ROMIOs do the same, but take the setting back of an open file
    // (tuner/mpiio/ordered_calls.h).
    {kOpenMpiRomio, "", "4.1.4", "romio_cb_write", "disable", Known::kBad,
     "its ROMIO keeps no order of ordered writes then"},
    {kOpenMpiRomio, "", "4.1.4", "romio_cb_read", "disable", Known::kBad,
     "its ROMIO keeps no order of ordered reads then"},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_ds_write", "automatic", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_ds_read", "enable", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_ds_read", "automatic", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "ind_rd_buffer_size", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_no_indep_rw", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_ds_write", "disable", Known::kBad,
     "its ROMIO writes wrong bytes without sieving"},
    {kOpenMpiRomio, "4.1.4", "4.1.4", "romio_ds_read", "disable", Known::kBad,
     "its ROMIO reads wrong bytes without sieving"},

    {kOpenMpiRomio, "5.0.11", "5.0.11", "cb_nodes", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "cb_config_list", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "cb_buffer_size", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "romio_cb_write", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "romio_cb_read", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "romio_ds_write", "disable", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "romio_ds_write", "automatic", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "romio_ds_read", "*", Known::kProven, kBytesTest},
    {kOpenMpiRomio, "5.0.11", "5.0.11", "ind_rd_buffer_size", "*", Known::kProven, kBytesTest},

    {kMpich, "", "", "collective_buffering", "*", Known::kHarmless, kRomioIgnores},
    {kMpich, "", "", "cray_cb_nodes_multiplier", "*", Known::kHarmless, kRomioIgnores},
    {kMpich, "", "", "cray_cb_write_lock_mode", "*", Known::kHarmless, kRomioIgnores},
    {kOpenMpiRomio, "", "", "collective_buffering", "*", Known::kHarmless, kRomioIgnores},
    {kOpenMpiRomio, "", "", "cray_cb_nodes_multiplier", "*", Known::kHarmless, kRomioIgnores},
    {kOpenMpiRomio, "", "", "cray_cb_write_lock_mode", "*", Known::kHarmless, kRomioIgnores},
    // Seen by who opens and writes: nothing of an MPI_Info reaches it, so that its proven rows
    // below say little.
    {kOpenMpiRomio, "5.0.8", "5.0.11", "romio_no_indep_rw", "*", Known::kHarmless, kGetsNone},
    {kOpenMpiRomio, "5.0.8", "5.0.11", "romio_cb_pfr", "*", Known::kHarmless, kGetsNone},
    {kOpenMpiRomio, "5.0.8", "5.0.11", "romio_cb_alltoall", "*", Known::kHarmless, kGetsNone},
    {kOpenMpiRomio, "5.0.8", "5.0.11", "romio_cb_ds_threshold", "*", Known::kHarmless, kGetsNone},
    {kOpenMpiRomio, "5.0.8", "5.0.11", "romio_lustre_co_ratio", "*", Known::kHarmless, kGetsNone},
    {kOpenMpiRomio, "5.0.8", "5.0.11", "romio_lustre_coll_threshold", "*", Known::kHarmless,
     kGetsNone},
    {kOpenMpiRomio, "5.0.8", "5.0.11", "romio_lustre_ds_in_coll", "*", Known::kHarmless, kGetsNone},
    {kMpich, "", "", "romio_cb_pfr", "disable", Known::kHarmless, "what ROMIO does by itself"},
    {kOpenMpiRomio, "", "", "romio_cb_pfr", "disable", Known::kHarmless,
     "what ROMIO does by itself"},
    // Closing a file without a collective call ends in a crash, and so do strided collective calls.
    {kMpich, "", "5.0.2", "romio_cb_pfr", "enable", Known::kBad, "its ROMIO crashes with it"},
    {kMpich, "", "5.0.2", "romio_cb_pfr", "automatic", Known::kBad, "its ROMIO crashes with it"},
    {kMpich, "", "5.0.2", "romio_cb_alltoall", "*", Known::kBad, kGoesWithPfr},
    {kMpich, "", "5.0.2", "romio_cb_ds_threshold", "*", Known::kBad, kGoesWithPfr},
    {kOpenMpiRomio, "", "4.1.4", "romio_cb_pfr", "enable", Known::kBad,
     "its ROMIO crashes with it"},
    {kOpenMpiRomio, "", "4.1.4", "romio_cb_pfr", "automatic", Known::kBad,
     "its ROMIO crashes with it"},
    {kOpenMpiRomio, "", "4.1.4", "romio_cb_alltoall", "*", Known::kBad, kGoesWithPfr},
    {kOpenMpiRomio, "", "4.1.4", "romio_cb_ds_threshold", "*", Known::kBad, kGoesWithPfr},

    {kOmpio, "4.1.4", "4.1.4", "cb_nodes", "1", Known::kProven, kBytesTest},
    {kOmpio, "4.1.4", "4.1.4", "cb_buffer_size", "*", Known::kProven, kBytesTest},
    {kOmpio, "5.0.11", "5.0.11", "cb_nodes", "1", Known::kProven, kBytesTest},
    {kOmpio, "5.0.11", "5.0.11", "cb_buffer_size", "*", Known::kProven, kBytesTest},
    {kOmpio, "5.0.11", "5.0.11", "collective_buffering", "*", Known::kProven, kBytesTest},

    {kHdf5, "1.10.8", "1.14.6", "alignment", "*", Known::kProven, kBytesTest},
    {kHdf5, "1.10.8", "1.14.6", "meta_block_size", "*", Known::kProven, kBytesTest},
    {kHdf5, "1.10.8", "1.14.6", "sieve_buf_size", "*", Known::kProven, kBytesTest},
    {kHdf5, "1.10.8", "1.14.6", "libver_low", "*", Known::kProven, kBytesTest},
    {kHdf5, "1.10.8", "1.14.6", "chunk", "*", Known::kProven, kBytesTest},
    {kHdf5, "1.10.8", "1.14.6", "fill_time", "*", Known::kProven, kBytesTest},
    {kHdf5, "1.10.8", "1.14.6", "coll_metadata_write", "*", Known::kProven, kBytesTest},
    {kHdf5, "1.10.8", "1.14.6", "dxpl_mpio_collective_opt", "*", Known::kProven, kBytesTest},

    // One release alone: its parallel 1.14 was not here to be tried.
    {kHdf5, "1.10.8", "1.10.8", "mdc_size", "*", Known::kProven, kBytesTest},

    {kSerialHdf5, "1.10.8", "1.14.6", "alignment", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "meta_block_size", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "sieve_buf_size", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "page_buffer", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "mdc_size", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "evict_on_close", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "libver_low", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "chunk", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "1.10.8", "1.14.6", "fill_time", "*", Known::kProven, kBytesTest},

    {kSerialHdf5, "2.0.0", "2.2.0", "alignment", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "meta_block_size", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "sieve_buf_size", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "page_buffer", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "mdc_size", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "evict_on_close", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "libver_low", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "chunk", "*", Known::kProven, kBytesTest},
    {kSerialHdf5, "2.0.0", "2.2.0", "fill_time", "*", Known::kProven, kBytesTest},
};

}  // namespace iotune::patterndb
