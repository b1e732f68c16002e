#include <algorithm>
#include <map>
#include <optional>

#include "patterndb/decide/site_copies.h"
#include "patterndb/exchange/exchange.h"
#include "patterndb/exchange/record_json.h"
#include "patterndb/gains/stored_gains.h"
#include "patterndb/settings/proofs.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/rows.h"

namespace iotune::patterndb {

namespace {

using sqlite::Connection;

class Importer {
 public:
  explicit Importer(Connection& connection) : db_(connection) {
    sqlite::Statement last(db_, "SELECT coalesce(max(id), 0) FROM tunings");
    last.step();
    last_own_ = last.integer(0);
    sqlite::Statement seen(db_,
                           "SELECT workload, max(last_seen) FROM workload_patterns GROUP BY 1");
    while (seen.step()) seen_here_[seen.integer(0)] = seen.real(1);
  }

  Json run(const Node& root) {
    if (root.at("format").text() != kExchangeFormat) root.at("format").fail("not iotune-patterns");
    // Before all else: a newer one has names that are unknown here.
    std::uint64_t version = root.at("version").count();
    if (version < 1 || version > kExchangeVersion) {
      root.at("version").fail("version " + std::to_string(version) + "; this iotune reads 1 to " +
                              std::to_string(kExchangeVersion));
    }
    root.only({"format", "version", "platforms", "workloads", "patterns", "uses", "tunings",
               "observations", "sightings", "totals", "drifts", "models", "proofs", "surfaces",
               "gain_models"});
    each(root, "platforms", [&](const Node& node) {
      remember(platforms_, node, rows::platform(db_, read_platform(node)));
    });
    each(root, "workloads", [&](const Node& node) {
      node.only({"id", "program", "file", "ranks", "nodes"});
      remember(workloads_, node, rows::workload(db_, read_workload(node)));
    });
    each(root, "patterns", [&](const Node& node) {
      remember(patterns_, node, rows::pattern(db_, read_pattern(node)));
    });
    each(root, "uses", [&](const Node& node) {
      double& newest = seen_there_[known(workloads_, node.at("workload"), "workload")];
      newest = std::max(newest, node.at("last_seen").moment());
    });
    each(root, "uses", [&](const Node& node) { add_use(node); });
    each(root, "tunings", [&](const Node& node) { add_tuning(node); });
    each(root, "observations", [&](const Node& node) { add_observation(node); });
    // After the observations: rows as old as what is added up count as known.
    each(root, "sightings", [&](const Node& node) { add_sighting(node); });
    each(root, "totals", [&](const Node& node) { add_total(node); });
    each(root, "drifts", [&](const Node& node) { add_drift(node); });
    each(root, "models", [&](const Node& node) { add_model(node); });
    each(root, "proofs", [&](const Node& node) {
      // Of another platform or version than this site's it stays what it is there.
      proofs_added_ += rows::proof(db_, read_proof(node));
    });
    each(root, "surfaces",
         [&](const Node& node) { measurements_added_ += rows::surface(db_, read_surface(node)); });
    each(root, "gain_models",
         [&](const Node& node) { models_added_ += rows::gain_model(db_, read_gain_model(node)); });
    Json report = {{"tunings", tunings_added_},
                   {"observations", observations_added_},
                   {"models", models_added_},
                   {"proofs", proofs_added_},
                   {"measurements", measurements_added_},
                   {"left_reverted", left_reverted_}};
    return report;
  }

 private:
  using Ids = std::map<std::uint64_t, std::int64_t>;

  template <typename Add>
  void each(const Node& root, const char* key, const Add& add) {
    if (!root.has(key)) return;
    for (const Node& node : root.at(key).elements()) add(node);
  }

  static void remember(Ids& ids, const Node& node, std::int64_t row) {
    if (!node.has("id")) return;
    if (!ids.emplace(node.at("id").count(), row).second) node.at("id").fail("given twice");
  }

  static std::int64_t known(const Ids& ids, const Node& node, const char* what) {
    auto found = ids.find(node.count());
    if (found == ids.end()) {
      node.fail(std::string("no ") + what + " with id " + std::to_string(node.count()));
    }
    return found->second;
  }

  // Documents written by hand may spell a pattern or platform out where they use it.
  std::int64_t pattern(const Node& node) {
    if (node.value().is_object()) return rows::pattern(db_, read_pattern(node));
    return known(patterns_, node, "pattern");
  }
  std::int64_t platform(const Node& node) {
    if (node.value().is_object()) return rows::platform(db_, read_platform(node));
    return known(platforms_, node, "platform");
  }

