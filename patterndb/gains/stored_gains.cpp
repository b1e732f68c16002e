#include "patterndb/gains/stored_gains.h"

#include "patterndb/gains/base64.h"
#include "patterndb/gains/gain_model.h"
#include "patterndb/learn/report.h"
#include "patterndb/matching/nearest_answers.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/rows.h"

namespace iotune::patterndb {

namespace {

Platform platform_at(const sqlite::Statement& row, int first) {
  return {row.text(first), row.text(first + 1), row.text(first + 2), row.text(first + 3)};
}

std::vector<double> numbers_of(const Node& node) {
  std::vector<double> numbers;
  for (const Node& one : node.elements()) numbers.push_back(one.seconds());
  return numbers;
}

Json question_json(const std::string& text) {
  return parse_json(text, "question");
}

Trial read_trial(const Node& node) {
  node.only({"settings", "seconds", "default_seconds", "effect", "session", "batch", "place",
             "measured_at"});
  Trial trial;
  trial.settings = read_settings(node.at("settings")).text();
  trial.seconds = node.real_or_none("seconds");
  trial.default_seconds = numbers_of(node.at("default_seconds"));
  trial.effect = node.at("effect").text();
  trial.session = node.at("session").text();
  trial.batch = node.at("batch").count();
  trial.place = node.at("place").count();
  trial.measured_at = node.at("measured_at").moment();
  return trial;
}

Json to_json(const Trial& trial) {
  return {{"settings", trial.settings},
          {"seconds", trial.seconds ? Json(*trial.seconds) : Json(nullptr)},
          {"default_seconds", trial.default_seconds},
          {"effect", trial.effect},
          {"session", trial.session},
          {"batch", trial.batch},
          {"place", trial.place},
          {"measured_at", trial.measured_at}};
}

// A model that does not parse would be found out in a run.
void demand_model(const StoredGainModel& model) {
  value_or_fault(GainModel::parse(model.payload));
}

StoredGainModel model_at(const sqlite::Statement& row) {
  StoredGainModel model;
  model.platform = platform_at(row, 0);
  model.payload = row.blob(4);
  model.candidates = row.text(5);
  model.archive = row.text(6);
  model.score = row.text(7);
  model.patterns = static_cast<std::uint64_t>(row.integer(8));
  model.rows = static_cast<std::uint64_t>(row.integer(9));
  model.made_at = row.real(10);
  return model;
}

const std::string kModels = std::string("SELECT ") + kPlatformColumns +
                            ", m.payload, m.candidates, m.archive, m.score, m.patterns, m.rows, "
                            "m.made_at FROM gain_models m JOIN platforms f ON f.id = m.platform ";

}  // namespace

Json to_json(const Surface& surface) {
  Json trials = Json::array();
  for (const Trial& one : surface.trials) trials.push_back(to_json(one));
  return {{"pattern", to_json(surface.pattern)},
          {"platform", to_json(surface.platform)},
          {"question", question_json(surface.question)},
          {"trials", std::move(trials)}};
}

Surface read_surface(const Node& node) {
  node.only({"pattern", "platform", "question", "trials"});
  Surface surface;
  surface.pattern = read_pattern(node.at("pattern"));
  surface.platform = read_platform(node.at("platform"));
  surface.question = dump(node.at("question").value());
  for (const Node& one : node.at("trials").elements()) surface.trials.push_back(read_trial(one));
  return surface;
}

Json to_json(const StoredGainModel& model) {
  return {{"platform", to_json(model.platform)},
          {"payload", base64(model.payload)},
          {"candidates", model.candidates},
          {"archive", model.archive},
          {"score", question_json(model.score)},
          {"patterns", model.patterns},
          {"rows", model.rows},
          {"made_at", model.made_at}};
}

StoredGainModel read_gain_model(const Node& node) {
  node.only(
      {"platform", "payload", "candidates", "archive", "score", "patterns", "rows", "made_at"});
  StoredGainModel model;
  model.platform = read_platform(node.at("platform"));
  model.payload = from_base64(node.at("payload").text());
  model.candidates = node.at("candidates").text();
  model.archive = node.at("archive").text();
  model.score = dump(node.at("score").value());
  model.patterns = node.at("patterns").count();
  model.rows = node.at("rows").count();
  model.made_at = node.at("made_at").moment();
  demand_model(model);
  return model;
}

std::size_t rows::surface(sqlite::Connection& connection, const Surface& surface) {
  const std::int64_t pattern_id = pattern(connection, surface.pattern);
  const std::int64_t platform_id = platform(connection, surface.platform);
  sqlite::Statement add(connection,
                        "INSERT OR IGNORE INTO measurements (pattern, platform, question, "
                        "settings, seconds, default_seconds, effect, session, batch, place, "
                        "measured_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  std::size_t added = 0;
  for (const Trial& one : surface.trials) {
    add.with(pattern_id, platform_id, surface.question, settings(connection, one.settings),
             one.seconds, dump(Json(one.default_seconds)), one.effect, one.session, one.batch,
             one.place, one.measured_at);
    add.run();
    added += static_cast<std::size_t>(sqlite3_changes(connection.handle()));
  }
  return added;
}

std::vector<Surface> rows::surfaces(sqlite::Connection& connection) {
  sqlite::Statement rows(
      connection, std::string("SELECT ") + kPlatformColumns + ", " + kShapeColumns +
                      ", m.pattern, m.platform, m.question, s.text, m.seconds, m.default_seconds, "
                      "m.effect, m.session, m.batch, m.place, m.measured_at "
                      "FROM measurements m JOIN platforms f ON f.id = m.platform "
                      "JOIN patterns p ON p.id = m.pattern JOIN settings s ON s.id = m.settings "
                      "ORDER BY m.platform, m.pattern, m.question, m.id");
  constexpr int kShape = 4, kOwn = kShape + 9;
  std::vector<Surface> found;
  std::int64_t pattern_id = -1, platform_id = -1;
  while (rows.step()) {
    const std::string question = rows.text(kOwn + 2);
    if (rows.integer(kOwn) != pattern_id || rows.integer(kOwn + 1) != platform_id ||
        found.back().question != question) {
      found.push_back({pattern_row(rows, kShape), platform_at(rows, 0), question, {}});
      pattern_id = rows.integer(kOwn);
      platform_id = rows.integer(kOwn + 1);
    }
    Trial trial;
    trial.settings = rows.text(kOwn + 3);
    if (!rows.null(kOwn + 4)) trial.seconds = rows.real(kOwn + 4);
    const Json defaults = parse_json(rows.text(kOwn + 5), "default_seconds");
    trial.default_seconds = numbers_of(Node(defaults, "default_seconds"));
    trial.effect = rows.text(kOwn + 6);
    trial.session = rows.text(kOwn + 7);
    trial.batch = static_cast<std::uint64_t>(rows.integer(kOwn + 8));
    trial.place = static_cast<std::uint64_t>(rows.integer(kOwn + 9));
    trial.measured_at = rows.real(kOwn + 10);
    found.back().trials.push_back(std::move(trial));
  }
  return found;
}

bool rows::gain_model(sqlite::Connection& connection, const StoredGainModel& model) {
  demand_model(model);
  sqlite::Statement add(connection,
                        "INSERT OR IGNORE INTO gain_models (platform, payload, candidates, "
                        "archive, score, patterns, rows, made_at) "
                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  add.bind(1, platform(connection, model.platform)).bind_blob(2, model.payload);
  add.bind(3, model.candidates).bind(4, model.archive).bind(5, model.score);
  add.bind(6, model.patterns).bind(7, model.rows).bind(8, model.made_at).run();
  return sqlite3_changes(connection.handle()) > 0;
}

std::vector<StoredGainModel> rows::gain_models(sqlite::Connection& connection) {
  sqlite::Statement rows(connection, kModels + "ORDER BY m.id");
  std::vector<StoredGainModel> found;
  while (rows.step()) found.push_back(model_at(rows));
  return found;
}

std::optional<StoredGainModel> rows::newest_gain_model(sqlite::Connection& connection,
                                                       const Platform& platform) {
  sqlite::Statement row(connection,
                        kModels +
                            "WHERE f.filesystem = ?1 AND f.mpi = ?2 AND f.hdf5 = ?3 AND "
                            "f.host_class = ?4 ORDER BY m.made_at DESC, m.id DESC LIMIT 1");
  row.with(platform.filesystem, platform.mpi, platform.hdf5, platform.host_class);
  if (!row.step()) return std::nullopt;
  return model_at(row);
}

Result<std::size_t> PatternDb::add_surface(const Surface& surface) noexcept {
  return guarded<std::size_t>([&] {
    std::size_t added = 0;
    change([&](sqlite::Connection& connection) { added = rows::surface(connection, surface); });
    return added;
  });
}

Result<std::vector<Surface>> PatternDb::surfaces() noexcept {
  return guarded<std::vector<Surface>>([&] { return rows::surfaces(*connection_); });
}

Result<bool> PatternDb::add_gain_model(const StoredGainModel& model) noexcept {
  return guarded<bool>([&] {
    bool fresh = false;
    change([&](sqlite::Connection& connection) { fresh = rows::gain_model(connection, model); });
    return fresh;
  });
}

Result<std::vector<StoredGainModel>> PatternDb::gain_models() noexcept {
  return guarded<std::vector<StoredGainModel>>([&] { return rows::gain_models(*connection_); });
}

Result<std::optional<StoredGainModel>> PatternDb::newest_gain_model(
    const Platform& platform) noexcept {
  return guarded<std::optional<StoredGainModel>>(
      [&] { return rows::newest_gain_model(*connection_, platform); });
}

}  // namespace iotune::patterndb
