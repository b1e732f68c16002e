// What the tests read traces with: the recorder's own reader, printed as JSON. It needs no
// Python package, so that tests of the preload run from ctest alone.
//   trace_json calls FILE      one line a call, in the order of their ends within a process
//   trace_json heads FILE      one line a process: its attributes, its end, alive, dropped
//   trace_json summary FILE    the analyzer's summary
//   trace_json join OUT FILE…  joins process buffers
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/calls/mpi_accesses.h"
#include "analyzer/summary/run_summary.h"
#include "analyzer/summary/summarize.h"
#include "recorder/read/access_words.h"
#include "recorder/read/call_arguments.h"
#include "recorder/read/format_call.h"
#include "recorder/read/join.h"
#include "recorder/read/trace_reader.h"

namespace {

using nlohmann::json;
namespace recorder = iotune::recorder;

json selection_json(const recorder::Selection& selection) {
  json rows = json::array();
  const std::size_t n = selection.dimensions;
  for (std::size_t i = 0; n > 0 && i < selection.values.size() / n; ++i) {
    const auto row = selection.row(i);
    rows.push_back(std::vector<std::int64_t>(row.begin(), row.end()));
  }
  return {{"kind", static_cast<int>(selection.kind)}, {"dimensions", n}, {"rows", rows}};
}

// The extras of a transfer of HDF5 as the recorder's reader understands them.
json transfers_json(const recorder::Call& call) {
  json out = json::array();
  const auto arguments = recorder::arguments_of(call);
  if (!arguments || !call.signature()->transfer ||
      call.signature()->layer != iotune::Layer::kHdf5) {
    return out;
  }
  for (const recorder::TransferExtras& one : recorder::transfer_extras(*arguments)) {
    json made = {{"object", one.object},
                 {"mode", one.mode},
                 {"type_bytes", one.type_bytes},
                 {"points", one.points},
                 {"file", selection_json(one.file)},
                 {"memory", selection_json(one.memory)}};
    if (one.actual) {
      made["actual"] = {one.actual->io_mode, one.actual->local_cause, one.actual->global_cause};
    }
    out.push_back(std::move(made));
  }
  return out;
}

json arguments_json(const recorder::Call& call) {
  json out = json::object();
  const auto arguments = recorder::arguments_of(call);
  if (!arguments) return out;
  for (const recorder::ArgumentValue& value : arguments->values) {
    const std::string name(value.signature->name);
    switch (value.signature->form) {
      case recorder::ArgumentForm::kArray:
        out[name] =
            value.null
                ? json()
                : json(std::vector<std::int64_t>(value.numbers.begin(), value.numbers.end()));
        break;
      case recorder::ArgumentForm::kText:
        out[name] = std::string(value.text);
        break;
      case recorder::ArgumentForm::kNone:
        break;
      default:
        out[name] = value.numbers.empty() ? json() : json(value.numbers[0]);
    }
  }
  if (arguments->result) out["result"] = *arguments->result;
  out["extras"] = std::vector<std::int64_t>(arguments->extras.begin(), arguments->extras.end());
  return out;
}

json extents_json(const std::optional<iotune::analyzer::FileExtents>& found) {
  if (!found) return {};
  json pieces = json::array();
  for (const auto& [offset, bytes] : found->extents) pieces.push_back({offset, bytes});
  return {{"pieces", pieces}, {"unknown", found->unknown}};
}

json moved_json(const recorder::Call& call) {
  if (call.signature() == nullptr || !call.signature()->transfer) return {};
  const auto bytes = recorder::access_words(call).length_bytes;
  return bytes ? json(*bytes) : json();
}

void print(const json& value) {
  std::puts(value.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

int calls(const recorder::TraceReader& trace) {
  for (std::size_t i = 0; i < trace.process_count(); ++i) {
    const recorder::ProcessCalls process = trace.read(i);
    iotune::analyzer::MpiAccesses accesses;
    for (const recorder::Call& call : process.calls) {
      print({{"process", i},
             {"extents", extents_json(accesses.follow(call, 1U << 20U))},
             {"pid", process.pid()},
             {"rank", process.rank()},
             {"thread", call.thread},
             {"name", call.name()},
             {"layer", recorder::layer_name(call)},
             {"depth", recorder::depth_of(call)},
             {"text", recorder::format_call(call)},
             {"line", recorder::format_line(call, process.wall_ns())},
             {"exact", call.exact},
             {"start_ns", call.start_ns},
             {"duration_ns", call.duration_ns},
             {"keys", call.keys()},
             {"texts", call.texts()},
             {"numbers", std::vector<std::int64_t>(call.numbers.begin(), call.numbers.end())},
             {"arguments", arguments_json(call)},
             {"bytes", moved_json(call)},
             {"writes", call.signature() != nullptr && call.signature()->writes},
             {"transfers", transfers_json(call)}});
    }
  }
  return 0;
}

int heads(const recorder::TraceReader& trace) {
  for (std::size_t i = 0; i < trace.process_count(); ++i) {
    const recorder::ProcessHead head = trace.head(i);
    print({{"attributes", head.attributes},
           {"end", head.end},
           {"alive", head.alive},
           {"dropped", head.dropped},
           {"calls", head.calls},
           {"damage", trace.read(i).damage},
           {"warnings", trace.warnings()}});
  }
  return 0;
}

int fail(const std::string& why) {
  std::fprintf(stderr, "trace_json: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return fail("usage: trace_json calls|heads|summary FILE, join OUT FILE…");
  const std::string what = argv[1];
  if (what == "join") {
    const auto report =
        recorder::join(std::vector<std::string>(argv + 3, argv + argc), argv[2], false);
    if (!report) return fail(report.error().text());
    print({{"processes", report->processes},
           {"calls", report->calls},
           {"warnings", report->warnings}});
    return 0;
  }
  if (what == "summary") {
    const auto summary = iotune::analyzer::summarize(argv[2]);
    if (!summary) return fail(summary.error().text());
    std::puts(iotune::analyzer::to_json(*summary).c_str());
    return 0;
  }
  const auto trace = recorder::TraceReader::open(argv[2]);
  if (!trace) return fail(trace.error().text());
  return what == "calls" ? calls(*trace) : heads(*trace);
}
