// The changes that a compaction makes to a container's directory, one by one, under its lock.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "logstore/read/container_files.h"

namespace iotune::logstore {

// Each returns false after a failure, and errno says why. Not thread-safe.
class Changes {
 public:
  Changes(int directory, std::function<int(const char*)> before)
      : directory_(directory), before_(std::move(before)) {}

  // From now on nothing waits for the storage.
  void stop_syncing() noexcept { syncs_ = false; }

  // Nobody has the container open for writing as long as this object lives. An error where
  // somebody has, and where the file system has no such locks.
  std::optional<Error> lock(const std::string& path);

  // A new file with the mode and, as far as allowed, the owner of `container`.
  Descriptor make(const std::string& name);
  bool write(const Descriptor& file, std::span<const std::byte> bytes, std::int64_t offset);
  bool sync(const Descriptor& file);
  bool sync_file(const std::string& name);
  bool rename(const std::string& from, const std::string& to);
  // True also where there is none.
  bool remove(const std::string& name);
  bool sync_directory();

 private:
  bool may(const char* change);

  int directory_;
  std::function<int(const char*)> before_;
  Descriptor lock_;
  bool syncs_ = true;
};

}  // namespace iotune::logstore
