// JSON of rows, shared by the reports of report.cpp and the exchange of exchange_export.cpp.
#pragma once

#include <string>

#include "patterndb/exchange/record_json.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

// Columns of `patterns p`, and how many there are.
inline constexpr char kPatternColumns[] =
    "p.id, p.byte_key, p.descriptor, p.op, p.element_bytes, p.ranks, p.grid, p.mode, p.chunk, "
    "p.filters, p.dataset_dims";
inline constexpr int kPatternWidth = 11;
inline constexpr char kPlatformColumns[] = "f.filesystem, f.mpi, f.hdf5, f.host_class";
inline constexpr char kWorkloadColumns[] = "w.program, w.file, w.ranks, w.nodes";
inline constexpr char kTuningColumns[] =
    "t.id, t.state, t.gain, t.low, t.high, t.rounds, t.made_at, t.source";
inline constexpr int kTuningWidth = 8;

Json pattern_json(const sqlite::Statement& row, int first);
Json platform_row(const sqlite::Statement& row, int first);
Json workload_row(const sqlite::Statement& row, int first);
Json tuning_row(const sqlite::Statement& row, int first);
// Text that is no longer valid becomes {"invalid": text}.
Json settings_object(const std::string& text);

}  // namespace iotune::patterndb
