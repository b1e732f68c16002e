// Another site's database into this one, by platform.
#include <set>

#include "patterndb/exchange/exchange.h"
#include "patterndb/exchange/record_json.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

bool fits(const Json& platform, const PlatformFilter& filter) {
  auto one = [&](const char* key, const std::string& wanted) {
    return wanted.empty() || platform.at(key) == wanted;
  };
  return one("filesystem", canonical_filesystem(filter.filesystem)) && one("mpi", filter.mpi) &&
         one("hdf5", filter.hdf5) && one("host_class", filter.host_class);
}

void keep_rows(Json& list, const char* key, const std::set<std::int64_t>& ids) {
  Json kept = Json::array();
  for (Json& row : list) {
    if (row.at(key).is_null() || ids.count(row.at(key).get<std::int64_t>()) != 0) {
      kept.push_back(std::move(row));
    }
  }
  list = std::move(kept);
}

// Only what belongs to the platforms: what no observation or answer of theirs names is left out.
void keep_platforms(Json& document, const PlatformFilter& filter) {
  std::set<std::int64_t> platforms, patterns, workloads;
  for (const Json& row : document["platforms"]) {
    if (fits(row, filter)) platforms.insert(row.at("id").get<std::int64_t>());
  }
  keep_rows(document["platforms"], "id", platforms);
  for (const char* list : {"tunings", "observations", "sightings", "totals", "models"}) {
    keep_rows(document[list], "platform", platforms);
  }
  for (const Json& row : document["tunings"]) {
    patterns.insert(row.at("pattern").get<std::int64_t>());
  }
  for (const Json& row : document["observations"]) {
    workloads.insert(row.at("workload").get<std::int64_t>());
    if (!row.at("pattern").is_null()) patterns.insert(row.at("pattern").get<std::int64_t>());
  }
  keep_rows(document["workloads"], "id", workloads);
  for (const char* list : {"uses", "drifts"}) keep_rows(document[list], "workload", workloads);
  for (const Json& row : document["uses"]) patterns.insert(row.at("pattern").get<std::int64_t>());
  for (const Json& row : document["drifts"]) {
    patterns.insert(row.at("before").get<std::int64_t>());
    patterns.insert(row.at("after").get<std::int64_t>());
  }
  keep_rows(document["patterns"], "id", patterns);
  Json proofs = Json::array();
  for (Json& row : document["proofs"]) {
    // Hints of MPI-IO have no HDF5: their proofs fit whichever is asked for.
    Json platform = row;
    if (platform.at("hdf5") == "") platform["hdf5"] = filter.hdf5;
    if (fits(platform, filter)) proofs.push_back(std::move(row));
  }
  document["proofs"] = std::move(proofs);
  for (const char* list : {"surfaces", "gain_models"}) {
    Json kept = Json::array();
    for (Json& row : document[list]) {
      if (fits(row.at("platform"), filter)) kept.push_back(std::move(row));
    }
    document[list] = std::move(kept);
  }
}

}  // namespace

Result<std::string> PatternDb::merge(const std::string& other,
                                     const PlatformFilter& filter) noexcept {
  return guarded<std::string>([&] {
    // A copy in memory: the other is read in one state, and brought to this version, untouched.
    PatternDb copy = value_or_fault(copy_in_memory(other));
    Result<std::string> text = copy.export_json();
    if (!text) throw Fault{other + ": " + text.error().text()};
    Json document = parse_json(*text, other);
    keep_platforms(document, filter);
    return import_document(document, other);
  });
}

}  // namespace iotune::patterndb
