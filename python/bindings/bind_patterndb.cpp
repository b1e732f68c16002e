// The pattern database for Python. Failures name the path.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/process/site_limits.h"
#include "core/words/decision_words.h"
#include "patterndb/decide/decide.h"
#include "patterndb/exchange/config_xml.h"
#include "patterndb/exchange/record_json.h"
#include "patterndb/gains/stored_gains.h"
#include "patterndb/learn/observe.h"
#include "patterndb/learn/pending_runs.h"
#include "patterndb/settings/gate.h"
#include "patterndb/settings/parameter_gates.h"
#include "patterndb/settings/parameters.h"
#include "patterndb/settings/proofs.h"
#include "patterndb/settings/proven.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/places.h"
#include "python/bindings/document.h"
#include "python/bindings/errors.h"

namespace py = pybind11;

namespace {

using namespace iotune::patterndb;

// The interpreter may wait longer for a lock than a job's open may.
constexpr int kBusyMilliseconds = 5000;

namespace fs = std::filesystem;

// Faults of the JSON reading, which are no std::exception, become messages here.
template <typename Function>
auto read(const Document& document, const char* source, const Function& function) {
  using Value = decltype(function(std::declval<Node>()));
  return taken(guarded<Value>([&] {
    Json json = parse_json(document.text, source);
    return function(Node(json, ""));
  }));
}

Document document_of(const Json& json) {
  return {dump(json)};
}

template <typename Item>
Document list_of(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& one : items) list.push_back(to_json(one));
  return document_of(list);
}

// A path as the database has texts.
std::string in_utf8(const py::object& path) {
  const py::object text = py::module_::import("os").attr("fspath")(path);
  if (PyUnicode_AsUTF8(text.ptr()) != nullptr) return text.cast<std::string>();
  PyErr_Clear();
  throw CoreError(text.attr("encode")(py::arg("errors") = "replace").cast<std::string>() +
                  ": a path of the database's must be UTF-8");
}

// A FIFO would be waited for, and a device is no file. What is missing may come.
std::string database_at(const py::object& path) {
  std::string text = in_utf8(path);
  std::error_code ignored;
  if (fs::exists(text, ignored) && !fs::is_regular_file(text, ignored)) {
    throw CoreError(text + ": no regular file, so no database");
  }
  return text;
}

const char* layer_name(iotune::ParameterLayer layer) {
  switch (layer) {
    case iotune::ParameterLayer::kFileAccess:
      return "hdf5 file access";
    case iotune::ParameterLayer::kDatasetAccess:
      return "hdf5 dataset access";
    case iotune::ParameterLayer::kDatasetCreation:
      return "hdf5 dataset creation";
    case iotune::ParameterLayer::kDatasetTransfer:
      return "hdf5 dataset transfer";
    case iotune::ParameterLayer::kMpiioHint:
      return "mpi-io hint";
    case iotune::ParameterLayer::kFileSystem:
      return "file system";
    case iotune::ParameterLayer::kPosix:
      return "posix";
  }
  return "";
}

const char* kind_name(iotune::ParameterKind kind) {
  switch (kind) {
    case iotune::ParameterKind::kBytes:
      return "bytes";
    case iotune::ParameterKind::kCount:
      return "count";
    case iotune::ParameterKind::kChoice:
      return "choice";
    case iotune::ParameterKind::kSwitch:
      return "switch";
    case iotune::ParameterKind::kTruth:
      return "true or false";
    case iotune::ParameterKind::kCollectiveIo:
      return "collective or individual";
    case iotune::ParameterKind::kFillTime:
      return "never or ifset";
    case iotune::ParameterKind::kFormat:
      return "v18, v110, v112 or v114";
    case iotune::ParameterKind::kAdvice:
      return "normal, sequential or random";
    case iotune::ParameterKind::kGathering:
      return "memory";
    case iotune::ParameterKind::kText:
      return "text";
    case iotune::ParameterKind::kPair:
      return "pair";
    case iotune::ParameterKind::kList:
      return "list";
  }
  return "";
}

