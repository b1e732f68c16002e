#include "analyzer/order/access_reader.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "analyzer/order/accesses/access_notes.h"
#include "analyzer/order/accesses/file_names.h"
#include "analyzer/order/accesses/process_accesses.h"

namespace iotune::analyzer {
namespace {

// Where what MPI-IO moves is seen below it, only that counts.
std::vector<AccessRun> lowest_runs(FoldedKinds& kinds, const std::vector<bool>& below_mpi) {
  std::vector<AccessRun> runs;
  for (auto& [kind, folded] : kinds) {
    if (kind.of_mpi && below_mpi[kind.file]) continue;
    runs.insert(runs.end(), std::make_move_iterator(folded.begin()),
                std::make_move_iterator(folded.end()));
  }
  std::stable_sort(runs.begin(), runs.end(), [](const AccessRun& a, const AccessRun& b) {
    return std::tie(a.file, a.site, a.write, a.segment) <
           std::tie(b.file, b.site, b.write, b.segment);
  });
  return runs;
}

}  // namespace

TraceAccesses read_accesses(std::span<const recorder::TraceIndex> traces, EventSink* events,
                            Reading reading) {
  TraceAccesses trace;
  FileNames names(traces);
  std::vector<FoldedKinds> kinds;
  std::vector<bool> below_mpi;  // by file
  std::vector<std::uint64_t> without_place;
  for (std::size_t number = 0; number < traces.size(); ++number) {
    for (std::size_t i = 0; i < traces[number].processes.size(); ++i) {
      ProcessReader reader(traces[number], i, trace.processes.size(), names, events, reading);
      trace.unreadable_batches += reader.run();
      kinds.push_back(reader.notes().take_kinds());
      below_mpi.resize(names.count());
      without_place.resize(names.count());
      for (const std::uint32_t file : reader.notes().below_mpi()) below_mpi[file] = true;
      for (const auto& [kind, runs] : kinds.back()) {
        if (reader.is_of_log() && !kind.of_mpi) below_mpi[kind.file] = true;
      }
      for (const auto& [file, accesses] : reader.notes().without_place()) {
        without_place[file] += accesses;
      }
      trace.processes.push_back(reader.take_done());
      trace.processes.back().trace = number;
    }
  }
  trace.files = names.take_files();
  below_mpi.resize(trace.files.size());
  without_place.resize(trace.files.size());
  for (std::size_t i = 0; i < trace.files.size(); ++i) {
    trace.files[i].without_place = without_place[i];
  }
  for (std::size_t process = 0; process < kinds.size(); ++process) {
    trace.processes[process].runs = lowest_runs(kinds[process], below_mpi);
    kinds[process].clear();
  }
  return trace;
}

}  // namespace iotune::analyzer
