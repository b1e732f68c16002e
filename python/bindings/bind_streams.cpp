// The streams of a trace for `iotune analyze`. python/iotune/analysis gives them types.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/baselines/he2013/he2013_streams.h"
#include "analyzer/pattern_log/merge_logs.h"
#include "analyzer/streams/analyze_part.h"
#include "analyzer/streams/stream_groups.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using patterns::Prediction;

// Tells Python ten times a second how many accesses were read; Ctrl-C ends the work there.
class Progress {
 public:
  explicit Progress(py::object tell) : tell_(std::move(tell)) {}

  void operator()(std::uint64_t accesses) {
    accesses_ += accesses;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!tell_.is_none()) tell_(accesses_);
    accesses_ = 0;
  }

 private:
  py::object tell_;
  std::uint64_t accesses_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

analyzer::PartOptions part_options(std::size_t first, std::size_t count, unsigned layers,
                                   std::string predictor, unsigned ahead) {
  return {first, count, layers, std::move(predictor), ahead};
}

py::list texts_of(const std::vector<std::string>& texts) {
  py::list list;
  for (const std::string& text : texts) list.append(text_of(text));
  return list;
}

py::list next_of(const std::vector<Prediction>& next) {
  py::list list;
  for (const Prediction& one : next) {
    list.append(py::make_tuple(one.extent.offset, one.extent.length, one.confidence));
  }
  return list;
}

py::dict analyze_part(const std::string& trace, std::size_t first, std::size_t count,
                      unsigned layers, const std::string& predictor, unsigned ahead,
                      const std::string& log, const std::string& records, py::object tell) {
  Progress progress(std::move(tell));
  const analyzer::PartDone done = [&] {
    const py::gil_scoped_release released;
    return taken(analyzer::analyze_part(trace, part_options(first, count, layers, predictor, ahead),
                                        log, records, std::ref(progress)));
  }();
  py::dict row;
  row["accesses"] = done.accesses;
  row["streams"] = done.streams;
  row["without_place"] = done.without_place;
  row["empty"] = done.empty;
  row["log_bytes"] = done.log_bytes;
  row["losses"] = texts_of(done.losses);
  return row;
}

py::tuple merge_logs(const std::vector<std::string>& parts, const std::string& out) {
  const analyzer::MergedLog merged = [&] {
    const py::gil_scoped_release released;
    return taken(analyzer::merge_logs(parts, out));
  }();
  return py::make_tuple(merged.bytes, merged.streams);
}

py::dict group_row(analyzer::StreamGroup& group) {
  py::list ranks;
  for (const analyzer::RankRun& run : group.members.ranks()) {
    ranks.append(py::make_tuple(run.first, run.last, run.step));
  }
  py::dict row;
  row["streams"] = group.members.count();
  row["ranks"] = std::move(ranks);
  row["more_ranks"] = group.members.more_ranks();
  row["first_start"] = group.members.first_start();
  row["starts"] = group.members.starts_text();
  row["accesses"] = group.accesses;
  row["bytes"] = group.bytes;
  row["right"] = group.right;
  row["terms"] = group.terms;
  row["nests"] = texts_of(group.nests);
  row["next"] = next_of(group.next);
  return row;
}

template <typename Named>
py::dict sums_row(const Named& named) {
  py::dict row;
  row["name"] = text_of(named.name);
  row["streams"] = named.streams;
  row["accesses"] = named.accesses;
  row["bytes"] = named.bytes;
  row["right"] = named.right;
  return row;
}

py::list group_streams(const std::string& log, const std::vector<std::string>& records,
                       unsigned ahead, std::size_t kept, std::size_t shown_terms) {
  std::vector<analyzer::NamedStreams> names = [&] {
    const py::gil_scoped_release released;
    return taken(analyzer::group_streams(log, records, {ahead, kept, shown_terms}));
  }();
  py::list list;
  for (analyzer::NamedStreams& named : names) {
    py::dict row = sums_row(named);
    row["groups"] = named.groups;
    py::list shown;
    for (analyzer::StreamGroup& group : named.shown) shown.append(group_row(group));
    row["shown"] = std::move(shown);
    list.append(std::move(row));
  }
  return list;
}

py::dict he2013_streams(const std::string& trace, unsigned layers, const std::string& predictor,
                        unsigned ahead, std::size_t shown, std::size_t most_entries,
                        py::object tell) {
  Progress progress(std::move(tell));
  const analyzer::He2013Done done = [&] {
    const py::gil_scoped_release released;
    return taken(analyzer::he2013_streams(trace,
                                          part_options(0, SIZE_MAX, layers, predictor, ahead),
                                          shown, most_entries, std::ref(progress)));
  }();
  py::list names;
  for (const analyzer::He2013Streams& named : done.names) {
    py::dict row = sums_row(named);
    row["local_entries"] = named.local_entries;
    row["local_bytes"] = named.local_bytes;
    row["global_entries"] = named.global_entries;
    row["global_bytes"] = named.global_bytes;
    py::list entries;
    for (const analyzer::He2013Entry& entry : named.shown) {
      entries.append(py::make_tuple(entry.text, entry.accesses));
    }
    row["shown"] = std::move(entries);
    row["next"] = next_of(named.next);
    names.append(std::move(row));
  }
  py::dict row;
  row["names"] = std::move(names);
  row["accesses"] = done.accesses;
  row["without_place"] = done.without_place;
  row["empty"] = done.empty;
  row["losses"] = texts_of(done.losses);
  return row;
}

std::vector<std::uint64_t> process_calls(const std::string& trace) {
  const recorder::TraceIndex index = taken(recorder::index_trace(trace));
  std::vector<std::uint64_t> calls;
  calls.reserve(index.processes.size());
  for (const recorder::ProcessSection& section : index.processes) {
    std::uint64_t sum = 0;
    for (const recorder::EventsPlace& place : section.events) sum += place.calls;
    calls.push_back(sum);
  }
  return calls;
}

}  // namespace

void bind_streams(py::module_& module) {
  module.def("process_calls", &process_calls, py::arg("trace"),
             py::call_guard<py::gil_scoped_release>(), "Calls of each process of a trace.");
  module.def("analyze_part", &analyze_part, py::arg("trace"), py::arg("first"), py::arg("count"),
             py::arg("layers"), py::arg("predictor"), py::arg("ahead"), py::arg("log"),
             py::arg("records"), py::arg("tell"), "analyzer/streams/analyze_part.h");
  module.def("merge_logs", &merge_logs, py::arg("parts"), py::arg("out"),
             "analyzer/pattern_log/merge_logs.h");
  module.def("group_streams", &group_streams, py::arg("log"), py::arg("records"), py::arg("ahead"),
             py::arg("kept"), py::arg("shown_terms"), "analyzer/streams/stream_groups.h");
  module.def("he2013_streams", &he2013_streams, py::arg("trace"), py::arg("layers"),
             py::arg("predictor"), py::arg("ahead"), py::arg("shown"), py::arg("most_entries"),
             py::arg("tell"), "analyzer/baselines/he2013/he2013_streams.h");
}
