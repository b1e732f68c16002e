#include "patterndb/exchange/record_json.h"

#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

constexpr const char* kModes[] = {"independent", "collective", "mixed", "unknown"};

Json numbers(const std::vector<std::uint64_t>& values) {
  return Json(values);
}

void demand_dimensions(const Node& node, const char* key, std::size_t given, std::size_t n) {
  if (given != 0 && given != n) {
    node.at(key).fail("the descriptor has " + std::to_string(n) + " dimensions");
  }
}

}  // namespace

State read_state(const Node& node) {
  std::string text = node.text();
  if (std::optional<State> state = state_named(text)) return *state;
  std::string known;
  for (const char* const name : kStateNames)
    known += (known.empty() ? "" : ", ") + std::string(name);
  node.fail("'" + text + "' is no state (" + known + ")");
}

Json to_json(const Settings& settings) {
  Json object = Json::object();
  for (const auto& [name, value] : settings.values()) object[name] = value;
  return object;
}

Settings read_settings(const Node& node) {
  if (node.value().is_string()) {
    Result<Settings> settings = Settings::parse(node.text());
    if (!settings) node.fail(settings.error().text());
    return *settings;
  }
  if (!node.value().is_object()) node.fail("an object of names and values, or text, expected");
  Settings settings;
  for (const auto& [name, value] : node.value().items()) {
    if (!value.is_string() && !value.is_number_integer()) {
      node.at(name.c_str()).fail("neither text nor an integer");
    }
    try {
      settings.add(name, value.is_string() ? value.get<std::string>() : value.dump());
    } catch (const Fault& fault) {
      node.fail(fault.message);
    }
  }
  return settings;
}

Json to_json(const Pattern& pattern) {
  return {{"descriptor", pattern.descriptor.text()},
          {"op", pattern.write ? "write" : "read"},
          {"element_bytes", pattern.element_bytes},
          {"ranks", pattern.ranks},
          {"grid", numbers(pattern.grid)},
          {"mode", pattern.mode},
          {"chunk", numbers(pattern.chunk)},
          {"filters", pattern.filters},
          {"dataset_dims", numbers(pattern.dataset_dims)},
          {"byte_key", byte_key(pattern)}};
}

Pattern read_pattern(const Node& node) {
  node.only({"id", "descriptor", "op", "element_bytes", "ranks", "grid", "mode", "chunk", "filters",
             "dataset_dims", "byte_key"});
  Pattern pattern;
  Node text = node.at("descriptor");
  const auto descriptor = parse_descriptor(text.text());
  if (!descriptor) text.fail(descriptor.error().text());
  if (descriptor->last_in_bytes) text.fail("elements expected, not bytes");
  pattern.descriptor = *descriptor;
  std::string op = node.at("op").text();
  if (op != "write" && op != "read") node.at("op").fail("neither write nor read");
  pattern.write = op == "write";
  pattern.element_bytes = node.at("element_bytes").count();
  if (pattern.element_bytes == 0) node.at("element_bytes").fail("0 bytes");
  pattern.ranks = node.at("ranks").count();
  pattern.mode = node.text_or("mode", "unknown");
  bool known = false;
  for (const char* mode : kModes) known = known || pattern.mode == mode;
  if (!known) node.at("mode").fail("not independent, collective, mixed or unknown");
  pattern.filters = node.count_or("filters", 0);
  std::size_t n = pattern.descriptor.dimensions.size();
  if (node.has("grid")) pattern.grid = node.at("grid").counts();
  demand_dimensions(node, "grid", pattern.grid.size(), n);
  if (node.has("chunk")) pattern.chunk = node.at("chunk").counts();
  demand_dimensions(node, "chunk", pattern.chunk.size(), n);
  if (node.has("dataset_dims")) pattern.dataset_dims = node.at("dataset_dims").counts();
  demand_dimensions(node, "dataset_dims", pattern.dataset_dims.size(), n);
  try {
    byte_key(pattern);
  } catch (const Fault& fault) {
    node.fail(fault.message);
  }
  return pattern;
}

Json to_json(const Platform& platform) {
  return {{"filesystem", platform.filesystem},
          {"mpi", platform.mpi},
          {"hdf5", platform.hdf5},
          {"host_class", platform.host_class}};
}

Platform read_platform(const Node& node) {
  node.only({"id", "filesystem", "mpi", "hdf5", "host_class"});
  return {canonical_filesystem(node.at("filesystem").text()), node.text_or("mpi", ""),
          node.text_or("hdf5", ""), node.text_or("host_class", host_class())};
}

Json to_json(const Workload& workload) {
  return {{"program", workload.program},
          {"file", workload.file},
          {"ranks", workload.ranks},
          {"nodes", workload.nodes}};
}

Workload read_workload(const Node& node) {
  return {node.at("program").text(), node.at("file").text(), node.at("ranks").count(),
          node.at("nodes").count()};
}

void read_evidence(const Node& node, Tuning& tuning) {
  tuning.state = read_state(node.at("state"));
  tuning.gain = node.real_or_none("gain");
  tuning.low = node.real_or_none("low");
  tuning.high = node.real_or_none("high");
  tuning.rounds = node.count_or("rounds", 0);
  for (const auto& [key, value] : {std::pair("gain", tuning.gain), std::pair("low", tuning.low),
                                   std::pair("high", tuning.high)}) {
    if (value && *value < 0) node.at(key).fail("a ratio, so 0 or more, expected");
  }
  if (node.real_or_none("made_at")) tuning.made_at = node.at("made_at").moment();
  tuning.source = node.text_or("source", "import");
  tuning.evidence = node.text_or("evidence", "");
  tuning.default_share = node.real_or_none("default_share").value_or(kDefaultShare);
  if (!(tuning.default_share >= 0 && tuning.default_share < 1)) {
    node.at("default_share").fail("not from 0 to below 1");
  }
  if (tuning.state == State::kTuned && tuning.settings.empty()) {
    node.fail("tuned without settings");
  }
}

Tuning read_tuning(const Node& node) {
  node.only({"pattern", "platform", "settings", "state", "gain", "low", "high", "rounds", "made_at",
             "source", "evidence", "default_share"});
  Tuning tuning;
  tuning.pattern = read_pattern(node.at("pattern"));
  tuning.platform = read_platform(node.at("platform"));
  if (node.has("settings")) tuning.settings = read_settings(node.at("settings"));
  read_evidence(node, tuning);
  return tuning;
}

}  // namespace iotune::patterndb
