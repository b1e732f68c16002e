#include "core/process/site_limits.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "core/link/at_start.h"
#include "core/os/fnv1a.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/site_folder.h"

namespace iotune {
namespace {

constexpr std::size_t kMostBytes = 4096;
constinit char g_database[sizeof(SiteLimits::database)] = "";
constinit char g_traces[sizeof(SiteLimits::traces)] = "";
constinit char g_applied_log[sizeof(SiteLimits::applied_log)] = "";
constinit bool g_for_group = false;

struct Piece {
  const char* text;
  std::size_t bytes;
  bool is(const char* other) const noexcept {
    return bytes == std::strlen(other) && std::memcmp(text, other, bytes) == 0;
  }
};

// The text up to `end` without blanks around it.
Piece trimmed(const char* text, const char* end) noexcept {
  while (text < end && (*text == ' ' || *text == '\t' || *text == '\r')) ++text;
  while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) --end;
  return {text, static_cast<std::size_t>(end - text)};
}

bool read_percent(Piece value, unsigned& share) noexcept {
  if (value.bytes == 0 || value.bytes > 3) return false;
  unsigned percent = 0;
  for (std::size_t i = 0; i < value.bytes; ++i) {
    if (value.text[i] < '0' || value.text[i] > '9') return false;
    percent = percent * 10 + static_cast<unsigned>(value.text[i] - '0');
  }
  if (percent > 100) return false;
  if (percent < share) share = percent;
  return true;
}

// Lists of several lines and files hold together.
const char* read_programs(Piece value, SiteLimits& limits) noexcept {
  const std::size_t before = std::strlen(limits.programs);
  if (value.bytes == 0) return "exclude_programs names no program";
  if (before + value.bytes + 2 > sizeof limits.programs) {
    return "exclude_programs has more than 510 bytes in all";
  }
  char* const to = limits.programs + before;
  if (before > 0) *to = ':';
  std::memcpy(to + (before > 0 ? 1 : 0), value.text, value.bytes);
  return nullptr;
}

// The larger of several holds.
const char* read_keep_above(Piece value, SiteLimits& limits) noexcept {
  std::uint64_t mebibytes = 0;
  bool good = value.bytes > 0 && value.bytes <= 7;
  for (std::size_t i = 0; good && i < value.bytes; ++i) {
    good = value.text[i] >= '0' && value.text[i] <= '9';
    mebibytes = mebibytes * 10 + static_cast<std::uint64_t>(value.text[i] - '0');
  }
  if (!good || mebibytes == 0 || mebibytes >= 1u << 20) {
    return "keep_above_mib is no number from 1 to 1048575";
  }
  if (mebibytes > limits.keep_above_mib) limits.keep_above_mib = mebibytes;
  return nullptr;
}

// "name FAULT"; the text holds until the next one.
const char* fault_of(Piece name, const char* fault) noexcept {
  static constinit ShortText<96> text;
  text.clear();
  text.add(name.text, name.bytes) << ' ' << fault;
  return text.c_str();
}

// nullptr, or what is wrong with it. Of several folders the first holds.
template <std::size_t N>
const char* read_folder(Piece name, Piece value, char (&to)[N]) noexcept {
  const char* const fault = fault_of_site_folder(value.text, value.bytes);
  if (fault != nullptr) return fault_of(name, fault);
  if (value.bytes >= N) return fault_of(name, "has more than 511 bytes");
  if (to[0] == '\0') std::memcpy(to, value.text, value.bytes);
  return nullptr;
}

// nullptr, or what is wrong with it.
const char* read_entry(Piece name, Piece value, SiteLimits& limits) noexcept {
  if (name.is("mode")) {
    const Mode mode = value.is("tune")     ? Mode::kTune
                      : value.is("record") ? Mode::kRecord
                                           : Mode::kOff;
    if (mode == Mode::kOff && !value.is("off")) return "mode is none of off, record, tune";
    if (mode < limits.most) limits.most = mode;
    return nullptr;
  }
  if (name.is("freeze")) {
    if (!value.is("yes") && !value.is("no")) return "freeze is neither yes nor no";
    limits.frozen = limits.frozen || value.is("yes");
    return nullptr;
  }
  if (name.is("gather")) {
    if (!value.is("stored") && !value.is("no")) return "gather is neither stored nor no";
    limits.gathers_stored = limits.gathers_stored || value.is("stored");
    return nullptr;
  }
  if (name.is("share")) {
    return read_percent(value, limits.share) ? nullptr : "share is no percentage from 0 to 100";
  }
  if (name.is("database")) {
    if (value.bytes == 0 || value.text[0] != '/') return "database is no path that begins with /";
    if (value.bytes >= sizeof limits.database) return "database has more than 511 bytes";
    if (limits.database[0] == '\0') std::memcpy(limits.database, value.text, value.bytes);
    return nullptr;
  }
  if (name.is("replayers")) {
    if (value.bytes == 0 || value.text[0] != '/') return "replayers is no path that begins with /";
    if (value.bytes >= sizeof limits.replayers) return "replayers has more than 511 bytes";
    if (limits.replayers[0] == '\0') std::memcpy(limits.replayers, value.text, value.bytes);
    return nullptr;
  }
  if (name.is("traces")) return read_folder(name, value, limits.traces);
  if (name.is("applied_log")) return read_folder(name, value, limits.applied_log);
  if (name.is("readable_by")) {
    using Readers = SiteLimits::Readers;
    if (!value.is("group") && !value.is("owner")) return "readable_by is neither group nor owner";
    const Readers said = value.is("group") ? Readers::kGroup : Readers::kOwner;
    if (said > limits.readers) limits.readers = said;
    return nullptr;
  }
  if (name.is("exclude_programs")) return read_programs(value, limits);
  if (name.is("keep_above_mib")) return read_keep_above(value, limits);
  return "there are only mode, freeze, gather, share, database, replayers, traces, applied_log, "
         "readable_by, exclude_programs and keep_above_mib";
}

// A page that holds nothing is not touched: every process comes here.
template <std::size_t N>
void keep(char (&to)[N], const char (&from)[N]) noexcept {
  if (from[0] != '\0' || to[0] != '\0') std::memcpy(to, from, N);
}

// "name = value" a line; # starts a comment.
const char* read_text(const char* text, SiteLimits& limits, int& line_number) noexcept {
  line_number = 0;
  while (*text != '\0') {
    ++line_number;
    const std::size_t bytes = std::strcspn(text, "\n");
    const char* const end = text + std::strcspn(text, "\n#");
    const Piece line = trimmed(text, end);
    if (line.bytes > 0) {
      const auto* const equals = static_cast<const char*>(std::memchr(line.text, '=', line.bytes));
      if (equals == nullptr) return "a line is name = value";
      const char* const fault = read_entry(trimmed(line.text, equals),
                                           trimmed(equals + 1, line.text + line.bytes), limits);
      if (fault != nullptr) return fault;
    }
    text += bytes;
    if (*text == '\n') ++text;
  }
  return nullptr;
}

// nullptr where the file is as it should be, or not there at all.
const char* read_file(const char* path, bool owned_by_root, SiteLimits& limits,
                      int& line_number) noexcept {
  line_number = 0;
  const int fd = raw::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  constexpr int kNoEntry = -2;  // -ENOENT
  if (fd < 0) return fd == kNoEntry && owned_by_root ? nullptr : "cannot be read";
  struct stat status {};
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  char text[kMostBytes + 1];
  long bytes = -1;
  if (raw::call(SYS_newfstatat, fd, raw::word(""), raw::word(&status), kEmptyPath) == 0 &&
      S_ISREG(status.st_mode)) {
    bytes = raw::read(fd, text, kMostBytes);
  }
  raw::close(fd);
  if (bytes < 0) return "cannot be read";
  if (bytes == static_cast<long>(kMostBytes)) return "has 4 KiB or more";
  const bool owner_is_right =
      status.st_uid == 0 || (!owned_by_root && status.st_uid == static_cast<uid_t>(raw::getuid()));
  if (!owner_is_right || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return owned_by_root ? "may be written by others than root" : "may be written by others";
  }
  text[bytes] = '\0';
  if (std::memchr(text, '\0', static_cast<std::size_t>(bytes)) != nullptr) return "is no text";
  return read_text(text, limits, line_number);
}

}  // namespace