  void add_use(const Node& node) {
    node.only({"workload", "pattern", "dataset", "datasets", "repeats", "speaker", "last_seen",
               "settled"});
    const std::int64_t workload = known(workloads_, node.at("workload"), "workload");
    rows::use(db_,
              {workload, pattern(node.at("pattern")), node.at("dataset").text(),
               node.at("datasets").count(), node.at("repeats").count(), node.at("speaker").truth(),
               std::max(0.0, node.at("last_seen").moment() - behind(workload)),
               !node.has("settled") || node.at("settled").truth()});
  }

  // A program of the same name writes other files elsewhere: of a workload that was seen here, what
  // it showed here holds. By how much what is read of it has to count as older.
  double behind(std::int64_t workload) const {
    constexpr double kMoment = 1e-3;
    const auto here = seen_here_.find(workload);
    if (here == seen_here_.end()) return 0;
    return std::max(0.0, seen_there_.at(workload) - here->second + kMoment);
  }

  void add_tuning(const Node& node) {
    node.only({"id", "pattern", "platform", "settings", "state", "gain", "low", "high", "rounds",
               "made_at", "source", "evidence", "default_share", "replaces"});
    Tuning tuning;
    if (node.has("settings")) tuning.settings = read_settings(node.at("settings"));
    read_evidence(node, tuning);
    if (node.has("replaces") && !node.at("replaces").value().is_null()) {
      // One that is not in the document is forgotten.
      auto found = tunings_.find(node.at("replaces").count());
      if (found != tunings_.end()) tuning.replaces = found->second;
    }
    rows::StoredTuning keys{pattern(node.at("pattern")), platform(node.at("platform")),
                            rows::settings(db_, tuning.settings.text())};
    if (tuning.source == kCopySource) {
      if (const auto original = copied_from_here(keys, tuning)) {
        return remember(tunings_, node, *original);
      }
    }
    if (tuning.state == State::kTuned && is_reverted_here(keys) &&
        !rows::find_tuning(db_, keys, tuning)) {
      ++left_reverted_;
      return;
    }
    rows::Added added = rows::tuning(db_, keys, tuning);
    tunings_added_ += added.fresh;
    remember(tunings_, node, added.id);
  }

  void add_observation(const Node& node) {
    node.only({"spool_file", "item", "run", "trace", "program", "file", "workload", "platform",
               "pattern", "settings", "decision_source", "decision_row", "bytes_written",
               "bytes_read", "seconds", "elapsed_seconds", "observed_at", "files"});
    Node decision = node.at("decision_row");
    std::int64_t row = -1;
    if (decision.value().is_number_unsigned()) {
      auto found = tunings_.find(decision.count());
      if (found != tunings_.end()) row = found->second;
    } else if (!decision.value().is_number_integer()) {
      decision.fail("an integer expected");
    }
    bool has_pattern = !node.at("pattern").value().is_null();
    observations_added_ += rows::observation(
        db_, {node.at("spool_file").text(), static_cast<std::int64_t>(node.at("item").count()),
              node.at("run").text(), node.at("trace").text(), node.at("program").text(),
              node.at("file").text(), known(workloads_, node.at("workload"), "workload"),
              platform(node.at("platform")), has_pattern ? pattern(node.at("pattern")) : 0,
              rows::settings(db_, read_settings(node.at("settings")).text()),
              node.at("decision_source").text(), row, node.at("bytes_written").count(),
              node.at("bytes_read").count(), node.at("seconds").seconds(),
              node.at("elapsed_seconds").seconds(), node.at("observed_at").moment(),
              std::max<std::uint64_t>(1, node.count_or("files", 1))});
  }

  void add_sighting(const Node& node) {
    node.only({"workload", "platform", "pattern", "first_at", "last_at", "runs"});
    rows::sighting(
        db_, {known(workloads_, node.at("workload"), "workload"), platform(node.at("platform")),
              pattern(node.at("pattern")), node.at("first_at").moment(),
              node.at("last_at").moment(), node.at("runs").count()});
  }

  void add_total(const Node& node) {
    node.only({"workload", "platform", "pattern", "settings", "explored", "size", "rate", "files",
               "runs", "bytes", "seconds", "last_at"});
    const auto number = [&](const char* key) {
      return static_cast<std::int64_t>(node.at(key).count());
    };
    // -1: of files without bytes or seconds.
    const auto place = [&](const char* key) {
      return node.at(key).value() == -1 ? std::int64_t{-1} : number(key);
    };
    const bool has_pattern = !node.at("pattern").value().is_null();
    if (number("files") == 0) node.at("files").fail("at least 1 expected");
    rows::total(db_, {has_pattern ? pattern(node.at("pattern")) : 0, platform(node.at("platform")),
                      known(workloads_, node.at("workload"), "workload"),
                      rows::settings(db_, read_settings(node.at("settings")).text()),
                      node.at("explored").truth() ? 1 : 0, place("size"), place("rate"),
                      number("files"), number("runs"), number("bytes"),
                      node.at("seconds").seconds(), node.at("last_at").moment()});
  }

