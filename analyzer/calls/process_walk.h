// Goes through the calls of processes and notes down what they did to which file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "analyzer/summary/alike_ranks.h"
#include "analyzer/summary/archive.h"
#include "analyzer/summary/file_table.h"

namespace iotune::analyzer {

struct Member {
  std::uint64_t wall_ns;  // when it started, Unix time
  bool died;              // it ended early
};

// Processes that are alike are gone through once; of the others only where they moved what.
void walk_processes(AlikeRanks& ranks, const std::vector<Member>& members, FileTable& files);

struct WalkedCalls {
  std::uint64_t calls = 0, unreadable_batches = 0;
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;  // after the process's start

  template <class A>
  void archive(A& a) {
    a(calls, unreadable_batches, first_ns, last_ns);
  }
};

// Asked now and then by what takes long: true where it is to leave off.
using StopWhen = std::function<bool()>;

// One process with more calls than memory or time is wanted for: a batch of each of its threads is
// held, and the walk can be left off and gone on with by another program.
// What a thread notes down of a dataset only after another one's calls on it were read is missed.
class LongWalk {
 public:
  LongWalk(const recorder::TraceIndex& index, std::size_t process, const Member& member,
           FileTable& files);
  ~LongWalk();
  LongWalk(LongWalk&&) noexcept;

  // Reads some calls at least. True: all were read, and `files` has what the process did.
  bool go_on(const StopWhen& stop);
  const WalkedCalls& walked() const;

  // After `files` was archived, whose objects are named (name_records).
  void save(ArchiveWriter& to);
  void load(ArchiveReader& from);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Names what walks point to, for one side of an archive.
template <class A>
void name_records(FileTable& files, A& archive) {
  for (auto& [path, file] : files) {
    archive.name(&file);
    for (auto& [key, versions] : file.datasets) {
      archive.name(&versions);
      for (DatasetRecord& record : versions) archive.name(&record);
    }
    for (auto& [key, record] : file.bytes) archive.name(&record);
  }
}

}  // namespace iotune::analyzer