const char* disk_name(iotune::DiskEffect effect) {
  switch (effect) {
    case iotune::DiskEffect::kNone:
      return "none";
    case iotune::DiskEffect::kAllocation:
      return "allocation";
    case iotune::DiskEffect::kLayout:
      return "layout";
    case iotune::DiskEffect::kPlacement:
      return "placement";
  }
  return "";
}

Document parameters() {
  Json list = Json::array();
  for (const iotune::Parameter& parameter : iotune::kParameters) {
    list.push_back({{"name", parameter.name},
                    {"layer", layer_name(parameter.layer)},
                    {"kind", kind_name(parameter.kind)},
                    {"unit", parameter.unit},
                    {"min", parameter.min},
                    {"max", parameter.max},
                    {"multiple", parameter.multiple},
                    {"disk", disk_name(parameter.disk)},
                    {"trainable", parameter.trainable},
                    {"gate", iotune::find_gate(parameter.name)}});
  }
  return document_of(list);
}

std::optional<std::string> fault_of_setting(const std::string& name, const std::string& value) {
  if (value.find('\0') != std::string::npos) return "holds a zero byte";
  const char* fault = iotune::validate(name.c_str(), value.c_str());
  if (fault == nullptr) return std::nullopt;
  return fault;
}

std::string config_xml(const Document& settings, const py::object& of_files, bool forced) {
  std::vector<FileSettings> files = {{"", read(settings, "settings", read_settings)}};
  for (const auto& [file, own] : py::dict(of_files)) {
    files.push_back(
        {file.cast<std::string>(), read(own.cast<Document>(), "settings", read_settings)});
  }
  return config_text(files, forced);
}

Document read_config_xml(const std::string& xml_path, const std::string& data_file) {
  Config config = taken(read_config(xml_path, data_file));
  return document_of({{"settings", to_json(config.settings)}, {"notes", config.notes}});
}

struct Asked {
  Question question;
  Places places;
};

// Members database, spool and config take the place of the environment's.
Asked read_question(const Node& node) {
  node.only({"layer", "program", "file", "mpi", "hdf5", "filesystem", "ranks", "nodes", "creating",
             "database", "lower", "spool", "config", "draw", "mpi_io"});
  Asked asked{{}, places_from_environment()};
  Question& question = asked.question;
  question.layer = node.text_or("layer", "hdf5");
  question.program = node.at("program").text();
  question.file = node.at("file").text();
  question.mpi = node.text_or("mpi", "");
  question.hdf5 = node.text_or("hdf5", "");
  question.filesystem = node.text_or("filesystem", "");
  question.mpi_io = node.text_or("mpi_io", question.mpi_io);
  question.ranks = static_cast<std::uint32_t>(node.count_or("ranks", 1));
  question.nodes = static_cast<std::uint32_t>(node.count_or("nodes", 1));
  question.creating = !node.has("creating") || node.at("creating").truth();
  asked.places.database = node.text_or("database", asked.places.database);
  if (node.has("lower")) {
    asked.places.lower.clear();
    for (const Node& one : node.at("lower").elements()) asked.places.lower.push_back(one.text());
  }
  asked.places.spool = node.text_or("spool", asked.places.spool);
  asked.places.config = node.text_or("config", asked.places.config);
  // Out of curiosity: what most runs get.
  asked.places.draw = node.real_or_none("draw").value_or(1);
  return asked;
}

Json refused_json(const Decision& decision) {
  Json refused = Json::array();
  for (const RefusedSetting& one : decision.refused) {
    refused.push_back({{"name", one.name},
                       {"value", one.value},
                       {"reason", one.reason},
                       {"unproven_name", one.unproven_name},
                       {"unproven_value", one.unproven_value}});
  }
  return refused;
}

// What a run would get at an open, out of this database alone.
Document decide_by(PatternDb& db, const Document& question) {
  Asked asked = read(question, "question", read_question);
  asked.places.database = db.path();
  asked.places.lower.clear();
  asked.places.spool.clear();
  asked.places.config.clear();
  Decision decision = taken(decide(asked.question, asked.places));
  return document_of({{"source", iotune::source_name(decision.source)},
                      {"state", iotune::state_name(decision.state)},
                      {"row", decision.row},
                      {"distance", decision.distance ? Json(*decision.distance) : Json()},
                      {"pattern", decision.pattern},
                      {"message", decision.message},
                      {"settings", to_json(decision.settings)},
                      {"refused", refused_json(decision)}});
}