  void add_drift(const Node& node) {
    node.only({"workload", "before", "after", "run", "observed_at", "times"});
    rows::drift(db_,
                {known(workloads_, node.at("workload"), "workload"), pattern(node.at("before")),
                 pattern(node.at("after")), node.at("run").text(), node.at("observed_at").moment(),
                 std::max<std::uint64_t>(1, node.count_or("times", 1))});
  }

  // What runs here have taken back is not tried again on another's word, whatever holds by now:
  // these settings themselves must have been measured anew.
  bool is_reverted_here(const rows::StoredTuning& keys) {
    sqlite::Statement newest(
        db_,
        "SELECT t.state FROM patterns p JOIN tunings t ON t.pattern = p.id "
        "WHERE p.byte_key = (SELECT byte_key FROM patterns WHERE id = ?1) AND t.platform = ?2 "
        "AND t.settings = ?3 AND t.id <= ?4 ORDER BY t.made_at DESC, t.id DESC LIMIT 1");
    newest.with(keys.pattern, keys.platform, keys.settings, last_own_);
    return newest.step() && newest.text(0) == state_name(State::kReverted);
  }

  // A user's copy of an answer of this database comes home.
  std::optional<std::int64_t> copied_from_here(const rows::StoredTuning& keys, const Tuning& copy) {
    sqlite::Statement row(
        db_,
        "SELECT t.id FROM patterns p JOIN tunings t ON t.pattern = p.id "
        "WHERE p.byte_key = (SELECT byte_key FROM patterns WHERE id = ?1) AND t.platform = ?2 "
        "AND t.settings = ?3 AND t.state = ?4 AND t.made_at = ?5 ORDER BY t.id LIMIT 1");
    row.with(keys.pattern, keys.platform, keys.settings, state_name(copy.state), copy.made_at);
    if (!row.step()) return std::nullopt;
    return row.integer(0);
  }

  void add_model(const Node& node) {
    node.only({"name", "kind", "platform", "payload", "made_at"});
    std::string kind = node.at("kind").text();
    if (kind != "coefficients" && kind != "skops") {
      node.at("kind").fail("'" + kind + "' is neither coefficients nor skops");
    }
    std::int64_t platform_id =
        node.at("platform").value().is_null() ? 0 : platform(node.at("platform"));
    models_added_ += rows::model(db_, {node.at("name").text(), kind, platform_id,
                                       node.at("payload").text(), node.at("made_at").moment()});
  }

  Connection& db_;
  std::int64_t last_own_ = 0;
  std::map<std::int64_t, double> seen_here_, seen_there_;  // by workload: when last
  std::size_t left_reverted_ = 0;
  Ids platforms_, workloads_, patterns_, tunings_;
  std::size_t tunings_added_ = 0, observations_added_ = 0, models_added_ = 0, proofs_added_ = 0;
  std::size_t measurements_added_ = 0;
};

}  // namespace

Result<std::string> PatternDb::import_json(const std::string& text,
                                           const std::string& source) noexcept {
  return guarded<std::string>([&] { return import_document(parse_json(text, source), source); });
}

std::string PatternDb::import_document(const nlohmann::ordered_json& document,
                                       const std::string& source) {
  std::string report;
  change([&](Connection& connection) {
    try {
      report = dump(Importer(connection).run(Node(document, "")));
    } catch (const sqlite::Busy&) {
      throw;
    } catch (const Fault& fault) {
      throw Fault{source + ": " + fault.message};
    }
  });
  return report;
}

Result<std::int64_t> PatternDb::add_tuning(const Tuning& tuning) noexcept {
  return guarded<std::int64_t>([&] {
    std::int64_t id = 0;
    change([&](Connection& connection) {
      const rows::StoredTuning keys{rows::pattern(connection, tuning.pattern),
                                    rows::platform(connection, tuning.platform),
                                    rows::settings(connection, tuning.settings.text())};
      sqlite::Statement newest(
          connection,
          "SELECT max(t.made_at) FROM patterns p JOIN tunings t ON t.pattern = p.id "
          "WHERE p.byte_key = (SELECT byte_key FROM patterns WHERE id = ?1) AND t.platform = ?2");
      newest.with(keys.pattern, keys.platform).step();
      Tuning behind = tuning;
      behind.made_at = std::max(tuning.made_at, newest.real(0));
      id = rows::tuning(connection, keys, behind).id;
    });
    return id;
  });
}

}  // namespace iotune::patterndb
