// JSON of rows, shared by the reports of report.cpp and the exchange of exchange_export.cpp.
#pragma once

#include <string>

#include "patterndb/exchange/record_json.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

// The columns of `patterns p` and of others, named as members() wants them, and how many they are.
inline constexpr char kPatternColumns[] =
    "p.id, p.byte_key, p.descriptor, p.op, p.element_bytes, p.ranks, p.grid AS 'grid[]', p.mode, "
    "p.chunk AS 'chunk[]', p.filters, p.dataset_dims AS 'dataset_dims[]'";
inline constexpr int kPatternWidth = 11;
inline constexpr char kPlatformColumns[] = "f.filesystem, f.mpi, f.hdf5, f.host_class";
inline constexpr char kWorkloadColumns[] = "w.program, w.file, w.ranks, w.nodes";
inline constexpr int kPlatformWidth = 4, kWorkloadWidth = 4;
inline constexpr char kTuningColumns[] =
    "t.id, t.state, t.gain, t.low, t.high, t.rounds, t.made_at, t.source";
inline constexpr int kTuningWidth = 8;

// Columns from `first` up to `end` (-1: all), each under its name: NAME? is true or false, NAME[] a
// list of numbers.
Json members(const sqlite::Statement& row, int first = 0, int end = -1);
// Of each row that is left, what `of_row` makes of it.
template <typename OfRow>
Json list_of(sqlite::Statement& rows, OfRow of_row) {
  Json list = Json::array();
  while (rows.step()) list.push_back(of_row());
  return list;
}
inline Json list_of(sqlite::Statement& rows) {
  return list_of(rows, [&] { return members(rows); });
}
inline Json platform_row(const sqlite::Statement& row, int first) {
  return members(row, first, first + kPlatformWidth);
}
// Text that is no longer valid becomes {"invalid": text}.
Json settings_object(const std::string& text);

}  // namespace iotune::patterndb
