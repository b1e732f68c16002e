// Traces, calls and descriptors for Python. Documents pass as JSON text. Failures are
// iotune._core.Error, a RuntimeError with one line that names the file.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/call_owners.h"
#include "analyzer/descriptor.h"
#include "analyzer/summarize.h"
#include "python/bindings/bindings.h"
#include "recorder/call_table.h"
#include "recorder/read/format_call.h"
#include "recorder/read/join.h"
#include "recorder/read/trace_reader.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using recorder::Call;
using recorder::CallSignature;
using recorder::ProcessCalls;
using recorder::TraceReader;

struct CoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
T taken(recorder::Result<T> result) {
  if (!result) throw CoreError(result.error().text());
  return std::move(*result);
}

// Paths and program texts are bytes: what is not UTF-8 becomes surrogates, as os.fsdecode does.
py::str text_of(const std::string& bytes) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

py::str json_text(const std::string& json) {
  return py::str(json);
}

// "/a/b/c.h5" is itself, c.h5 and b/c.h5.
bool is_file(const std::string& path, const std::string& wanted) {
  if (path == wanted) return true;
  return path.size() > wanted.size() && path.ends_with(wanted) &&
         path[path.size() - wanted.size() - 1] == '/';
}

py::dict dict_of(const ProcessCalls& process, const Call& call) {
  py::dict row;
  row["rank"] = process.rank();
  row["pid"] = process.pid();
  row["thread"] = call.thread;
  row["start"] = static_cast<double>(process.wall_ns() + call.start_ns) / 1e9;
  row["seconds"] = static_cast<double>(call.duration_ns) / 1e9;
  row["exact"] = call.exact;
  row["layer"] = recorder::layer_name(call);
  row["depth"] = recorder::depth_of(call);
  row["name"] = call.name();
  row["text"] = text_of(recorder::format_call(call));
  row["keys"] = call.keys();
  row["numbers"] = std::vector<std::int64_t>(call.numbers.begin(), call.numbers.end());
  py::list texts;
  for (const std::string& text : call.texts()) texts.append(text_of(text));
  row["texts"] = std::move(texts);
  return row;
}

struct Row {
  std::uint64_t order;  // start, never less than that of the row before in its process
  py::dict dict;
};

struct Filter {
  std::optional<std::int64_t> rank;
  std::optional<std::string> layer, file;
  std::size_t limit;
};

void add_rows(const ProcessCalls& process, const Filter& filter, std::vector<Row>& rows) {
  std::vector<bool> wanted;
  analyzer::CallOwners owners;
  if (filter.file) {
    owners = analyzer::owners_of(process);
    for (const std::string& path : owners.files) wanted.push_back(is_file(path, *filter.file));
  }
  std::size_t taken_here = 0;
  std::uint64_t order = 0;
  for (const std::size_t i : recorder::start_order(process.calls)) {
    const Call& call = process.calls[i];
    order = std::max(order, process.wall_ns() + call.start_ns);
    if (filter.layer && *filter.layer != recorder::layer_name(call)) continue;
    if (filter.file) {
      const std::int32_t owner = owners.file_of_call[i];
      if (owner < 0 || !wanted[static_cast<std::size_t>(owner)]) continue;
    }
    if (taken_here++ == filter.limit) break;
    rows.push_back({order, dict_of(process, call)});
  }
}

py::list calls(const std::string& path, std::optional<std::int64_t> rank,
               std::optional<std::string> layer, std::optional<std::string> file,
               std::optional<std::size_t> limit) {
  const TraceReader reader = taken(TraceReader::open(path));
  const Filter filter{rank, std::move(layer), std::move(file), limit.value_or(SIZE_MAX)};
  std::vector<Row> rows;
  for (std::size_t i = 0; i < reader.process_count(); ++i) {
    const recorder::ProcessHead head = reader.head(i);
    const auto own = head.attributes.find("rank");
    const std::string own_rank = own == head.attributes.end() ? "-1" : own->second;
    if (rank && std::to_string(*rank) != own_rank) continue;
    add_rows(reader.read(i), filter, rows);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.order < b.order; });
  if (rows.size() > filter.limit) rows.resize(filter.limit);
  py::list list;
  for (const Row& row : rows) list.append(row.dict);
  return list;
}

py::object value_of(const std::string& text) {
  const bool digits =
      !text.empty() && text.find_first_not_of("0123456789", text[0] == '-') == std::string::npos;
  if (digits && text != "-" && text.size() < 19) return py::int_(std::stoll(text));
  return text_of(text);
}

