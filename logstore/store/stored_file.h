// A LoggedFile as it is: one writer of this process, and a view of the file.
//
// The view is the map of all indexes as it was merged (the base), with what this process wrote
// since on top (the overlay). It is made by the first read, and given up where others wrote, or
// where the overlay grows large. Without a view writes leave nothing behind but the writer's own
// state. stored_writes.cpp, stored_reads.cpp and stored_file.cpp hold the functions.
#pragma once

#include <atomic>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "logstore/read/container_files.h"
#include "logstore/read/log_map.h"
#include "logstore/read/read_plan.h"
#include "logstore/store/log_windows.h"
#include "logstore/store/logged_file.h"
#include "logstore/store/overlay.h"
#include "logstore/store/own_writer.h"
#include "logstore/store/survey.h"

namespace iotune::logstore {

class StoredFile final : public LoggedFile {
 public:
  // As LoggedFile::open(), and nothing is shared.
  static int open(const std::string& path, FoundContainer&& found, const StoreOptions& options,
                  std::shared_ptr<StoredFile>& to);

  std::int64_t read(std::int64_t offset, void* to, std::size_t size) noexcept override;
  std::int64_t write(std::int64_t offset, const void* from, std::size_t size) noexcept override;
  std::int64_t append(const void* from, std::size_t size, std::int64_t& offset) noexcept override;
  int truncate(std::int64_t size) noexcept override;
  int punch(std::int64_t offset, std::int64_t length) noexcept override;
  std::int64_t size() noexcept override;
  std::int64_t next_data(std::int64_t offset) noexcept override;
  std::int64_t next_hole(std::int64_t offset) noexcept override;
  int flush() noexcept override;
  int sync() noexcept override;
  int refresh() noexcept override;
  int status(struct stat& to) noexcept override;
  int set_times(const struct timespec times[2]) noexcept override;
  int set_mode(mode_t mode) noexcept override;
  int set_owner(uid_t owner, gid_t group) noexcept override;
  int directory() const noexcept override { return directory_.get(); }

  // Somebody in this process opens it, and has the lock of those who have it open (FORMAT.md).
  void become_held(Descriptor openers_lock) noexcept;
  // Nobody does any more: all is flushed, and others may compact.
  void become_idle() noexcept;
  // The same for good: this process opens it no more, or ends.
  void leave() noexcept;
  // This process removes the container now: whatever a later read needs is taken hold of.
  void before_removal() noexcept;
  // Has somebody removed the container?
  bool is_removed() const noexcept;
  // Around fork(2): the lock is held from before_fork() on until then.
  void before_fork() noexcept;
  void after_fork(bool is_child) noexcept;
  // The inode of `container`, for as long as this lives.
  const struct stat& key() const noexcept { return key_; }

  // From now on every write is flushed by itself.
  static std::atomic<bool> process_ends;

 private:
  StoredFile(const std::string& path, const StoreOptions& options)
      : path_(path), options_(options) {}

  // All of these with the lock held; 0 or -errno.
  int ready_writer();
  void unlock_openers() noexcept;
  void lock_container();
  void unlock_container();
  void leave_to_compaction(bool ends);
  void forget_compacted_writer();
  int flush_writer();
  int sync_writers_before();
  std::int64_t write_here(std::int64_t offset, const void* from, std::size_t size);
  int make_hole(std::int64_t offset, std::int64_t length, bool truncates);
  int flush_where_due();
  void before_change();
  void after_change() noexcept;
  void note_extent(std::int64_t offset, std::int64_t length, std::int64_t physical);
  bool mtime_of(const struct stat& handle, timespec& mtime) const;
  void set_mtime();

  int look();
  int ready_survey();
  int ready_view();
  int merge_once(bool& again);
  void let_indexes_be_merged();
  void drop_view() noexcept;
  std::int64_t size_here();
  struct Piece {
    LogPiece::Kind kind;
    std::int64_t end;  // in the file
    std::uint32_t writer;
    std::int64_t physical;
  };
  Piece piece_at(std::int64_t offset, std::int64_t end) const;
  // As much of a small read as one log has in a row and was read ahead, or is now; 0: none.
  std::int64_t read_ahead(std::int64_t offset, std::int64_t end, std::byte* to);
  // A read that is made without the lock: whose logs the plan's numbers are.
  struct PlannedRead {
    ReadPlan plan;
    std::shared_ptr<OwnWriter> own;
    std::shared_ptr<const LogMap> base;
  };
  int make_plan(std::int64_t offset, std::int64_t end, PlannedRead& read);
  int open_log(const PlannedRead& read, std::uint32_t writer, LogToRead& to);
  bool view_is_compacted(int& reloads);
  std::int64_t seek(std::int64_t offset, bool to_data);

  void say(const std::string& text) const;
  void report_damage(const std::vector<WriterReport>& reports);
  std::string current_path() const;

  std::mutex mutex_;
  std::string path_;
  StoreOptions options_;
  Descriptor directory_;
  // Of `container`: its lock says that a writer is open, and no other file gets its inode.
  Descriptor description_file_;
  Descriptor openers_lock_;
  int holders_ = 0;  // 2 while one thread lets it go and another one opens it
  Descriptor append_lock_;
  Descriptor handle_;  // O_PATH, of a container that this process removed
  struct stat key_ {};
  std::uint64_t container_id_ = 0;

  std::shared_ptr<OwnWriter> writer_;
  MergedIdentity merged_before_writer_;     // the merged index that there was when it was made
  std::int64_t index_bytes_looked_at_ = 0;  // of it, when a compaction was thought of last
  unsigned next_number_ = 0;
  bool is_locked_ = false;  // shared, with others who write
  bool is_new_ = false;     // this process made the container, and no writer yet
  bool names_are_synced_ = false;
  bool is_dirty_ = false;  // something was written that no flush has reported
  std::int64_t flushed_ns_ = 0;
  // Changes that the handle's mtime does not tell of yet, and what it was before the first of them.
  bool mtime_is_due_ = false;
  std::optional<std::int64_t> mtime_seen_ns_;  // the handle's, when the writer was made just now
  std::int64_t mtime_before_ns_ = 0;
  std::int64_t first_change_ns_ = 0;
  std::int64_t last_change_ns_ = 0;

  bool indexes_were_merged_ = false;  // or it was tried
  bool must_look_ = false;
  bool removed_ = false;
  bool said_damage_ = false;
  bool said_no_locks_ = false;
  std::optional<Survey> survey_;
  std::shared_ptr<const LogMap> base_;
  std::uint32_t own_in_base_ = analyzer::kHole;
  std::vector<std::string> not_durable_;  // others of the base, for whom no block of theirs vouches
  Overlay overlay_;
  SizeChange since_base_;
  SizeChange since_writer_;  // all that the writer has made
  std::uint64_t views_ = 0;  // that were dropped: numbers of writers are those of one view
  OpenLogs logs_{kMostLogs, true};
  LogWindows windows_;

  static constexpr std::size_t kMostLogs = 64;
  static constexpr std::int64_t kSmallRead = 8192;
  static constexpr std::size_t kMostExtents = 1 << 16;
  static constexpr std::int64_t kIndexBytesToLookAgain = 16384;
  // Of an idle file's view.
  static constexpr std::size_t kMostIdleBytes = 1 << 20;
  static constexpr std::size_t kMostIdleExtents = 1 << 12;
};

// Whatever is thrown within becomes an errno: memory that is not there.
template <class Work>
auto guarded(Work&& work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return -ENOMEM;
  }
}

}  // namespace iotune::logstore
