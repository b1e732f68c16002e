// The spool file: one run's observation. Format "iotune-observation", version 1; docs/database.md.
#include "patterndb/exchange/record_json.h"

namespace iotune::patterndb {

namespace {

constexpr const char* kFormat = "iotune-observation";
constexpr std::uint64_t kVersion = 1;

Json to_json(const PatternUse& use) {
  return {{"pattern", patterndb::to_json(use.pattern)},
          {"dataset", use.dataset},
          {"datasets", use.datasets},
          {"repeats", use.repeats},
          {"speaker", use.is_dominant}};
}

Json to_json(const ObservedFile& file) {
  Json uses = Json::array();
  for (const PatternUse& use : file.uses) uses.push_back(to_json(use));
  return {{"path", file.path},
          {"workload", patterndb::to_json(file.workload)},
          {"platform", patterndb::to_json(file.platform)},
          {"patterns", std::move(uses)},
          {"settings", file.settings.text()},
          {"decision_source", file.decision_source},
          {"decision_row", file.decision_row},
          {"bytes_written", file.bytes_written},
          {"bytes_read", file.bytes_read},
          {"seconds", file.seconds},
          {"elapsed_seconds", file.elapsed_seconds},
          {"observed_at", file.observed_at}};
}

ObservedFile read_file(const Node& node) {
  ObservedFile file;
  file.path = node.at("path").text();
  file.workload = read_workload(node.at("workload"));
  file.platform = read_platform(node.at("platform"));
  for (const Node& element : node.at("patterns").elements()) {
    PatternUse use;
    use.pattern = read_pattern(element.at("pattern"));
    use.dataset = element.at("dataset").text();
    use.datasets = element.at("datasets").count();
    use.repeats = element.at("repeats").count();
    use.is_dominant = element.at("speaker").truth();
    file.uses.push_back(std::move(use));
  }
  file.settings = read_settings(node.at("settings"));
  file.decision_source = node.at("decision_source").text();
  Node row = node.at("decision_row");
  if (!row.value().is_number_integer()) row.fail("an integer expected");
  file.decision_row = row.value().get<std::int64_t>();
  file.bytes_written = node.at("bytes_written").count();
  file.bytes_read = node.at("bytes_read").count();
  file.seconds = node.at("seconds").seconds();
  file.elapsed_seconds = node.at("elapsed_seconds").seconds();
  file.observed_at = node.at("observed_at").moment();
  return file;
}

}  // namespace

Json to_json(const Observation& observation) {
  Json files = Json::array();
  for (const ObservedFile& file : observation.files) files.push_back(to_json(file));
  return {{"format", kFormat},
          {"version", kVersion},
          {"run", observation.run},
          {"trace", observation.trace},
          {"program", observation.program},
          {"files", std::move(files)}};
}

Observation read_observation(const Node& node) {
  if (node.at("format").text() != kFormat) node.at("format").fail("no observation");
  const std::uint64_t version = node.at("version").count();
  if (version != kVersion) {
    const std::string said = "version " + std::to_string(version) + "; this iotune reads 1";
    if (version > kVersion) throw NewerFormat{{"/version: " + said}};
    node.at("version").fail(said);
  }
  Observation observation;
  observation.run = node.at("run").text();
  observation.trace = node.at("trace").text();
  observation.program = node.at("program").text();
  for (const Node& element : node.at("files").elements()) {
    observation.files.push_back(read_file(element));
  }
  return observation;
}

}  // namespace iotune::patterndb
