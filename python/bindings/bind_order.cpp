// What of a run's I/O relies on what. python/iotune/verify gives it types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/order/access_reader.h"
#include "analyzer/order/conflicts.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using analyzer::ConflictKind;

const char* name_of(ConflictKind kind) {
  switch (kind) {
    case ConflictKind::kWriteWrite:
      return "write-write";
    case ConflictKind::kWriteRead:
      return "write-read";
    case ConflictKind::kTruncate:
      break;
  }
  return "truncation";
}

py::dict place_row(const analyzer::TraceAccesses& trace, const analyzer::ConflictPlace& place,
                   const std::string& calls) {
  py::dict row;
  row["trace"] = trace.processes[place.process].trace;
  row["process"] = place.process;
  row["rank"] = place.rank;
  row["calls"] = text_of(calls);
  row["write"] = place.write;
  row["offset"] = place.offset;
  row["length"] = place.length;
  row["truncates"] = place.truncates;
  row["metadata"] = place.metadata;
  row["collective"] = place.collective;
  row["segment"] = place.segment;
  return row;
}

py::dict sites_row(const analyzer::TraceAccesses& trace, const analyzer::SiteConflicts& sites) {
  py::dict row;
  row["kind"] = name_of(sites.kind);
  row["pairs"] = sites.pairs;
  row["process_pairs"] = sites.process_pairs;
  row["first"] = text_of(sites.first);
  row["second"] = text_of(sites.second);
  row["example"] = py::make_tuple(place_row(trace, sites.example[0], sites.first),
                                  place_row(trace, sites.example[1], sites.second));
  return row;
}

py::dict conflicts(const std::vector<std::filesystem::path>& paths) {
  analyzer::TraceAccesses trace;
  std::vector<analyzer::FileConflicts> found;
  {
    const py::gil_scoped_release released;
    std::vector<recorder::TraceIndex> traces;
    for (const auto& path : paths) traces.push_back(taken(recorder::index_trace(path.string())));
    trace = analyzer::read_accesses(traces, nullptr);
    found = analyzer::find_conflicts(trace);
  }
  py::list files;
  for (const analyzer::FileConflicts& one : found) {
    const analyzer::AccessedFile& file = trace.files[one.file];
    py::list names, sites, ranks;
    for (const std::string& name : file.names) names.append(text_of(name));
    for (const analyzer::SiteConflicts& group : one.sites) sites.append(sites_row(trace, group));
    for (const std::int64_t rank : one.ranks) ranks.append(rank);
    py::dict row;
    row["path"] = text_of(file.path);
    row["names"] = std::move(names);
    row["processes"] = one.processes;
    row["ranks"] = std::move(ranks);
    row["pairs"] = one.pairs;
    row["sites"] = std::move(sites);
    row["without_place"] = file.without_place;
    files.append(std::move(row));
  }
  py::dict row;
  row["processes"] = trace.processes.size();
  row["files"] = std::move(files);
  row["unreadable_batches"] = trace.unreadable_batches;
  return row;
}

}  // namespace

void bind_order(py::module_& module) {
  module.def("conflicts", &conflicts, py::arg("traces"), "analyzer/order/conflicts.h");
}
