#include "recorder/gather/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "core/os/make_folders.h"
#include "core/os/raw_syscall.h"
#include "core/os/ticks.h"
#include "core/os/utc_date.h"
#include "core/process/configuration.h"
#include "core/process/process_facts.h"
#include "core/process/site_folder.h"
#include "core/process/site_limits.h"
#include "core/run/answering_place.h"
#include "core/run/run_identity.h"
#include "recorder/format.h"
#include "recorder/replaceable.h"

namespace iotune::recorder {
namespace {

void two_digits(ShortText<4096>& to, std::uint64_t value) noexcept {
  if (value < 10) to << '0';
  to << value;
}

// YYYYmmdd-HHMMSS in UTC.
void add_time_stamp(ShortText<4096>& to) noexcept {
  const std::uint64_t seconds = clock_ns(CLOCK_REALTIME) / 1'000'000'000u;
  const UtcDate date = utc_date(seconds);
  to << date.year;
  two_digits(to, date.month);
  two_digits(to, date.day);
  to << '-';
  two_digits(to, seconds / 3600 % 24);
  two_digits(to, seconds / 60 % 60);
  two_digits(to, seconds % 60);
}

// As iotune.locations.trace_name: file systems end names at 255 bytes, and shells split some.
void add_program_name(ShortText<4096>& to) noexcept {
  constexpr std::size_t kMost = 64;
  const char* const program = program_path();
  const char* const slash = std::strrchr(program, '/');
  const char* at = slash == nullptr ? program : slash + 1;
  for (std::size_t bytes = 0; *at != '\0' && bytes < kMost; ++at, ++bytes) {
    const char c = *at;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::strchr("._+-", c) != nullptr;
    to << (plain ? c : '_');
  }
}

// Why the file at `path` must stay what it is; nullptr where a trace may take its place.
const char* why_kept(const char* path) noexcept {
  struct stat status {};
  constexpr long kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW
  const long found =
      raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(path), raw::word(&status), kNoFollow);
  if (found != 0) return nullptr;  // what else is wrong the system says when the file is made
  const auto user = static_cast<unsigned long>(raw::call(SYS_geteuid));
  if (const char* const why = why_not_replaced(status, user)) return why;
  if (status.st_size == 0) return nullptr;
  const int fd = raw::open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0) return kNoTrace;
  char start[sizeof kTraceMagic] = {};
  const long bytes = raw::read(fd, start, sizeof start);
  const bool trace = bytes >= 0 && may_become_trace(start, static_cast<std::size_t>(bytes));
  // The program may hold locks on a file that is no trace: to close it would drop them.
  if (trace) raw::close(fd);
  return trace ? nullptr : kNoTrace;
}

const char* words_of(long error) noexcept {
  switch (error) {
    case ENOENT:
      return "the folder is not there";
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOSPC:
      return "no space left";
    case EDQUOT:
      return "quota exceeded";
    case EROFS:
      return "read-only file system";
    case EFBIG:
      return "file size limit";
    case ENAMETOOLONG:
      return "the name is too long";
    case ENOTDIR:
      return "a part of the path is no folder";
    default:
      return nullptr;
  }
}

// Whether the last folder of `path` that is there is another user's: that of a service that took
// another user and kept the environment, or of one whose home does not exist.
bool in_another_users_folder(const ShortText<4096>& path) noexcept {
  ShortText<4096> folder;
  for (std::size_t end = std::strlen(path.c_str()); end > 0; --end) {
    if (path.c_str()[end - 1] != '/') continue;
    folder.clear();
    folder.add(path.c_str(), end);
    struct stat status {};
    if (raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(folder.c_str()), raw::word(&status),
                  0) == 0) {
      return status.st_uid != static_cast<unsigned long>(raw::call(SYS_geteuid));
    }
  }
  return false;
}

}  // namespace

bool trace_directory(ShortText<4096>& path) noexcept {
  if (configuration().trace_path != nullptr) {
    static constinit ShortText<4096> file;
    absolute_path(configuration().trace_path, file);
    const char* const slash = std::strrchr(file.c_str(), '/');
    path.clear();
    if (!place_answers(file.c_str())) return false;
    if (slash != nullptr) path.add(file.c_str(), static_cast<std::size_t>(slash - file.c_str()));
    // Where the trace itself may not be (/dev/null), nothing else is put beside it either.
    return slash != nullptr && !file.cut() && why_kept(file.c_str()) == nullptr;
  }
  return state_directory("traces", path);
}

namespace {

// The site's folder for this user's; false where it has none that can be used.
bool site_directory(const char* name, ShortText<4096>& path) noexcept {
  const SiteFolder site = site_traces();
  if (*site.pattern == '\0' || !place_answers(site.pattern)) return false;
  const char* const why = site_folder(site.pattern, name, site.for_group, true, path);
  if (why == nullptr) return true;
  // A user who named the trace does not miss the folder.
  if (configuration().trace_path == nullptr) {
    static constinit bool said = false;
    ShortText<1024> text;
    text << "the site's folder for traces, " << path.c_str() << ", " << why
         << ": they go to the home";
    say_once(said, text.c_str());
  }
  return false;
}

// Of a trace at `path`: what lies in the site's folder may be read by the group where it says so.
bool is_for_group(const char* path) noexcept {
  const SiteFolder site = site_traces();
  if (!site.for_group || *site.pattern == '\0') return false;
  ShortText<4096> folder;
  add_site_folder(folder, site.pattern);
  folder << '/';
  return !folder.cut() && starts_with(path, folder.c_str());
}

}  // namespace