// What is a number by its nature; a host or a run may be called 42.
bool is_numeric(const std::string& key) {
  static const char* const kNumbers[] = {"pid",         "rank",   "size",    "wall_ns",
                                         "start_ticks", "parent", "dropped", "ticks_per_second"};
  return std::any_of(std::begin(kNumbers), std::end(kNumbers),
                     [&](const char* name) { return key == name; });
}

py::list processes(const std::string& path) {
  const TraceReader reader = taken(TraceReader::open(path));
  py::list list;
  for (std::size_t i = 0; i < reader.process_count(); ++i) {
    const recorder::ProcessHead head = reader.head(i);
    py::dict row;
    for (const auto& [key, value] : head.attributes) {
      if (key == "argv") continue;
      row[text_of(key)] = is_numeric(key) ? value_of(value) : py::object(text_of(value));
    }
    py::list arguments;
    const auto argv = head.attributes.find("argv");
    for (std::size_t at = 0; argv != head.attributes.end() && at <= argv->second.size();) {
      const std::size_t end = std::min(argv->second.find('\0', at), argv->second.size());
      arguments.append(text_of(argv->second.substr(at, end - at)));
      at = end + 1;
    }
    row["argv"] = std::move(arguments);
    const auto end = head.end.find("end");
    row["end"] = end == head.end.end() ? py::object(py::none()) : py::object(text_of(end->second));
    const auto late = head.end.find("late");
    row["late"] = late == head.end.end() ? py::object(py::int_(0)) : value_of(late->second);
    row["alive"] = head.alive;
    row["calls"] = head.calls;
    row["dropped"] = head.dropped;
    list.append(row);
  }
  return list;
}

py::dict join(const std::vector<std::string>& buffers, const std::string& out, bool remove) {
  const recorder::JoinReport report = taken(recorder::join(buffers, out, remove));
  py::dict row;
  row["trace"] = text_of(out);
  row["processes"] = report.processes;
  row["calls"] = report.calls;
  row["removed"] = report.removed;
  py::list warnings;
  for (const std::string& warning : report.warnings) warnings.append(text_of(warning));
  row["warnings"] = std::move(warnings);
  return row;
}

const char* form_name(recorder::ArgumentForm form) {
  static constexpr const char* kNames[] = {"key", "number", "array", "text", "none"};
  return kNames[static_cast<std::size_t>(form)];
}

const char* layer_of(const CallSignature& signature) {
  static constexpr const char* kNames[] = {"hdf5", "mpiio", "stdio", "posix", "iotune"};
  return kNames[static_cast<std::size_t>(signature.layer)];
}

py::list call_table() {
  py::list list;
  for (const CallSignature& signature : recorder::call_table()) {
    py::list arguments;
    for (const recorder::ArgumentSignature& argument : signature.arguments) {
      py::dict item;
      item["name"] = std::string(argument.name);
      item["form"] = form_name(argument.form);
      arguments.append(item);
    }
    py::list extras, texts;
    for (const std::string_view name : signature.extras) extras.append(std::string(name));
    for (const std::string_view name : signature.texts) texts.append(std::string(name));
    py::dict row;
    row["name"] = std::string(signature.name);
    row["layer"] = layer_of(signature);
    row["transfer"] = signature.transfer;
    row["arguments"] = std::move(arguments);
    row["extras"] = std::move(extras);
    row["texts"] = std::move(texts);
    list.append(row);
  }
  return list;
}

}  // namespace

void bind_trace(py::module_& module) {
  py::register_exception<CoreError>(module, "Error", PyExc_RuntimeError);
  module.def(
      "summarize",
      [](const std::string& path) {
        recorder::Result<analyzer::RunSummary> summary = [&] {
          const py::gil_scoped_release released;
          return analyzer::summarize(path);
        }();
        return json_text(analyzer::to_json(taken(std::move(summary))));
      },
      py::arg("path"), "What the run did, as JSON: analyzer/run_summary.h.");
  module.def("calls", &calls, py::arg("path"), py::arg("rank") = py::none(),
             py::arg("layer") = py::none(), py::arg("file") = py::none(),
             py::arg("limit") = py::none(),
             "The calls in the order of their starts, a call before those inside it.");
  module.def("processes", &processes, py::arg("path"), "PROCESS and END of each process.");
  module.def("join", &join, py::arg("buffers"), py::arg("out"), py::arg("remove") = false,
             "Make one trace of process buffers.");
  module.def(
      "parse_descriptor",
      [](const std::string& text) {
        return json_text(analyzer::to_json(taken(analyzer::parse_descriptor(text))));
      },
      py::arg("text"), "A descriptor as JSON.");
  module.def("call_table", &call_table, "The calls that iotune records.");
}
