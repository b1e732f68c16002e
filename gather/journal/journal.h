// What this rank holds of one file, in a log as well (IOTUNE_GATHER=log): a run that is killed has
// not lost it. The log is a container of the log store beside the file, and `iotune log flatten`
// writes into the file what it has. No MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/files/descriptor.h"
#include "logstore/store/own_writer.h"

namespace iotune::gather {

class Journal {
 public:
  // The file that MPI calls `name`, without the name of a driver.
  static const char* path_of(const char* name) noexcept;
  // DIRECTORY/.NAME.iotune of the file that MPI calls `name`, which may begin with the name of a
  // driver: "ufs:/scratch/f". Empty: its name would be too long. Throws std::bad_alloc.
  static std::string place_of(const char* name);
  // By one rank, before any other uses it: an empty container with the file's mode, or one that is
  // there and empty. nullptr, or why there is none.
  static const char* make(const std::string& place, const char* name) noexcept;
  // By ranks that are done with it: the last one's removes it. It stays where a log is left in it.
  static void remove(const std::string& place) noexcept;

  // The container at `place`, of this rank's own. nullptr: it cannot be opened.
  static std::unique_ptr<Journal> open(const std::string& place) noexcept;
  ~Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // `size` bytes that belong to `offset` of the file. False: the storage does not take them.
  // Bytes reach the log 64 KiB at a time, and its index 5 s later at the latest if more comes.
  bool add(std::int64_t offset, const void* bytes, std::size_t size) noexcept;
  // What was added so far leaves: what comes next gets a log of its own. After a clear().
  void begin_leaving() noexcept { leaving_ = std::move(writer_); }
  // What left is in the file, or will never be. Without it the log stays for `iotune log flatten`.
  void clear() noexcept;

 private:
  Journal(Descriptor directory, Descriptor description, std::uint64_t container_id) noexcept
      : directory_(std::move(directory)),
        description_(std::move(description)),
        container_id_(container_id) {}

  Descriptor directory_, description_;  // the latter's lock says that it is in use
  std::uint64_t container_id_;
  unsigned next_number_ = 0;
  std::int64_t flushed_ns_ = 0;
  std::shared_ptr<logstore::OwnWriter> writer_, leaving_;
};

}  // namespace iotune::gather
