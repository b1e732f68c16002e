// Which conflicts are properly synchronised. python/iotune/verify gives it types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <vector>

#include "analyzer/order/models/verdicts.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace py = pybind11;

namespace {

using namespace iotune;

const char* const kModelWords[analyzer::kModels] = {"posix", "commit", "session", "mpiio"};

py::dict place_row(const analyzer::ConflictPlace& place) {
  py::dict row;
  row["process"] = place.process;
  row["rank"] = place.rank;
  row["offset"] = place.offset;
  row["length"] = place.length;
  row["write"] = place.write;
  row["segment"] = place.segment;
  return row;
}

py::dict site_row(const analyzer::SiteVerdict& site) {
  py::dict row, models;
  row["first"] = text_of(site.first);
  row["second"] = text_of(site.second);
  row["pairs"] = site.pairs;
  for (std::size_t m = 0; m < analyzer::kModels; ++m) {
    const analyzer::SiteVerdict::Model& model = site.models[m];
    if (model.wrong == 0) continue;
    py::dict of_model;
    of_model["wrong"] = model.wrong;
    of_model["missing"] = text_of(model.missing);
    if (model.example) {
      of_model["example"] =
          py::make_tuple(place_row(model.example->first), place_row(model.example->second));
    }
    models[kModelWords[m]] = std::move(of_model);
  }
  row["models"] = std::move(models);
  return row;
}

py::dict verdicts(const std::vector<std::filesystem::path>& paths) {
  analyzer::TraceVerdict found;
  {
    const py::gil_scoped_release released;
    std::vector<recorder::TraceIndex> traces;
    for (const auto& path : paths) traces.push_back(taken(recorder::index_trace(path.string())));
    found = analyzer::verify_traces(traces);
  }
  py::list files, unknown;
  for (const analyzer::FileVerdict& one : found.files) {
    py::list sites;
    for (const analyzer::SiteVerdict& site : one.sites) sites.append(site_row(site));
    py::dict row, wrong;
    for (std::size_t m = 0; m < analyzer::kModels; ++m) wrong[kModelWords[m]] = one.wrong[m];
    row["path"] = text_of(found.accesses.files[one.file].path);
    row["pairs"] = one.pairs;
    row["wrong"] = std::move(wrong);
    row["sites"] = std::move(sites);
    files.append(std::move(row));
  }
  for (const analyzer::OrderUnknown& one : found.unknown) {
    py::dict row;
    row["reason"] = text_of(one.reason);
    row["times"] = one.times;
    row["process"] = one.process;
    row["event"] = one.event;
    unknown.append(std::move(row));
  }
  py::dict row;
  row["order_recorded"] = found.order_recorded;
  row["files"] = std::move(files);
  row["unknown"] = std::move(unknown);
  return row;
}

}  // namespace

void bind_verdicts(py::module_& module) {
  module.def("verdicts", &verdicts, py::arg("traces"), "analyzer/order/models/verdicts.h");
}
