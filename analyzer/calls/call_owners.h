// Which file each call works on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/calls/call_facts.h"
#include "recorder/read/call.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

// iotune_dataset: what was said of a dataset before its first transfer.
struct DatasetDefinition {
  std::string file, path;
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> dims, chunk;  // a scalar has one dimension of extent 1
  std::uint32_t filters = 0;
  std::int64_t address = -1;  // of its header in the file; below 0: unknown

  template <class A>
  void archive(A& a) {
    a(file, path, element_bytes, dims, chunk, filters, address);
  }
};

// Follows handles of files, datasets and groups through the calls of one process, each thread's
// in the order of their ends. A call that is made on something else (a dataspace, a property
// list) has no file.
class OwnerFollower {
 public:
  static constexpr std::int32_t kNone = -1;

  // The file of the call, an index into files(), or kNone. `number` is the caller's own name
  // for the call.
  std::int32_t follow(std::size_t number, const recorder::Call& call);

  // An open is known only by the note that follows it: the number of the open and its file, if
  // the call just followed was such a note.
  const std::optional<std::pair<std::size_t, std::int32_t>>& opened() const { return opened_; }
  // The dataset of the call just followed; nullptr if it was made on none, or on one that had
  // not been transferred before.
  const DatasetDefinition* dataset() const { return dataset_; }

  // Whether a library made the call for itself: inside of a call of a layer above, or on a
  // descriptor that was opened in one. (MPI-IO moves what MPI_File_iwrite asked for within
  // MPI_Wait, which is not recorded.)
  bool is_inner(const recorder::Call& call) const;

  // follow() of a call on a descriptor or a transfer of MPI-IO, which change nothing.
  std::int32_t of_transfer(const recorder::Call& call) const;

  // What was said of an object, nullptr if nothing.
  const DatasetDefinition* definition(std::int64_t object) const {
    const auto found = datasets_.find(object);
    return found == datasets_.end() ? nullptr : &found->second;
  }

  // iotune_dataset. One that comes late (another thread noted it) may be given before its turn.
  void define_dataset(const recorder::Call& call);
  // All calls of iotune_dataset were given, and no object twice: their turns say nothing new.
  void know_all_datasets() { all_known_ = true; }

  const std::vector<std::string>& files() const { return files_; }  // absolute paths
  // By object number.
  const std::unordered_map<std::int64_t, DatasetDefinition>& datasets() const { return datasets_; }
  std::unordered_map<std::int64_t, DatasetDefinition> take_datasets() {
    return std::move(datasets_);
  }

  // Between two calls.
  template <class A>
  void archive(A& a) {
    a(files_, datasets_, object_of_, by_number_, hdf5_, mpi_, last_open_, inner_);
    if constexpr (!A::kReads) return;
    index_.clear();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      index_[files_[i]] = static_cast<std::int32_t>(i);
    }
  }

 private:
  using Handles = std::unordered_map<std::int64_t, std::int32_t>;

  // Looks names up without a copy of them.
  struct PathHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view path) const {
      return std::hash<std::string_view>()(path);
    }
  };

  std::int32_t index_of(std::string_view path);
  // Of the call whose arguments were read last.
  std::int32_t file_of_note(const recorder::Call& call, const CallFacts& facts);
  std::int32_t file_of_hdf5(const recorder::Call& call, const CallFacts& facts);
  std::int32_t file_of_mpi(const CallFacts& facts);
  std::int32_t file_of_mpi_handle() const;
  std::int32_t file_of_posix(const recorder::Call& call) const;
  void define_dataset();

  recorder::CallArguments arguments_;
  std::vector<std::string> files_;
  std::unordered_map<std::string, std::int32_t, PathHash, std::equal_to<>> index_;
  std::unordered_map<std::int64_t, DatasetDefinition> datasets_;  // by object number
  std::unordered_map<std::int64_t, std::int64_t> object_of_;      // by dataset id
  Handles by_number_, hdf5_, mpi_;
  struct Open {
    std::size_t number;
    bool inner;
    template <class A>
    void archive(A& a) {
      a(number, inner);
    }
  };
  std::unordered_map<std::uint32_t, Open> last_open_;  // by thread
  std::unordered_set<std::int64_t> inner_;             // files' numbers of such descriptors
  std::optional<std::pair<std::size_t, std::int32_t>> opened_;
  const DatasetDefinition* dataset_ = nullptr;
  bool all_known_ = false;
};

struct CallOwners {
  static constexpr std::int32_t kNone = OwnerFollower::kNone;
  std::vector<std::string> files;          // absolute paths
  std::vector<std::int32_t> file_of_call;  // index into files or kNone; one for each call
  std::vector<bool> is_inner;              // as OwnerFollower says; one for each call
  std::unordered_map<std::int64_t, DatasetDefinition> datasets;  // by object number
};

CallOwners owners_of(const recorder::ProcessCalls& process);

}  // namespace iotune::analyzer