bool home_state_path(const char* name, ShortText<4096>& path) noexcept {
  path.clear();
  if (configuration().state_home == nullptr || !place_answers(configuration().state_home)) {
    return false;
  }
  path << configuration().state_home << "/iotune/" << name;
  return !path.cut();
}

bool state_directory(const char* name, ShortText<4096>& path) noexcept {
  if (site_directory(name, path)) return true;
  if (!home_state_path(name, path)) return false;
  make_folders(path);
  return true;
}

bool trace_path(ShortText<4096>& path) noexcept {
  if (configuration().trace_path != nullptr) {
    absolute_path(configuration().trace_path, path);
    return !path.cut() && place_answers(path.c_str());
  }
  if (!trace_directory(path)) return false;
  path << '/';
  add_time_stamp(path);
  path << '-';
  add_program_name(path);
  path << '-' << run_id() << ".iotrace";
  return !path.cut();
}

TraceFile::TraceFile(const char* path) noexcept : refusal_(why_kept(path)) {
  path_ << path;
  if (refusal_ != nullptr) return;
  file_.emplace(path);
  if (is_for_group(path)) raw::call(SYS_fchmod, file_->fd(), 0640);
  char head[kTraceHeadBytes];
  static_assert(sizeof kTraceMagic - 1 + sizeof kFormatVersion == sizeof head);
  std::memcpy(head, kTraceMagic, sizeof kTraceMagic - 1);
  std::memcpy(head + sizeof kTraceMagic - 1, &kFormatVersion, sizeof kFormatVersion);
  append(head, sizeof head);
}

void TraceFile::append(const void* bytes, std::size_t size) noexcept {
  if (file_) file_->write(bytes, size);
}

namespace {
unsigned long inode_at(const char* path) noexcept {
  struct stat status {};
  constexpr long kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW
  const long found =
      raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(path), raw::word(&status), kNoFollow);
  return found == 0 ? status.st_ino : 0;
}

// Of the trace's first block, which is a process's text.
bool is_of_tree(const char* start, std::size_t bytes, const char* tree) noexcept {
  ShortText<96> line;
  line << "\ntree=" << tree << '\n';
  return bytes > kTraceHeadBytes &&
         std::memcmp(start + sizeof kTraceMagic - 1, &kFormatVersion, sizeof kFormatVersion) == 0 &&
         memmem(start, bytes, line.c_str(), line.size()) != nullptr;
}
}  // namespace

// Without a lock where somebody else holds one for as long as he likes.
void TraceFile::lock_folder() noexcept {
  const char* const slash = std::strrchr(path_.c_str(), '/');
  if (slash == nullptr) return;
  ShortText<4096> folder;
  folder.add(path_.c_str(), static_cast<std::size_t>(slash - path_.c_str()) + 1);
  constexpr int kTries = 100;
  constexpr timespec kPause{0, 2'000'000};
  folder_.emplace(Descriptor(raw::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)),
                  kTries, kPause);
}

void TraceFile::keep_blocks_of(const char* tree) noexcept {
  if (error() != 0) return;
  lock_folder();
  found_ = inode_at(path_.c_str());
  if (found_ == 0) return;
  const Descriptor from(raw::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0));
  if (!from) return;
  static constinit char piece[16u << 10] = {};
  long bytes = raw::read(from.get(), piece, sizeof piece);
  if (bytes > 0 && is_of_tree(piece, static_cast<std::size_t>(bytes), tree)) {
    kept_blocks_ = true;
    append(piece + kTraceHeadBytes, static_cast<std::size_t>(bytes) - kTraceHeadBytes);
    while ((bytes = raw::read(from.get(), piece, sizeof piece)) > 0) {
      append(piece, static_cast<std::size_t>(bytes));
    }
  }
}

bool TraceFile::is_late() const noexcept {
  return error() == 0 && inode_at(path_.c_str()) != found_;
}

bool TraceFile::finish() noexcept {
  // Once more: the write may have taken long.
  if (error() == 0) refusal_ = why_kept(path_.c_str());
  const long wrong = refusal_ != nullptr ? 0 : file_->take_name(path_.c_str());
  if (wrong != 0 || refusal_ != nullptr) {
    // Nobody asked for this trace, and nobody's folder has room for it: nothing is wrong.
    const bool forbidden = wrong == -EACCES || wrong == -ENOENT || wrong == -EPERM;
    if (forbidden && configuration().trace_path == nullptr && in_another_users_folder(path_)) {
      return false;
    }
    const char* const why = refusal_ != nullptr ? refusal_ : words_of(-wrong);
    ShortText<1024> text;
    text << path_.c_str() << ": the trace cannot be written (";
    if (why != nullptr) {
      text << why;
    } else {
      text << "error " << -wrong;
    }
    text << "); the buffers stay, `iotune show` joins them later";
    say(text.c_str());
    return false;
  }
  return true;
}

}  // namespace iotune::recorder
