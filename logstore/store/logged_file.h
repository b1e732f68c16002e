// A container as the file that a program sees: read and written by this process, in both faces.
//
// Other processes' writes are seen as on NFS: what was there when the file was opened, and what
// they flushed before refresh(), which a face calls where the program opens, locks or syncs the
// file. What this process wrote is always seen by it.
//
// All functions may be called by any thread, and throw nothing. Where not said otherwise they
// return 0 or -errno. What is damaged is said once through `say`, and only the bytes that are
// missing answer -EIO.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>

#include "logstore/read/container_files.h"

namespace iotune::logstore {

// What the last process that closes a file makes of it.
enum class AtClose : std::uint8_t {
  kFlatten,  // an ordinary file (flat/flatten.h)
  kCompact,  // a container with one index, where that is worth it
  kKeep      // nothing
};

struct StoreOptions {
  // A line for the user, without a line's end. nullptr: nothing is said.
  void (*say)(const char* text) = nullptr;
  // A writer that wrote and was not flushed for so long is flushed with its next write, so that a
  // killed process loses no more than that.
  std::int64_t flush_interval_ns = 5'000'000'000;
  AtClose at_close = AtClose::kCompact;
};

// Is a container at `path`, relative to the directory `at` (or AT_FDCWD)? Follows a link unless
// `follows` is false.
bool is_container(int at, const char* path, bool follows = true) noexcept;

class LoggedFile {
 public:
  // Makes the container at the absolute `path`, where nothing may be yet (-EEXIST). `mode`: of the
  // file, as open(2) has it, the umask already taken off. Nobody ever sees a half of it.
  static int make(const std::string& path, mode_t mode) noexcept;
  // The same, opened by who made it. `handle`: a descriptor of the handle, opened with
  // `handle_flags`.
  static int make(const std::string& path, mode_t mode, const StoreOptions& options,
                  int handle_flags, Descriptor& handle, std::shared_ptr<LoggedFile>& file) noexcept;
  // The same container opened twice is one LoggedFile with one writer, for as long as somebody
  // holds it, and a while beyond: programs that open, append and close again and again would
  // leave a writer each time. -ENOENT, -ENOTDIR, -EISDIR (no container), -ENOTSUP (a newer
  // version), -EIO. `options` are those of who opens it first.
  static int open(const std::string& path, const StoreOptions& options,
                  std::shared_ptr<LoggedFile>& file) noexcept;
  // The same of a container that was found at `path`.
  static int open(const std::string& path, FoundContainer&& found, const StoreOptions& options,
                  std::shared_ptr<LoggedFile>& file) noexcept;

  virtual ~LoggedFile() = default;

  // As pread(2) and pwrite(2), of any size. read: fewer bytes only at the end of the file, or
  // before bytes that are missing.
  virtual std::int64_t read(std::int64_t offset, void* to, std::size_t size) noexcept = 0;
  virtual std::int64_t write(std::int64_t offset, const void* from, std::size_t size) noexcept = 0;
  // Writes to the end of the file, also against other processes; `offset` is where that was. Takes
  // a lock and a look at all indexes each time: right, and slow.
  virtual std::int64_t append(const void* from, std::size_t size,
                              std::int64_t& offset) noexcept = 0;

  virtual int truncate(std::int64_t size) noexcept = 0;
  // Zeros from here on; the size stays. length > 0.
  virtual int punch(std::int64_t offset, std::int64_t length) noexcept = 0;
  // -errno, or the size that this process sees.
  virtual std::int64_t size() noexcept = 0;
  // As lseek(2) with SEEK_DATA and SEEK_HOLE: -ENXIO behind the end.
  virtual std::int64_t next_data(std::int64_t offset) noexcept = 0;
  virtual std::int64_t next_hole(std::int64_t offset) noexcept = 0;

  // All that was written so far: seen by others who refresh; survives this process.
  virtual int flush() noexcept = 0;
  // On the storage, with the names of the logs in their directory: what this process wrote, and of
  // a file that it has not written to since it opened it, what others flushed.
  virtual int sync() noexcept = 0;
  // From now on others' flushed writes are seen. Cheap where nobody wrote.
  virtual int refresh() noexcept = 0;

  // What stat(2) says: inode, mode, owner, times and links of the handle (FORMAT.md), the file's
  // size, and the blocks that its logs occupy.
  virtual int status(struct stat& to) noexcept = 0;
  // utimensat(2) of the handle, nullptr for now. A time that is set so is the file's until the next
  // write. (One that is set on the handle directly is, too, and stays when the program writes
  // again before the next flush: that is not known then.)
  virtual int set_times(const struct timespec times[2]) noexcept = 0;

  // chmod(2) and chown(2) of the file: of the handle, and whatever else is in the container and
  // this process may change, so that those who may read and write the file can.
  virtual int set_mode(mode_t mode) noexcept = 0;
  virtual int set_owner(uid_t owner, gid_t group) noexcept = 0;

  // A descriptor of the container's directory, the file's for as long as it lives.
  virtual int directory() const noexcept = 0;

  // Around fork(2), which both faces have: before it nobody is inside, and all is flushed; the
  // child gives up the parent's writers and makes its own with its first write.
  static void before_fork() noexcept;
  static void after_fork(bool is_child) noexcept;
  // What flush() and refresh() do, of all that this process has open. 0 or the first -errno.
  static int flush_all() noexcept;
  static void refresh_all() noexcept;
  // The process ends: everything is flushed, and from now on every write is flushed by itself.
  static void at_exit() noexcept;
  // Files that nobody holds any more are closed; the program is idle, or wants them gone.
  static void close_idle() noexcept;
  // What this process wrote to the container at `path`, which it has closed, is flushed. 0 or
  // -errno.
  static int flush_closed(const std::string& path) noexcept;
};

// Removes the container at `path` with all that is in it: renamed aside first, so that it is gone
// at once. Who has it open still reads it, and writes to it.
int remove_container(const std::string& path) noexcept;

// rename(2) of the container or file at `from`, over a container or a file at `to` too; -EISDIR
// where `to` is an ordinary directory.
int rename_container(const std::string& from, const std::string& to, unsigned flags) noexcept;

}  // namespace iotune::logstore
