// Which file of the file system each call of a process works on, and where the bytes lie that
// MPI-IO moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyzer/calls/call_owners.h"
#include "analyzer/calls/mpi_accesses.h"
#include "analyzer/order/accesses/file_names.h"
#include "recorder/read/call.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

// Whether calls of it begin or end the atomic mode of a handle of MPI-IO.
bool sets_atomicity(const recorder::CallSignature& signature);

class FileHandles {
 public:
  static constexpr std::uint32_t kNoFile = UINT32_MAX;

  // `began_ns`: when the process did, Unix time.
  FileHandles(FileNames& names, std::uint64_t began_ns, std::string directory)
      : names_(names), began_ns_(began_ns), directory_(std::move(directory)) {}

  struct Followed {
    std::uint32_t file = kNoFile;
    std::optional<FileExtents> pieces;  // of a transfer of MPI-IO
    bool inner = false;                 // a library made it for itself
    bool commits = false;               // what it wrote is stored
  };
  // The process's calls in the order of their ends; `number` is the caller's own name for it.
  Followed follow(std::size_t number, const recorder::Call& call);
  // The open that the note just followed was about, and its file.
  const std::optional<std::pair<std::size_t, std::uint32_t>>& opened() const { return opened_; }

  // The same as follow() of a call that changes nothing: on a descriptor, or a transfer of MPI-IO.
  Followed look(const recorder::Call& call) const;
  // A file that a call names at that time.
  std::uint32_t named(const std::string& path, std::uint64_t start_ns);

  OwnerFollower& owners() { return owners_; }
  const MpiAccesses& mpi() const { return mpi_; }
  // Whether the call works on a handle of MPI-IO in atomic mode.
  bool is_atomic(const recorder::Call& call) const;

 private:
  using Files = std::unordered_map<std::int64_t, std::uint32_t>;
  static std::uint32_t found_in(const Files& files, std::int64_t key) {
    const auto found = files.find(key);
    return found == files.end() ? kNoFile : found->second;
  }
  void take_note(const recorder::Call& note, std::int32_t owner);
  void follow_modes(std::size_t number, const recorder::Call& call);

  FileNames& names_;
  std::uint64_t began_ns_;
  std::string directory_;
  OwnerFollower owners_;
  MpiAccesses mpi_;
  recorder::CallArguments arguments_;
  Files by_number_, by_path_, by_mpi_;
  std::unordered_set<std::size_t> storing_opens_;  // with O_SYNC or O_DSYNC, not yet named
  std::unordered_set<std::int64_t> storing_;       // files by their numbers
  std::unordered_set<std::int64_t> atomic_;        // handles of MPI-IO
  std::optional<std::pair<std::size_t, std::uint32_t>> opened_;
};

}  // namespace iotune::analyzer