Document known_settings() {
  Json classes = Json::array(), rows = Json::array();
  for (const ValueClass& one : kValueClasses) {
    classes.push_back(
        {{"parameter", one.parameter}, {"value_class", one.name}, {"tried", one.tried}});
  }
  for (const KnownRow& row : kKnownRows) {
    rows.push_back({{"library", row.library},
                    {"from", row.from},
                    {"to", row.to},
                    {"parameter", row.parameter},
                    {"value_class", row.value_class},
                    {"known", known_name(row.known)},
                    {"because", row.because}});
  }
  return document_of({{"classes", classes}, {"rows", rows}});
}

Document gate_answer(const Document& question, const std::string& name, const std::string& value) {
  Asked asked = read(question, "question", read_question);
  const GateAnswer answer = ask_gate(asked.question, asked.places, name, value);
  return document_of({{"known", answer.proven_here ? "proven here" : known_name(answer.known)},
                      {"reason", answer.reason},
                      {"value_class", value_class(name, value)}});
}

// Of settings as a whole: what one is may depend on another.
Document gate_refusals(const Document& question, const Document& settings) {
  Asked asked = read(question, "question", read_question);
  Decision decision;
  decision.settings = read(settings, "settings", read_settings);
  pass_gate(asked.question, asked.places, decision);
  return document_of(refused_json(decision));
}

std::string mpiio_name(const std::string& mpi, const std::string& mpi_io) {
  return mpiio_library(mpi, mpi_io).name;
}

PlatformFilter read_filter(const Node& node) {
  node.only({"filesystem", "mpi", "hdf5", "host_class"});
  return {node.text_or("filesystem", ""), node.text_or("mpi", ""), node.text_or("hdf5", ""),
          node.text_or("host_class", "")};
}

std::vector<std::string> lower_databases() {
  iotune::read_site_limits(std::getenv("IOTUNE_SITE_CONFIG"), nullptr);
  return lower_db_paths(iotune::site_database());
}

class PythonDb {
 public:
  PythonDb(const py::object& path, bool read_only)
      : db_(taken(PatternDb::open(database_at(path.is_none() ? py::str(default_db_path()) : path),
                                  {read_only ? Access::kReadOnly : Access::kCreate,
                                   kBusyMilliseconds, lower_databases()}))) {}

  PatternDb& operator*() { return db_; }

 private:
  PatternDb db_;
};

Document ingest(PythonDb& db, const py::object& spool) {
  const std::string folder = spool.is_none() ? spool_dir_of((*db).path()) : in_utf8(spool);
  IngestReport report = taken((*db).ingest_spool(folder, SIZE_MAX));
  return document_of({{"files", report.files},
                      {"observations", report.observations},
                      {"moves", report.moves},
                      {"left", report.left},
                      {"faults", report.faults}});
}

// A member of what the database answers.
py::object member(Result<std::string> answer, const char* name) {
  return py::cast(Document{taken(std::move(answer))})[name];
}

py::object observations(PythonDb& db, const Document& workload, std::int64_t bytes,
                        const py::iterable& left_out) {
  std::set<std::string> runs;
  for (const py::handle run : left_out) runs.insert(run.cast<std::string>());
  return member((*db).observations({}, read(workload, "workload", read_workload), bytes, runs),
                "measured");
}

Document merge(PythonDb& db, const py::object& other, const Document& platform) {
  return {taken((*db).merge(database_at(other), read(platform, "platform", read_filter)))};
}

