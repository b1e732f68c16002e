#include "patterndb/settings/proofs.h"

#include <map>

#include "patterndb/decide/run_answers.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

namespace {

constexpr std::uint64_t kFewestSeeds = 5;

bool speaks_for(const Proof& proof, const Proof& wanted) {
  return proof.parameter == wanted.parameter && proof.value_class == wanted.value_class &&
         proof.filesystem == wanted.filesystem && proof.mpi == wanted.mpi &&
         proof.mpi_io == wanted.mpi_io && proof.hdf5 == wanted.hdf5 &&
         proof.host_class == wanted.host_class && (proof.nodes > 1) == (wanted.nodes > 1) &&
         (!proof.passed || proof.seeds >= kFewestSeeds);
}

struct Kept {
  DatabaseFile file;
  std::vector<Proof> proofs;
};
// By path: a user's and a site's.
std::map<std::string, Kept>& kept() {
  static auto* const all = new std::map<std::string, Kept>;
  return *all;
}

}  // namespace

std::optional<bool> outcome_of(const std::vector<Proof>& proofs, const Proof& wanted) {
  const Proof* newest = nullptr;
  for (const Proof& one : proofs) {
    if (speaks_for(one, wanted) && (newest == nullptr || one.made_at >= newest->made_at)) {
      newest = &one;
    }
  }
  if (newest == nullptr) return std::nullopt;
  return newest->passed;
}

const std::vector<Proof>& proofs_in(const std::string& database) {
  static const std::vector<Proof> none;
  if (database.empty() || database == "none") return none;
  const std::optional<DatabaseFile> file = database_file(database);
  if (!file || *file == DatabaseFile()) return none;
  const auto last = kept().find(database);
  if (last != kept().end() && last->second.file == *file) return last->second.proofs;
  Result<PatternDb> db = PatternDb::open(database, {Access::kReadOnly, kMillisecondsInOpen});
  if (!db) return none;
  Result<std::vector<Proof>> proofs = db->proofs();
  if (!proofs) return none;
  return (kept()[database] = {*file, std::move(*proofs)}).proofs;
}

Result<bool> PatternDb::add_proof(const Proof& proof) noexcept {
  return guarded<bool>([&] {
    bool fresh = false;
    change([&](sqlite::Connection& connection) { fresh = rows::proof(connection, proof); });
    return fresh;
  });
}

Result<std::optional<std::string>> PatternDb::newest_model(const std::string& name,
                                                           const Platform& platform) noexcept {
  return guarded<std::optional<std::string>>(
      [&] { return rows::newest_model(*connection_, name, platform); });
}

Result<std::vector<Proof>> PatternDb::proofs() noexcept {
  return guarded<std::vector<Proof>>([&] { return rows::proofs(*connection_); });
}

std::vector<Proof> rows::proofs(sqlite::Connection& connection) {
  sqlite::Statement rows(
      connection,
      "SELECT filesystem, mpi, mpi_io, hdf5, host_class, parameter, value_class, passed, seeds, "
      "ranks, nodes, evidence, made_at FROM proofs ORDER BY id");
  std::vector<Proof> found;
  while (rows.step()) {
    found.push_back({rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4),
                     rows.text(5), rows.text(6), rows.integer(7) != 0,
                     static_cast<std::uint64_t>(rows.integer(8)),
                     static_cast<std::uint64_t>(rows.integer(9)),
                     static_cast<std::uint64_t>(rows.integer(10)), rows.text(11), rows.real(12)});
  }
  return found;
}

bool rows::proof(sqlite::Connection& connection, const Proof& proof) {
  sqlite::Statement add(
      connection,
      "INSERT OR IGNORE INTO proofs (filesystem, mpi, mpi_io, hdf5, host_class, parameter, "
      "value_class, passed, seeds, ranks, nodes, evidence, made_at) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
  add.with(proof.filesystem, proof.mpi, proof.mpi_io, proof.hdf5, proof.host_class, proof.parameter,
           proof.value_class, proof.passed, proof.seeds, proof.ranks, proof.nodes, proof.evidence,
           proof.made_at)
      .step();
  return sqlite3_changes(connection.handle()) > 0;
}

Json to_json(const Proof& proof) {
  return {{"filesystem", proof.filesystem},
          {"mpi", proof.mpi},
          {"mpi_io", proof.mpi_io},
          {"hdf5", proof.hdf5},
          {"host_class", proof.host_class},
          {"parameter", proof.parameter},
          {"value_class", proof.value_class},
          {"passed", proof.passed},
          {"seeds", proof.seeds},
          {"ranks", proof.ranks},
          {"nodes", proof.nodes},
          {"evidence", proof.evidence},
          {"made_at", proof.made_at}};
}

Proof read_proof(const Node& node) {
  node.only({"filesystem", "mpi", "mpi_io", "hdf5", "host_class", "parameter", "value_class",
             "passed", "seeds", "ranks", "nodes", "evidence", "made_at"});
  return {node.at("filesystem").text(),  node.at("mpi").text(),        node.at("mpi_io").text(),
          node.at("hdf5").text(),        node.at("host_class").text(), node.at("parameter").text(),
          node.at("value_class").text(), node.at("passed").truth(),    node.at("seeds").count(),
          node.at("ranks").count(),      node.at("nodes").count(),     node.text_or("evidence", ""),
          node.at("made_at").moment()};
}

}  // namespace iotune::patterndb
