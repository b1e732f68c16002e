// Traces, calls and descriptors for Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/datasets/descriptor.h"
#include "analyzer/summary/alike_files.h"
#include "analyzer/summary/summarize.h"
#include "python/bindings/bindings.h"
#include "python/bindings/document.h"
#include "python/bindings/errors.h"
#include "recorder/call_table.h"
#include "recorder/read/join.h"
#include "recorder/read/losses.h"
#include "recorder/read/trace_reader.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using recorder::CallSignature;
using recorder::TraceReader;

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

py::list processes(const std::filesystem::path& path) {
  const TraceReader reader = taken(TraceReader::open(path.string()));
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

py::dict join(const std::vector<std::filesystem::path>& buffers, const std::filesystem::path& out,
              bool remove) {
  const std::vector<std::string> paths(buffers.begin(), buffers.end());
  const recorder::JoinReport report = taken(recorder::join(paths, out.string(), remove));
  py::dict row;
  row["trace"] = text_of(out.string());
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

py::object place_or_none(std::int8_t place) {
  return place == recorder::CallMeaning::kNowhere ? py::object(py::none())
                                                  : py::object(py::int_(place));
}

// As the head of calls.table has it. python/iotune/traces/call_meaning.py gives it a type.
py::dict meaning_of(const recorder::CallMeaning& meaning) {
  const std::pair<const char*, bool> words[] = {
      {"pointer", meaning.pointer},       {"shared", meaning.shared},
      {"ordered", meaning.ordered},       {"collective", meaning.collective},
      {"split", meaning.split},           {"begins", meaning.begins},
      {"chunk", meaning.chunk},           {"untimed", meaning.untimed},
      {"calls_back", meaning.calls_back}, {"selects", meaning.selects},
      {"persistent", meaning.persistent}};
  py::list said;
  for (const auto& [word, holds] : words) {
    if (holds) said.append(word);
  }
  py::dict row;
  row["verb"] = std::string(recorder::name_of(meaning.verb));
  row["thing"] = std::string(recorder::name_of(meaning.thing));
  row["words"] = std::move(said);
  row["handle_argument"] = place_or_none(meaning.handle_argument);
  row["handle"] = place_or_none(meaning.handle_place);
  row["named"] = place_or_none(meaning.named_text);
  row["offset"] = place_or_none(meaning.offset_place);
  row["bytes"] = place_or_none(meaning.bytes_place);
  row["item_bytes"] = place_or_none(meaning.item_bytes_place);
  row["count"] = place_or_none(meaning.count_place);
  return row;
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
    row["writes"] = signature.writes;
    row["order"] = signature.meaning.order;
    row["meaning"] = meaning_of(signature.meaning);
    row["arguments"] = std::move(arguments);
    row["extras"] = std::move(extras);
    row["texts"] = std::move(texts);
    list.append(row);
  }
  return list;
}

}  // namespace

void bind_trace(py::module_& module) {
  module.def(
      "summarize",
      [](const std::filesystem::path& path, std::uint64_t calls_at_once, const py::object& take,
         bool fold) {
        std::exception_ptr raised;
        const auto give = [&](const auto& file) {
          if (raised) return;
          const py::gil_scoped_acquire held;
          try {
            take(Document{analyzer::to_json(file)});
          } catch (const py::error_already_set&) {
            raised = std::current_exception();
          }
        };
        analyzer::FileFolder folder;
        const auto take_file = [&](analyzer::FilePattern&& file) {
          if (fold) {
            folder.take(std::move(file));
          } else {
            give(file);
          }
        };
        recorder::Result<analyzer::RunSummary> summary = [&] {
          const py::gil_scoped_release released;
          return analyzer::summarize(path.string(), calls_at_once,
                                     take.is_none() ? nullptr : analyzer::TakeFile(take_file));
        }();
        folder.each(give);
        if (raised) std::rethrow_exception(raised);
        return Document{analyzer::to_json(taken(std::move(summary)))};
      },
      py::arg("path"), py::arg("calls_at_once") = std::uint64_t{1} << 18U,
      py::arg("take") = py::none(), py::arg("fold") = false,
      "What the run did: analyzer/summary/run_summary.h. `take` gets each file, and it has none.");
  module.def(
      "losses",
      [](const std::filesystem::path& path) {
        py::list list;
        for (const std::string& loss :
             recorder::losses_of(taken(TraceReader::open(path.string())).index())) {
          list.append(text_of(loss));
        }
        return list;
      },
      py::arg("path"), "What is missing or damaged, as far as it is known without decoding calls.");
  module.def("processes", &processes, py::arg("path"), "PROCESS and END of each process.");
  module.def("join", &join, py::arg("buffers"), py::arg("out"), py::arg("remove") = false,
             "Make one trace of process buffers.");
  module.def(
      "parse_descriptor",
      [](const std::string& text) {
        const analyzer::Descriptor descriptor = taken(analyzer::parse_descriptor(text));
        if (descriptor.last_in_bytes) throw CoreError("elements expected, not bytes");
        return Document{analyzer::to_json(descriptor)};
      },
      py::arg("text"), "A descriptor's dimensions.");
  module.def("call_table", &call_table, "The calls that iotune records.");
}
