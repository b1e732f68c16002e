// What of a run's I/O relies on what. python/iotune/verify gives it types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "analyzer/order/accesses/access_reader.h"
#include "analyzer/order/conflicts.h"
#include "analyzer/order/models/verdicts.h"
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

std::vector<recorder::TraceIndex> indices_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<recorder::TraceIndex> traces;
  for (const auto& path : paths) traces.push_back(taken(recorder::index_trace(path.string())));
  return traces;
}

py::dict conflicts_row(const analyzer::TraceAccesses& trace,
                       const std::vector<analyzer::FileConflicts>& found) {
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

py::dict conflicts(const std::vector<std::filesystem::path>& paths) {
  analyzer::TraceAccesses trace;
  std::vector<analyzer::FileConflicts> found;
  {
    const py::gil_scoped_release released;
    trace = analyzer::read_accesses(indices_of(paths), nullptr);
    found = analyzer::find_conflicts(trace, analyzer::conflict_groups(trace));
  }
  return conflicts_row(trace, found);
}

constexpr const char* kModelKeys[] = {"posix", "commit", "session", "mpiio"};
static_assert(std::size(kModelKeys) == analyzer::kModels);

py::dict verdict_of_sites(const analyzer::TraceAccesses& trace,
                          const analyzer::SiteConflicts& sites) {
  py::dict models;
  for (std::size_t m = 0; m < analyzer::kModels; ++m) {
    const analyzer::SiteConflicts::Model& model = sites.models[m];
    if (model.wrong == 0) continue;
    py::dict row;
    row["violations"] = model.wrong;
    row["missing"] = text_of(model.missing);
    row["example"] = py::none();
    if (model.example) {
      row["example"] = py::make_tuple(place_row(trace, model.example->first, ""),
                                      place_row(trace, model.example->second, ""));
    }
    models[kModelKeys[m]] = std::move(row);
  }
  py::dict row;
  row["kind"] = name_of(sites.kind);
  row["first"] = text_of(sites.first);
  row["second"] = text_of(sites.second);
  row["pairs"] = sites.pairs;
  row["models"] = std::move(models);
  return row;
}

py::dict verdicts(const std::vector<std::filesystem::path>& paths) {
  analyzer::TraceVerdict verdict;
  {
    const py::gil_scoped_release released;
    verdict = analyzer::verify_traces(indices_of(paths));
  }
  py::dict row = conflicts_row(verdict.accesses, verdict.files);
  py::list files, unknown;
  for (const analyzer::FileConflicts& one : verdict.files) {
    if (one.pairs == 0) continue;
    py::dict models, file;
    for (std::size_t m = 0; m < analyzer::kModels; ++m) models[kModelKeys[m]] = one.wrong[m];
    py::list sites;
    for (const analyzer::SiteConflicts& each : one.sites) {
      sites.append(verdict_of_sites(verdict.accesses, each));
    }
    file["path"] = text_of(verdict.accesses.files[one.file].path);
    file["violations"] = std::move(models);
    file["sites"] = std::move(sites);
    files.append(std::move(file));
  }
  for (const analyzer::OrderUnknown& one : verdict.unknown) {
    py::dict reason;
    reason["reason"] = text_of(one.reason);
    reason["times"] = one.times;
    reason["process"] = one.process;
    unknown.append(std::move(reason));
  }
  row["order_recorded"] = verdict.order_recorded;
  row["verdicts"] = std::move(files);
  row["unknown"] = std::move(unknown);
  return row;
}

}  // namespace

void bind_order(py::module_& module) {
  module.def("conflicts", &conflicts, py::arg("traces"), "analyzer/order/conflicts.h");
  module.def("verdicts", &verdicts, py::arg("traces"),
             "The same, and what is properly synchronised: analyzer/order/models/verdicts.h");
}
