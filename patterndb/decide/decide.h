// The decision at a file's open. decision.h is what becomes of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "patterndb/decide/decision.h"
#include "patterndb/exchange/config_xml.h"
#include "patterndb/store/records.h"

namespace iotune::patterndb {

struct Question {
  std::string layer, program, file, mpi, hdf5, filesystem;
  std::uint32_t ranks = 1, nodes = 1;
  bool creating = true;
  bool frozen = false;   // the site's wish: nothing is learnt
  bool gathers = false;  // what was measured of gathering is applied (gather_offer.h)
  // Which of Open MPI's two MPI-IOs opens the file (patterndb/settings/proven_table.h), or what
  // tells it.
  std::string mpi_io = {};
  const char* (*ask_mpi_io)(const char* file) = nullptr;
};

Question question_from(const iotune_question& question);  // unknown strings are empty

struct Places {
  std::string database, spool;
  std::string config;  // IOTUNE_CONFIG, empty: none
  // What exploration draws; tests and questions out of curiosity give a number of [0, 1).
  std::optional<double> draw = {};
  // Databases that are only read, asked in this order where the user's own has no answer.
  std::vector<std::string> lower = {};
};

// `site_database`: what /etc/iotune.conf names; empty: none.
Places places_from_environment(const std::string& site_database = {});

struct RefusedSetting {
  std::string name, value, reason;
  // A setting whose proof would let it through; empty where none would.
  std::string unproven_name, unproven_value;
};

struct Decision {
  iotune_source source = IOTUNE_SOURCE_UNKNOWN;
  State state = State::kUntrained;
  std::int64_t row = -1;
  std::optional<double> distance;  // of the answer that holds, or else of the nearest one
  std::string pattern, message;
  std::string workload_file;  // as the database has it; empty: it was not asked
  bool by_name = false;       // holds for this name alone, not for others with other numbers
  Settings settings;
  // Of an untrained file: what a model expects most of, without being sure. Never applied as such.
  Settings hopeful;
  std::vector<VariableSetting> of_variables;
  std::vector<KnownFile> known;  // of a new file that gets settings from the database
  bool forced = false;           // the configuration lifts what is unknown
  // What the gate left of it (patterndb/settings/gate.h). One that did not pass is never given out.
  bool gated = false;
  std::vector<RefusedSetting> refused;
  bool sieves = false;  // writes of all ranks at once may be sieved
};

// Reads only. An error means that there is no decision to be had. The decision has passed the gate.
Result<Decision> decide(const Question& question, const Places& places) noexcept;

}  // namespace iotune::patterndb
