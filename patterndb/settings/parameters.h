// The settings that iotune knows, one table for the preload's tuner, the database, XML, Python
// and the command line. Names are those of HDF5, ROMIO and Lustre. Uses no C++ run time: the
// preload includes it. Reasons behind the gates: docs/database.md.
#pragma once

#include <stdint.h>

namespace iotune {

enum class ParameterLayer : uint8_t {
  kFileAccess,       // HDF5 file access property list
  kDatasetAccess,    // HDF5 dataset access property list
  kDatasetCreation,  // HDF5 dataset creation property list
  kDatasetTransfer,  // HDF5 dataset transfer property list
  kMpiioHint,        // MPI_Info of MPI_File_open
  kFileSystem,       // placement of a new file: its layout
  kPosix,            // descriptors of the file beneath HDF5 and MPI-IO
};

enum class ParameterKind : uint8_t {
  kBytes,         // one integer
  kCount,         // one integer
  kChoice,        // enable | disable | automatic
  kSwitch,        // enable | disable
  kTruth,         // true | false
  kCollectiveIo,  // collective | individual
  kFillTime,      // never | ifset
  kFormat,        // v18 | v110 | v112 | v114
  kAdvice,        // normal | sequential | random
  kGathering,     // memory
  kText,
  kPair,  // two integers: threshold,alignment
  kList,  // integers separated by commas
};

enum class DiskEffect : uint8_t {
  kNone,        // equal bytes on disk
  kAllocation,  // other offsets and file size, equal h5dump
  kLayout,      // readers of offsets and external tools notice: opt-in
  kPlacement,   // where the file system puts the bytes of a new file
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which a row is read
struct Parameter {
  const char* name;
  ParameterLayer layer;
  ParameterKind kind;
  const char* unit;
  int64_t min;
  int64_t max;
  int64_t multiple;  // of which every integer must be a multiple
  DiskEffect disk;
  bool trainable;  // may be a candidate in training; within a run only with DiskEffect::kNone
};

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = 1024 * kKiB;
inline constexpr int64_t kGiB = 1024 * kMiB;
// ROMIO reads its byte hints into an int.
inline constexpr int64_t kLargestHint = 2147483647;
inline constexpr unsigned kLongestTextValue = 255;

inline constexpr Parameter kParameters[] = {
    {"alignment", ParameterLayer::kFileAccess, ParameterKind::kPair, "bytes", 0, kGiB, 1,
     DiskEffect::kAllocation, true},
    {"meta_block_size", ParameterLayer::kFileAccess, ParameterKind::kBytes, "bytes", 0, 64 * kMiB,
     1, DiskEffect::kAllocation, true},
    {"sieve_buf_size", ParameterLayer::kFileAccess, ParameterKind::kBytes, "bytes", 0, kGiB, 1,
     DiskEffect::kNone, true},
    {"coll_metadata_write", ParameterLayer::kFileAccess, ParameterKind::kSwitch, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"page_buffer", ParameterLayer::kFileAccess, ParameterKind::kBytes, "bytes", 4 * kKiB, kGiB, 1,
     DiskEffect::kNone, true},
    // What is evicted while the file is written decides where it goes.
    {"mdc_size", ParameterLayer::kFileAccess, ParameterKind::kBytes, "bytes", 64 * kKiB, 128 * kMiB,
     1, DiskEffect::kAllocation, true},
    {"evict_on_close", ParameterLayer::kFileAccess, ParameterKind::kSwitch, "", 0, 0, 1,
     DiskEffect::kAllocation, false},
    {"libver_low", ParameterLayer::kFileAccess, ParameterKind::kFormat, "", 0, 0, 1,
     DiskEffect::kLayout, false},
    {"chunk_cache", ParameterLayer::kDatasetAccess, ParameterKind::kBytes, "bytes", 0, 4 * kGiB, 1,
     DiskEffect::kNone, true},
    {"chunk", ParameterLayer::kDatasetCreation, ParameterKind::kList, "elements", 1,
     INT64_C(4294967295), 1, DiskEffect::kLayout, false},
    {"fill_time", ParameterLayer::kDatasetCreation, ParameterKind::kFillTime, "", 0, 0, 1,
     DiskEffect::kLayout, false},
    {"dxpl_mpio_collective_opt", ParameterLayer::kDatasetTransfer, ParameterKind::kCollectiveIo, "",
     0, 0, 1, DiskEffect::kNone, true},
    {"cb_nodes", ParameterLayer::kMpiioHint, ParameterKind::kCount, "aggregators", 1, 1000000, 1,
     DiskEffect::kNone, true},
    {"cb_config_list", ParameterLayer::kMpiioHint, ParameterKind::kText, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"cb_buffer_size", ParameterLayer::kMpiioHint, ParameterKind::kBytes, "bytes", 4 * kKiB,
     kLargestHint, 1, DiskEffect::kNone, true},
    {"romio_cb_write", ParameterLayer::kMpiioHint, ParameterKind::kChoice, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"romio_cb_read", ParameterLayer::kMpiioHint, ParameterKind::kChoice, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"romio_ds_write", ParameterLayer::kMpiioHint, ParameterKind::kChoice, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"romio_ds_read", ParameterLayer::kMpiioHint, ParameterKind::kChoice, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"ind_rd_buffer_size", ParameterLayer::kMpiioHint, ParameterKind::kBytes, "bytes", 4 * kKiB,
     kLargestHint, 1, DiskEffect::kNone, true},
    {"ind_wr_buffer_size", ParameterLayer::kMpiioHint, ParameterKind::kBytes, "bytes", 4 * kKiB,
     kLargestHint, 1, DiskEffect::kNone, true},
    // Of MPI-IO, read by one of its libraries or on one file system alone.
    {"romio_no_indep_rw", ParameterLayer::kMpiioHint, ParameterKind::kTruth, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"romio_cb_pfr", ParameterLayer::kMpiioHint, ParameterKind::kChoice, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"romio_cb_alltoall", ParameterLayer::kMpiioHint, ParameterKind::kChoice, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"romio_cb_ds_threshold", ParameterLayer::kMpiioHint, ParameterKind::kCount, "percent", 0, 100,
     1, DiskEffect::kNone, true},
    {"romio_lustre_co_ratio", ParameterLayer::kMpiioHint, ParameterKind::kCount,
     "aggregators a target", 1, 1000000, 1, DiskEffect::kNone, true},
    {"romio_lustre_coll_threshold", ParameterLayer::kMpiioHint, ParameterKind::kBytes, "bytes", 0,
     kLargestHint, 1, DiskEffect::kNone, true},
    {"romio_lustre_ds_in_coll", ParameterLayer::kMpiioHint, ParameterKind::kSwitch, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"collective_buffering", ParameterLayer::kMpiioHint, ParameterKind::kTruth, "", 0, 0, 1,
     DiskEffect::kNone, true},
    {"cray_cb_nodes_multiplier", ParameterLayer::kMpiioHint, ParameterKind::kCount,
     "aggregators a target", 1, 1000000, 1, DiskEffect::kNone, true},
    {"cray_cb_write_lock_mode", ParameterLayer::kMpiioHint, ParameterKind::kCount, "mode", 0, 2, 1,
     DiskEffect::kNone, true},
    // Of the service gather/, which reads it where MPI-IO opens the file. Offered, not trained.
    {"iotune_gather_writes", ParameterLayer::kMpiioHint, ParameterKind::kGathering, "", 0, 0, 1,
     DiskEffect::kNone, false},
    {"striping_factor", ParameterLayer::kFileSystem, ParameterKind::kCount, "targets", 1, 2000, 1,
     DiskEffect::kPlacement, true},
    {"striping_unit", ParameterLayer::kFileSystem, ParameterKind::kBytes, "bytes", 64 * kKiB,
     kLargestHint - kLargestHint % (64 * kKiB), 64 * kKiB, DiskEffect::kPlacement, true},
    {"overstriping", ParameterLayer::kFileSystem, ParameterKind::kSwitch, "", 0, 0, 1,
     DiskEffect::kPlacement, true},
    {"fadvise", ParameterLayer::kPosix, ParameterKind::kAdvice, "", 0, 0, 1, DiskEffect::kNone,
     true},
    {"fallocate", ParameterLayer::kPosix, ParameterKind::kBytes, "bytes", 4 * kKiB, 1024 * kGiB, 1,
     DiskEffect::kPlacement, true},
};

namespace parameter_detail {

constexpr bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

// Reads the digits at `text` and moves it behind them. False where there are none or too many.
constexpr bool take_integer(const char*& text, int64_t& value) {
  const char* start = text;
  value = 0;
  while (*text >= '0' && *text <= '9') {
    if (text - start >= 18) return false;
    value = value * 10 + (*text - '0');
    ++text;
  }
  return text != start;
}

constexpr const char* fault_of_integer(const Parameter& parameter, int64_t value, int64_t min) {
  if (value < min) return "is too small";
  if (value > parameter.max) return "is too large";
  if (value % parameter.multiple != 0) return "is not a multiple of 65536";
  return nullptr;
}

constexpr const char* fault_of_integers(const Parameter& parameter, const char* value) {
  unsigned n = 0;
  while (true) {
    int64_t integer = 0;
    if (!take_integer(value, integer)) return "is not made of plain integers";
    // The second value of a pair is a divisor.
    int64_t min = parameter.kind == ParameterKind::kPair && n == 1 ? 1 : parameter.min;
    if (const char* fault = fault_of_integer(parameter, integer, min)) return fault;
    ++n;
    if (*value == '\0') break;
    if (*value != ',') return "is not made of plain integers";
    ++value;
  }
  if (parameter.kind == ParameterKind::kPair) return n == 2 ? nullptr : "needs two integers";
  if (parameter.kind == ParameterKind::kList) return n <= 32 ? nullptr : "has too many integers";
  return n == 1 ? nullptr : "needs one integer";
}

// ROMIO's grammar of cb_config_list uses no other characters; ';' and line ends would break the
// canonical text.
constexpr const char* fault_of_text(const char* value) {
  unsigned n = 0;
  for (; value[n] != '\0'; ++n) {
    char c = value[n];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '*' || c == ':' || c == ',' || c == '.' || c == '-' || c == '_';
    if (!plain) return "holds a character that no hint uses";
    if (n >= kLongestTextValue) return "is too long";
  }
  return n > 0 ? nullptr : "is empty";
}

}  // namespace parameter_detail

// The parameter of that name, or nullptr.
constexpr const Parameter* find_parameter(const char* name) {
  for (const Parameter& parameter : kParameters) {
    if (parameter_detail::equal(parameter.name, name)) return &parameter;
  }
  return nullptr;
}

// nullptr where `value` is valid, else the fault as the end of a sentence ("is too large").
constexpr const char* fault_of(const Parameter& parameter, const char* value) {
  using parameter_detail::equal;
  switch (parameter.kind) {
    case ParameterKind::kChoice:
      if (equal(value, "automatic")) return nullptr;
      [[fallthrough]];
    case ParameterKind::kSwitch:
      if (equal(value, "enable") || equal(value, "disable")) return nullptr;
      return parameter.kind == ParameterKind::kSwitch ? "is neither enable nor disable"
                                                      : "is not enable, disable or automatic";
    case ParameterKind::kTruth:
      if (equal(value, "true") || equal(value, "false")) return nullptr;
      return "is neither true nor false";
    case ParameterKind::kCollectiveIo:
      if (equal(value, "collective") || equal(value, "individual")) return nullptr;
      return "is neither collective nor individual";
    case ParameterKind::kFillTime:
      if (equal(value, "never") || equal(value, "ifset")) return nullptr;
      return "is neither never nor ifset";
    case ParameterKind::kFormat:
      if (equal(value, "v18") || equal(value, "v110")) return nullptr;
      if (equal(value, "v112") || equal(value, "v114")) return nullptr;
      return "is not v18, v110, v112 or v114";
    case ParameterKind::kAdvice:
      if (equal(value, "normal") || equal(value, "sequential") || equal(value, "random")) {
        return nullptr;
      }
      return "is not normal, sequential or random";
    case ParameterKind::kGathering:
      return equal(value, "memory") ? nullptr : "is not memory";
    case ParameterKind::kText:
      return parameter_detail::fault_of_text(value);
    default:
      return parameter_detail::fault_of_integers(parameter, value);
  }
}

constexpr const char* validate(const char* name, const char* value) {
  const Parameter* parameter = find_parameter(name);
  return parameter == nullptr ? "is no parameter of iotune" : fault_of(*parameter, value);
}

}  // namespace iotune
