// Writing a trace file from blocks that are in memory already.
#pragma once

#include <cerrno>
#include <cstddef>
#include <optional>

#include "core/files/file_lock.h"
#include "core/files/fresh_file.h"
#include "core/os/short_text.h"

namespace iotune::recorder {

// The directory that this run's trace goes to, without a slash at its end; the default one is made.
// False where there is none. One at a time.
bool trace_directory(ShortText<4096>& path) noexcept;

// A folder of this name in the user's folder of the site (site_limits.h), or, where there is none
// that can be used, in the user's state directory of iotune; made where it is missing. False where
// there is no such directory. One at a time.
bool state_directory(const char* name, ShortText<4096>& path) noexcept;
// The same in the state directory, whatever the site says; nothing is made.
bool home_state_path(const char* name, ShortText<4096>& path) noexcept;

// Where this run's trace goes: IOTUNE_TRACE, or a new name in the default directory, which is
// made. False where there is no place.
bool trace_path(ShortText<4096>& path) noexcept;

// A new trace, written beside its final name and renamed when whole. It takes the place of an
// older trace of this user's, or of nothing (recorder/replaceable.h). All calls are no-ops after a
// failure, which finish() reports on stderr.
class TraceFile {
 public:
  explicit TraceFile(const char* path) noexcept;

  void append(const void* bytes, std::size_t size) noexcept;
  // Keeps the blocks of the older trace at the place where its first process has `tree`
  // (process_tree.h). Other processes that do so wait until this object ends, a moment at most. To
  // be called first.
  void keep_blocks_of(const char* tree) noexcept;
  bool has_kept_blocks() const noexcept { return kept_blocks_; }
  // Whether another process has written the trace since keep_blocks_of.
  bool is_late() const noexcept;
  bool finish() noexcept;

 private:
  void lock_folder() noexcept;
  long error() const noexcept { return file_ ? file_->error() : -EEXIST; }

  bool kept_blocks_ = false;

  ShortText<4096> path_;
  const char* refusal_;            // why what is there must stay
  std::optional<FreshFile> file_;  // none where it must
  unsigned long found_ = 0;        // the older trace's inode; 0: none
  std::optional<FileLock> folder_;
};

}  // namespace iotune::recorder
