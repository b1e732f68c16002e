// All entries of one writer, out of its index.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/index/nest.h"
#include "analyzer/index/stream_times.h"
#include "logstore/read/log_map.h"

namespace iotune::logstore {

struct HoleEntry {
  std::int64_t position;
  std::int64_t start, end;  // in the file
  bool truncates;           // sets the file's size to `start`
};

struct WriterEntries {
  std::vector<analyzer::Nest> nests;  // as append_block_nests leaves them
  std::vector<HoleEntry> holes;
  std::vector<analyzer::TimeKnot> knots;  // shifted
  std::int64_t position = 0;              // entries, those of lost blocks included
  std::int64_t physical = 0;              // bytes of the log that blocks describe

  std::size_t count() const { return nests.size() + holes.size() + knots.size(); }
};

// Takes the index apart. `most` is how many nests, holes and knots there may be. Errors as of
// LogMap::merge; damage stands in the report, whose name and log_bytes are set.
std::optional<Error> read_writer(std::uint64_t container_id, const WriterBytes& writer,
                                 std::size_t most, const ReadLimits& limits, WriterEntries& to,
                                 WriterReport& report);

}  // namespace iotune::logstore
