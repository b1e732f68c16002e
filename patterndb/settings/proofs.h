// Settings whose bytes on disk were compared on a platform: the table `proofs`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "patterndb/exchange/record_json.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

struct Proof {
  std::string filesystem, mpi, mpi_io, hdf5, host_class;
  std::string parameter, value_class;
  bool passed = false;
  std::uint64_t seeds = 0, ranks = 0, nodes = 1;
  std::string evidence;  // what was compared, or the first fault, in words
  double made_at = 0;
};

// Whether the newest proof of the wanted platform, setting and class passed. One made on one node
// speaks for one node, one made on several for several. Nothing where none was made.
std::optional<bool> outcome_of(const std::vector<Proof>& proofs, const Proof& wanted);

// Every proof of a database; none where there is no database or it cannot be read. What was read
// last is kept for as long as the file stays the same.
const std::vector<Proof>& proofs_in(const std::string& database);

namespace rows {
std::vector<Proof> proofs(sqlite::Connection& connection);
// False where it is there already.
bool proof(sqlite::Connection& connection, const Proof& proof);
}  // namespace rows

Json to_json(const Proof& proof);
Proof read_proof(const Node& node);

}  // namespace iotune::patterndb
