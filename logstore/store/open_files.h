// The containers that this process has open, each once, and those that it had open lately.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "logstore/store/stored_file.h"

namespace iotune::logstore {

class OpenFiles {
 public:
  // Of this process. It is never destroyed: programs write until their very end.
  static OpenFiles& all();

  int open(const std::string& path, const StoreOptions& options, std::shared_ptr<LoggedFile>& file);
  int open(const std::string& path, FoundContainer&& found, const StoreOptions& options,
           std::shared_ptr<LoggedFile>& file);
  // The container at `path` is about to be removed by this process.
  void before_removal(const std::string& path);
  void close_idle();
  int flush_closed(const std::string& path);

  // Nobody is inside any file between the two.
  void before_fork();
  void after_fork(bool is_child);
  int flush_all();
  void refresh_all();
  void at_exit();

 private:
  using Key = std::pair<dev_t, ino_t>;
  struct Entry {
    std::shared_ptr<StoredFile> file;
    std::weak_ptr<LoggedFile> holders;
    std::uint64_t idle_since = 0;  // 0: somebody holds it
  };
  using Entries = std::map<Key, Entry>;

  static constexpr std::size_t kMostIdle = 16;

  static bool key_at(const std::string& path, Key& key);
  // With the lock held.
  void enter(std::shared_ptr<StoredFile> opened,
             std::vector<std::shared_ptr<StoredFile>>& forgotten);
  std::shared_ptr<LoggedFile> hold(Entry& entry, Descriptor openers_lock);
  void released(const std::shared_ptr<StoredFile>& file) noexcept;
  std::shared_ptr<StoredFile> too_many_idle(const StoredFile& file) noexcept;

  std::mutex mutex_;
  Entries entries_;
  std::uint64_t clock_ = 0;
};

}  // namespace iotune::logstore
