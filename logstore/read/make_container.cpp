#include "logstore/read/make_container.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <span>
#include <thread>

#include "core/os/fnv1a.h"
#include "logstore/read/container_files.h"

namespace iotune::logstore {
namespace {

constexpr mode_t kFileBits = 07777;
// How long one that another process makes is waited for at most, and how rarely looked for.
constexpr std::chrono::seconds kLongestWait{10};
constexpr std::chrono::milliseconds kUsualWait{300};
constexpr std::chrono::microseconds kLongestPause{20'000};
constexpr std::chrono::seconds kDeadAfter{60};

// The same for all who make `path`.
std::string name_of_draft(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::size_t last = slash == std::string::npos ? 0 : slash + 1;
  return name_beside(Fnv1a::of(path.c_str() + last), path, "draft");
}

// Has what was made the mode that it should have, whatever umask and the directory's own rules took
// from it? Else it is given it.
bool has_mode(int fd, mode_t mode) {
  struct stat made {};
  if (fstat(fd, &made) != 0) return false;
  return (made.st_mode & kFileBits) == mode || fchmod(fd, mode) == 0;
}

// No descriptor: errno says why.
Descriptor made_file(int directory, const char* name, int flags, mode_t mode) {
  Descriptor file(openat(directory, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  return !file || has_mode(file.get(), mode) ? std::move(file) : Descriptor();
}

bool write_whole(const Descriptor& file, std::span<const std::byte> bytes, bool durable) {
  if (!file || !write_at(file.get(), bytes, 0)) return false;
  if (durable) return fsync(file.get()) == 0;
  // It may stay open, and other nodes' ranks look for it as soon as they see its name.
  const int wrong = pass_on(file.get());
  if (wrong != 0) errno = -wrong;
  return wrong == 0;
}

struct Making {
  mode_t mode;
  bool durable;
  int handle_flags;
};

// False: errno says why.
bool fill(const std::string& made, const Making& how, FoundContainer& to, Descriptor& handle) {
  const auto readme = std::as_bytes(std::span(kReadmeText, std::strlen(kReadmeText)));
  const mode_t ours = inner_file_mode(how.mode);
  to.directory =
      moved_high(Descriptor(::open(made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  if (!to.directory) return false;
  const int at = to.directory.get();
  if (!write_whole(made_file(at, kReadmeName, O_WRONLY, ours), readme, how.durable)) return false;
  to.description = moved_high(made_file(at, kDescriptionName, O_RDWR, ours));
  if (!write_whole(to.description, to.head, how.durable)) return false;
  // O_CLOEXEC is as the program wants it.
  handle = Descriptor(openat(at, kHandleName, how.handle_flags | O_CREAT | O_EXCL | O_NOFOLLOW,
                             how.mode & kFileBits));
  return handle && has_mode(handle.get(), how.mode & kFileBits) &&
         (!how.durable || fsync(handle.get()) == 0) && has_mode(at, directory_mode(how.mode)) &&
         (!how.durable || fsync(at) == 0);
}

void remove_draft(const std::string& made) {
  for (const char* name : {kReadmeName, kDescriptionName, kHandleName}) {
    unlink((made + "/" + name).c_str());
  }
  rmdir(made.c_str());
}

// In `made`, a directory that this process made. 0, or -errno and nothing is left.
int fill_and_rename(const std::string& path, const std::string& made, const Making& how,
                    FoundContainer& to, Descriptor& handle) {
  int wrong = fill(made, how, to, handle) ? 0 : -errno;
  if (wrong == 0) wrong = rename_to_free_name(made, path);
  if (wrong == 0) return 0;
  handle = Descriptor();
  to = FoundContainer();
  remove_draft(made);
  return wrong == -ENOTEMPTY ? -EEXIST : wrong;
}

// Where several clients share the file system, a server may answer who renames before it has
// written that down, and let everybody else who asks for either name wait until then: CephFS's for
// up to five seconds, if nobody asks it to write. Opened before the rename, for its opening would
// wait. None: the file system is this machine's own.
Descriptor shared_parent(const std::string& path) {
  // High, because the handle is to be the lowest that is free.
  Descriptor above =
      moved_high(Descriptor(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  struct statfs system {};
  if (!above || fstatfs(above.get(), &system) != 0) return Descriptor();
  constexpr std::array kOfThisMachine{std::uint32_t{EXT4_SUPER_MAGIC},
                                      std::uint32_t{XFS_SUPER_MAGIC},
                                      std::uint32_t{BTRFS_SUPER_MAGIC}, std::uint32_t{TMPFS_MAGIC},
                                      std::uint32_t{OVERLAYFS_SUPER_MAGIC}};
  const auto type = static_cast<std::uint32_t>(system.f_type);
  const bool own = std::ranges::find(kOfThisMachine, type) != kOfThisMachine.end();
  return own ? Descriptor() : std::move(above);
}

// Every rank of a job finds that there is no file yet. On file systems with several clients, names
// that all of them make, rename and remove in one directory cost seconds (CephFS: until the
// server's next tick). So the draft has a name that all know: who makes it makes the container, the
// others wait for that. Nothing but time depends on it: who has waited long enough makes a draft of
// another name. Nobody touches a draft that another process made: that one may only be slow.
enum class Turn { kOurs, kDone, kNotWaitedFor };

// Others' drafts, what is no directory, and what a dead process left long ago. Where two nodes'
// clocks differ that much, nobody waits.
bool is_worth_waiting_for(const struct stat& draft) {
  return S_ISDIR(draft.st_mode) && draft.st_uid == geteuid() &&
         time(nullptr) - draft.st_ctime <= kDeadAfter.count();
}

Turn take_turn(const std::string& path, const std::string& draft, mode_t mode) {
  const auto began = std::chrono::steady_clock::now();
  const std::string above = parent_of(path);
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    if (mkdir(draft.c_str(), mode) == 0) return Turn::kOurs;
    if (errno != EEXIST) return Turn::kNotWaitedFor;  // and the other way says what is wrong
    struct stat there {};
    do {
      const auto waited = std::chrono::steady_clock::now() - began;
      if (waited > kLongestWait) return Turn::kNotWaitedFor;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kLongestPause);
      // A node that remembers names, as NFS's clients do, looks for them anew once it has learnt
      // that their directory has changed.
      if (waited < kUsualWait) continue;
      struct statx asked {};
      statx(AT_FDCWD, above.c_str(), AT_STATX_FORCE_SYNC, STATX_MTIME, &asked);
    } while (lstat(draft.c_str(), &there) == 0 && is_worth_waiting_for(there));
    if (lstat(path.c_str(), &there) == 0) return Turn::kDone;
    if (lstat(draft.c_str(), &there) == 0 && !is_worth_waiting_for(there)) {
      return Turn::kNotWaitedFor;
    }
  }
}

int make(const std::string& path, const Description& description, const Making& how,
         FoundContainer& to, Descriptor& handle) noexcept {
  try {
    const Descriptor shared = shared_parent(path);
    const mode_t mode = directory_mode(how.mode);
    std::string made = name_of_draft(path);
    const Turn turn = shared ? take_turn(path, made, mode) : Turn::kNotWaitedFor;
    if (turn == Turn::kDone) return -EEXIST;
    if (turn == Turn::kNotWaitedFor) {
      made = name_aside(path, "new");
      if (mkdir(made.c_str(), mode) != 0) return -errno;
    }
    write_description(description, to.head);
    to.is_new = true;
    const int wrong = fill_and_rename(path, made, how, to, handle);
    if (wrong == 0 && shared) fsync(shared.get());
    if (wrong != 0 || !how.durable) return wrong;
    const Descriptor above(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return above && fsync(above.get()) == 0 ? 0 : -errno;
  } catch (...) {
    return -ENOMEM;
  }
}

}  // namespace

mode_t directory_mode(mode_t mode) noexcept {
  mode &= 0777;
  return mode | ((mode & 0444) >> 2U) | ((mode & 0222) >> 1U) | S_IRWXU;
}

mode_t inner_file_mode(mode_t mode) noexcept {
  return (mode & 0666) | S_IRUSR | S_IWUSR;
}

std::uint64_t random_id() noexcept {
  std::uint64_t id = 0;
  while (id == 0) {
    if (getrandom(&id, sizeof id, 0) != sizeof id) {
      timespec now{};
      clock_gettime(CLOCK_REALTIME, &now);
      id = static_cast<std::uint64_t>(now.tv_nsec) ^
           (static_cast<std::uint64_t>(now.tv_sec) << 30) ^
           (static_cast<std::uint64_t>(getpid()) << 48);
    }
  }
  return id;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string name_beside(std::uint64_t id, const std::string& path, const char* ending) {
  char name[48];
  std::snprintf(name, sizeof name, ".iotune-%016llx.%s", static_cast<unsigned long long>(id),
                ending);
  const std::string parent = parent_of(path);
  return parent == "." ? name : parent + name;
}

std::string name_aside(const std::string& path, const char* ending) {
  return name_beside(random_id(), path, ending);
}

// rename(2) replaces an empty directory; not all file systems know how not to.
int rename_to_free_name(const std::string& from, const std::string& to) noexcept {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  struct stat there {};
  if (lstat(to.c_str(), &there) == 0) return -EEXIST;
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : -errno;
}

int take_name_of(const std::string& from, const std::string& to, const char* ending,
                 std::string& old) {
  old = from;
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  old = name_aside(to, ending);
  if (rename(to.c_str(), old.c_str()) != 0) return -errno;
  if (rename(from.c_str(), to.c_str()) == 0) return 0;
  const int wrong = -errno;
  rename(old.c_str(), to.c_str());
  return wrong;
}

void remove_what_was(const std::string& container) {
  unlink((container + "/" + kDescriptionName).c_str());
  std::error_code wrong;
  std::filesystem::remove_all(container, wrong);
}

int make_container(const std::string& path, const Description& description, mode_t mode,
                   bool durable) noexcept {
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) return -EEXIST;
  FoundContainer made;
  Descriptor handle;
  return make(path, description, {mode, durable, O_WRONLY | O_CLOEXEC}, made, handle);
}

int make_container(const std::string& path, const Description& description, mode_t mode,
                   int handle_flags, FoundContainer& made, Descriptor& handle) noexcept {
  return make(path, description, {mode, false, handle_flags}, made, handle);
}

std::optional<recorder::Error> make_container(const std::string& path,
                                              const Description& description) {
  const int wrong = make_container(path, description, 0644, true);
  if (wrong == 0) return std::nullopt;
  return recorder::Error{path, std::string("cannot be made: ") + std::strerror(-wrong)};
}

}  // namespace iotune::logstore
