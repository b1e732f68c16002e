// The pattern database for Python. Documents pass as JSON text: one shape for the command line,
// for --json and for tests. Failures are RuntimeError with one line that names the path.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
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

namespace py = pybind11;

namespace {

using namespace iotune::patterndb;

// The interpreter may wait longer for a lock than a job's open may.
constexpr int kBusyMilliseconds = 5000;

template <typename T>
T taken(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

// Faults of the JSON reading, which are no std::exception, become messages here.
template <typename Function>
auto read(const std::string& text, const char* source, const Function& function) {
  using Value = decltype(function(std::declval<Node>()));
  return taken(guarded<Value>([&] {
    Json json = parse_json(text, source);
    return function(Node(json, ""));
  }));
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

std::string parameters() {
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
  return dump(list);
}

std::optional<std::string> validate_setting(const std::string& name, const std::string& value) {
  const char* fault = iotune::validate(name.c_str(), value.c_str());
  if (fault == nullptr) return std::nullopt;
  return fault;
}

std::string settings_text(const std::string& json) {
  return read(json, "settings", [](const Node& node) { return read_settings(node).text(); });
}

std::string write_config_xml(const std::string& json, bool forced) {
  return read(json, "settings", [forced](const Node& node) {
    std::vector<FileSettings> files;
    for (const auto& [file_name, settings] : node.value().items()) {
      files.push_back({file_name, read_settings(node.at(file_name.c_str()))});
    }
    return config_text(files, forced);
  });
}

std::string read_config_xml(const std::string& xml_path, const std::string& data_file) {
  Config config = taken(read_config(xml_path, data_file));
  return dump({{"settings", to_json(config.settings)}, {"notes", config.notes}});
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

std::string decide_json(const std::string& question) {
  Asked asked = read(question, "question", read_question);
  Decision decision = taken(decide(asked.question, asked.places));
  return dump({{"source", iotune::source_name(decision.source)},
               {"state", iotune::state_name(decision.state)},
               {"row", decision.row},
               {"distance", decision.distance ? Json(*decision.distance) : Json()},
               {"pattern", decision.pattern},
               {"message", decision.message},
               {"settings", to_json(decision.settings)},
               {"refused", refused_json(decision)}});
}

std::string known_settings() {
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
  return dump({{"classes", classes}, {"rows", rows}});
}

std::string gate_answer(const std::string& question, const std::string& name,
                        const std::string& value) {
  Asked asked = read(question, "question", read_question);
  const GateAnswer answer = ask_gate(asked.question, asked.places, name, value);
  return dump({{"known", answer.proven_here ? "proven here" : known_name(answer.known)},
               {"reason", answer.reason},
               {"value_class", value_class(name, value)}});
}

// Of settings as a whole: what one is may depend on another.
std::string gate_refusals(const std::string& question, const std::string& settings) {
  Asked asked = read(question, "question", read_question);
  Decision decision;
  decision.settings = read(settings, "settings", read_settings);
  pass_gate(asked.question, asked.places, decision);
  return dump(refused_json(decision));
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
  PythonDb(const std::optional<std::string>& path, bool read_only)
      : db_(taken(PatternDb::open(path.value_or(default_db_path()),
                                  {read_only ? Access::kReadOnly : Access::kCreate,
                                   kBusyMilliseconds, lower_databases()}))) {}

  PatternDb& operator*() {
    if (!db_) throw std::runtime_error("the pattern database is closed");
    return *db_;
  }
  void close() { db_.reset(); }

 private:
  std::optional<PatternDb> db_;
};

std::string ingest(PythonDb& db, const std::optional<std::string>& spool) {
  IngestReport report =
      taken((*db).ingest_spool(spool.value_or(spool_dir_of((*db).path())), SIZE_MAX));
  return dump({{"files", report.files},
               {"observations", report.observations},
               {"moves", report.moves},
               {"left", report.left},
               {"faults", report.faults}});
}

std::int64_t add_tuning(PythonDb& db, const std::string& json) {
  return taken((*db).add_tuning(read(json, "tuning", read_tuning)));
}

bool add_proof(PythonDb& db, const std::string& json) {
  return taken((*db).add_proof(read(json, "proof", read_proof)));
}

std::string proofs(PythonDb& db) {
  Json list = Json::array();
  for (const Proof& one : taken((*db).proofs())) list.push_back(to_json(one));
  return dump(list);
}

std::size_t add_surface(PythonDb& db, const std::string& json) {
  return taken((*db).add_surface(read(json, "surface", read_surface)));
}

std::string surfaces(PythonDb& db) {
  Json list = Json::array();
  for (const Surface& one : taken((*db).surfaces())) list.push_back(to_json(one));
  return dump(list);
}

bool add_gain_model(PythonDb& db, const std::string& json) {
  return taken((*db).add_gain_model(read(json, "gain model", read_gain_model)));
}

std::string gain_models(PythonDb& db) {
  Json list = Json::array();
  for (const StoredGainModel& one : taken((*db).gain_models())) list.push_back(to_json(one));
  return dump(list);
}

std::string untrained(PythonDb& db, const std::optional<std::string>& platform) {
  PlatformFilter filter;
  if (platform) filter = read(*platform, "platform", read_filter);
  return taken((*db).untrained(filter));
}

std::string observations(PythonDb& db, const std::optional<std::int64_t>& pattern,
                         const std::optional<std::string>& workload,
                         const std::optional<std::int64_t>& bytes,
                         const std::set<std::string>& left_out) {
  std::optional<Workload> one;
  if (workload) one = read(*workload, "workload", read_workload);
  return taken((*db).observations(pattern, one, bytes, left_out));
}

void bind_class(py::module_& module) {
  using namespace py::literals;
  py::class_<PythonDb>(module, "PatternDb",
                       "Patterns, the settings measured for them, and what runs observed. Not for "
                       "several threads at once.")
      .def(py::init<const std::optional<std::string>&, bool>(), "path"_a = py::none(),
           "read_only"_a = false, "Opens the database; unless read_only makes it where missing.")
      .def_property_readonly("path", [](PythonDb& db) { return (*db).path(); })
      .def("close", &PythonDb::close)
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](PythonDb& db, const py::args&) { db.close(); })
      .def(
          "list", [](PythonDb& db) { return taken((*db).list()); },
          "Every pattern with its workloads and its newest answer per platform.")
      .def(
          "show", [](PythonDb& db, std::int64_t id) { return taken((*db).show(id)); }, "id"_a,
          "One pattern with all evidence.")
      .def(
          "query",
          [](PythonDb& db, const std::string& text, std::optional<std::uint64_t> element_bytes) {
            return taken((*db).query(text, element_bytes));
          },
          "text"_a, "element_bytes"_a = py::none(),
          "Patterns by descriptor, by descriptor in bytes, or by byte key.")
      .def("add_tuning", &add_tuning, "json"_a, "Adds one answer, returns its row.")
      .def("add_proof", &add_proof, "json"_a, "Adds what was compared; false where it is there.")
      .def("proofs", &proofs, "All that was compared on some platform.")
      .def("add_surface", &add_surface, "json"_a, "Adds trials; returns how many are new.")
      .def("surfaces", &surfaces, "All trials, by pattern and platform.")
      .def("add_gain_model", &add_gain_model, "json"_a, "Adds a model; false where it is there.")
      .def("gain_models", &gain_models, "All models, the oldest first.")
      .def(
          "import_json",
          [](PythonDb& db, const std::string& text, const std::string& source) {
            return taken((*db).import_json(text, source));
          },
          "text"_a, "source"_a = "import", "All or nothing; returns what was new.")
      .def(
          "history", [](PythonDb& db, std::int64_t id) { return taken((*db).history(id)); }, "id"_a,
          "Every move of a pattern's answers with its evidence.")
      .def(
          "ledger", [](PythonDb& db) { return taken((*db).ledger()); },
          "Hours saved and lost, answers taken back.")
      .def(
          "merge",
          [](PythonDb& db, const std::string& other, const std::optional<std::string>& platform) {
            PlatformFilter filter;
            if (platform) filter = read(*platform, "platform", read_filter);
            return taken((*db).merge(other, filter));
          },
          "other"_a, "platform"_a = py::none(),
          "Another database's rows of the platforms that fit; returns what was new.")
      .def("export_json", [](PythonDb& db) { return taken((*db).export_json()); })
      .def("ingest", &ingest, "spool_dir"_a = py::none(), "Folds the spool in.")
      .def(
          "compact", [](PythonDb& db) { return taken((*db).compact()); },
          "Adds up observations beyond the newest, and gives free space back.")
      .def("untrained", &untrained, "platform"_a = py::none(),
           "Patterns that lack an answer, with the run to train from.")
      .def("observations", &observations, "pattern"_a = py::none(), "workload"_a = py::none(),
           "bytes"_a = py::none(), "left_out"_a = std::set<std::string>(),
           "Seconds and rates per platform and settings, without those of some runs.");
}

}  // namespace

void bind_patterndb(py::module_& module) {
  using namespace py::literals;
  bind_class(module);
  module.def("default_db_path", &default_db_path);
  module.def("default_spool_dir", &default_spool_dir);
  module.def("lower_databases", &lower_databases,
             "The databases that are only read, beneath the user's own, in the order asked.");
  module.def("filesystem_of", &filesystem_of, "path"_a,
             "The file system of the file's folder, by the database's names; \"unknown\" where "
             "it is not known.");
  module.def("parameters", &parameters, "The table of parameters as JSON.");
  module.def("validate_setting", &validate_setting, "name"_a, "value"_a,
             "None, or what is wrong with the value.");
  module.def("settings_text", &settings_text, "json"_a, "Settings as canonical text.");
  module.def("known_settings", &known_settings, "What is known of each setting, as JSON.");
  module.def("gate_answer", &gate_answer, "question"_a, "name"_a, "value"_a,
             "Whether a setting would be applied at this open, and why not.");
  module.def("gate_refusals", &gate_refusals, "question"_a, "settings"_a,
             "What would be refused of settings at this open.");
  module.def("mpiio_name", &mpiio_name, "mpi"_a, "mpi_io"_a, "The library of an MPI's MPI-IO.");
  module.def("write_config_xml", &write_config_xml, "json"_a, "forced"_a = false,
             "Settings by file name (\"\": of every file) as the XML that IOTUNE_CONFIG names.");
  module.def("read_config_xml", &read_config_xml, "xml_path"_a, "data_file"_a);
  module.def("decide", &decide_json, "question"_a, "What a run would get at this open.");
  module.def(
      "observe",
      [](const std::string& trace, const std::optional<std::string>& spool) {
        return taken(observe(trace, spool.value_or(default_spool_dir())));
      },
      "trace"_a, "spool_dir"_a = py::none(), "Leaves a trace's observation in the spool.");
  module.def(
      "learn_from_pending_runs",
      [](const std::string& folder, const std::string& database) {
        LearnRequest request;
        request.places = {folder, database, default_spool_dir(), lower_databases()};
        return taken(learn_from_pending_runs(request)).learnt;
      },
      "folder"_a, "database"_a,
      "Finishes what the ends of runs had no time for; returns how many were learnt from.");
}
