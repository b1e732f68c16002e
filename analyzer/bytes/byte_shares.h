// What one process moved outside HDF5, by file.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "analyzer/bytes/byte_runs.h"
#include "analyzer/file_table.h"
#include "analyzer/mpi_accesses.h"
#include "recorder/read/access_words.h"
#include "recorder/read/call.h"

namespace iotune::analyzer {

class ByteShares {
 public:
  // Every call in its turn, for views and file pointers. `file`: of a transfer that no other call
  // made, else nullptr.
  void follow(const recorder::Call& call, FileRecord* file, bool write, std::uint64_t wall_ns);
  // All calls were followed.
  void finish();

 private:
  struct Share {
    ByteRuns runs;
    std::uint64_t nanoseconds = 0;
  };
  struct Target {
    ByteRecord& record;
    Share& share;
  };
  Target target(FileRecord& file, std::uint64_t displacement, bool write);

  recorder::AccessWordsReader words_;
  MpiAccesses mpi_;
  std::map<ByteRecord*, Share> shares_;
};

}  // namespace iotune::analyzer