void bind_class(py::module_& module) {
  using namespace py::literals;
  py::class_<PythonDb>(module, "Database",
                       "Patterns, the settings measured for them, and what runs observed. Not for "
                       "several threads at once.")
      .def(py::init<const py::object&, bool>(), "path"_a = py::none(), "read_only"_a = false,
           "Opens the database; unless read_only makes it where missing.")
      .def_property_readonly("path", [](PythonDb& db) { return fs::path((*db).path()); })
      .def("patterns", [](PythonDb& db) { return Document{taken((*db).list())}; })
      .def(
          "show", [](PythonDb& db, std::int64_t id) { return Document{taken((*db).show(id))}; },
          "pattern"_a)
      .def(
          "query",
          [](PythonDb& db, const std::string& text, std::optional<std::uint64_t> element_bytes) {
            return Document{taken((*db).query(text, element_bytes))};
          },
          "descriptor"_a, "element_bytes"_a = py::none())
      .def(
          "add_tuning",
          [](PythonDb& db, const Document& one) {
            return taken((*db).add_tuning(read(one, "tuning", read_tuning)));
          },
          "tuning"_a)
      .def(
          "add_proof",
          [](PythonDb& db, const Document& one) {
            return taken((*db).add_proof(read(one, "proof", read_proof)));
          },
          "proof"_a)
      .def("proofs", [](PythonDb& db) { return list_of(taken((*db).proofs())); })
      .def(
          "add_surface",
          [](PythonDb& db, const Document& one) {
            return taken((*db).add_surface(read(one, "surface", read_surface)));
          },
          "surface"_a)
      .def("surfaces", [](PythonDb& db) { return list_of(taken((*db).surfaces())); })
      .def(
          "add_gain_model",
          [](PythonDb& db, const Document& one) {
            return taken((*db).add_gain_model(read(one, "gain model", read_gain_model)));
          },
          "model"_a)
      .def("gain_models", [](PythonDb& db) { return list_of(taken((*db).gain_models())); })
      .def(
          "import_json",
          [](PythonDb& db, const std::string& text, const std::string& source) {
            return Document{taken((*db).import_json(text, source))};
          },
          "text"_a, "source"_a)
      .def(
          "history",
          [](PythonDb& db, std::int64_t id) { return Document{taken((*db).history(id))}; },
          "pattern"_a)
      .def("ledger", [](PythonDb& db) { return Document{taken((*db).ledger())}; })
      .def("merge", &merge, "other"_a, "platform"_a)
      .def("export_json", [](PythonDb& db) { return taken((*db).export_json()); })
      .def("ingest", &ingest, "spool"_a = py::none())
      .def("compact", [](PythonDb& db) { return Document{taken((*db).compact())}; })
      .def("untrained", [](PythonDb& db) { return member((*db).untrained({}), "untrained"); })
      .def(
          "decide", [](PythonDb& db, const Document& question) { return decide_by(*db, question); },
          "question"_a)
      .def("observations", &observations, "workload"_a, "file_bytes"_a, "left_out"_a = py::tuple());
}

}  // namespace

void bind_patterndb(py::module_& module) {
  using namespace py::literals;
  bind_class(module);
  module.def("default_database", [] { return fs::path(default_db_path()); });
  module.def("lower_databases", [] {
    std::vector<fs::path> found;
    for (const std::string& path : lower_databases()) {
      std::error_code ignored;
      if (fs::exists(path, ignored)) found.emplace_back(path);
    }
    return found;
  });
  module.def(
      "filesystem_of",
      [](const fs::path& directory) { return filesystem_of((directory / "file").string()); },
      "directory"_a);
  module.def("parameters", &parameters);
  module.def("fault_of_setting", &fault_of_setting, "name"_a, "value"_a);
  module.def("known_settings", &known_settings);
  module.def("gate_answer", &gate_answer, "question"_a, "name"_a, "value"_a);
  module.def("gate_refusals", &gate_refusals, "question"_a, "settings"_a);
  module.def("mpiio_name", &mpiio_name, "mpi"_a, "mpi_io"_a);
  module.def("config_xml", &config_xml, "settings"_a, "of_files"_a = py::dict(),
             "forced"_a = false);
  module.def("read_config_xml", &read_config_xml, "path"_a, "data_file"_a);
  module.def(
      "observe", [](const fs::path& trace) { taken(observe(trace.string(), default_spool_dir())); },
      "trace"_a);
  module.def(
      "learn_from_pending_runs",
      [](const fs::path& folder, const py::object& database) {
        LearnRequest request;
        request.places = {folder.string(), in_utf8(database), default_spool_dir(),
                          lower_databases()};
        return taken(learn_from_pending_runs(request)).learnt;
      },
      "folder"_a, "database"_a);
}