SiteLimits read_site_limits(const char* own, void (*tell)(const char* text) noexcept) noexcept {
  SiteLimits limits;
  const char* const paths[] = {"/etc/iotune.conf", own};
  for (const char* const path : paths) {
    if (path == nullptr || *path == '\0') continue;
    int line_number = 0;
    const char* const fault = read_file(path, path != own, limits, line_number);
    if (fault == nullptr) continue;
    limits.most = Mode::kOff;
    if (tell == nullptr) continue;
    ShortText<512> text;
    text << path;
    if (line_number > 0) text << ':' << line_number << ':';
    text << ' ' << fault << ": nothing is done";
    tell(text.c_str());
  }
  keep(g_database, limits.database);
  keep(g_traces, limits.traces);
  keep(g_applied_log, limits.applied_log);
  g_for_group = limits.readers == SiteLimits::Readers::kGroup;
  return limits;
}

const char* site_database() noexcept {
  return g_database;
}

SiteFolder site_traces() noexcept {
  return {g_traces, g_for_group};
}

SiteFolder site_applied_log() noexcept {
  return {g_applied_log, g_for_group};
}

bool job_is_in_share(const char* job_id, unsigned share) noexcept {
  if (share >= 100) return true;
  Fnv1a job;
  for (const char* at = job_id; *at != '\0'; ++at) job.add(*at);
  std::uint64_t hash = job.value();
  // Its low bits alone follow those of the last character.
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
  return (hash >> 32) % 100 < share;
}

}  // namespace iotune
