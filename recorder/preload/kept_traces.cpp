#include "recorder/preload/kept_traces.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "recorder/preload/configuration.h"
#include "recorder/preload/directory_entries.h"
#include "recorder/preload/oldest_entries.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/short_text.h"

namespace iotune::recorder {
namespace {

constexpr unsigned kSeldom = 16;
constexpr std::uint64_t kLargeTraceBytes = kMostTraceBytes / kSeldom;
constexpr char kSuffix[] = ".iotrace";
constexpr unsigned kAtOnce = 64;

alignas(8) constinit char g_entries[4096] = {};
constinit OldestEntries<kAtOnce, 256> g_oldest;

bool is_trace(const char* name) noexcept {
  const std::size_t bytes = std::strlen(name);
  return bytes >= sizeof kSuffix && std::strcmp(name + bytes - (sizeof kSuffix - 1), kSuffix) == 0;
}

bool status_of(int directory, const char* name, struct stat& status) noexcept {
  return raw::call(SYS_newfstatat, directory, raw::word(name), raw::word(&status),
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode) && static_cast<long>(status.st_uid) == raw::getuid();
}

bool is_time_to_look(int directory, const char* own) noexcept {
  struct stat status {};
  if (status_of(directory, own, status) &&
      static_cast<std::uint64_t>(status.st_size) >= kLargeTraceBytes) {
    return true;
  }
  unsigned traces = 0;
  for_each_entry(directory, g_entries, [&](const char* name) noexcept {
    traces += is_trace(name) ? 1 : 0;
    return true;
  });
  return traces % kSeldom == 0;
}

unsigned remove_oldest(int directory, const char* own) noexcept {
  g_oldest.clear();
  std::uint64_t bytes = 0;
  raw::lseek(directory, 0, SEEK_SET);
  for_each_entry(directory, g_entries, [&](const char* name) noexcept {
    struct stat status {};
    if (!is_trace(name) || !status_of(directory, name, status)) return true;
    bytes += static_cast<std::uint64_t>(status.st_size);
    if (std::strcmp(name, own) != 0) g_oldest.add(name, status);
    return true;
  });
  if (bytes <= kMostTraceBytes) return 0;
  unsigned removed = 0;
  for (const auto& old : g_oldest) {
    if (bytes <= kMostTraceBytes - kMostTraceBytes / 8) break;
    const long result = raw::call(SYS_unlinkat, directory, raw::word(old.name), 0);
    // Another run may have been faster.
    if (result == 0 || result == -ENOENT) bytes -= old.bytes;
    if (result == 0) ++removed;
  }
  return removed;
}

}  // namespace

void bound_traces(const char* trace) noexcept {
  const char* const slash = std::strrchr(trace, '/');
  if (slash == nullptr) return;
  ShortText<4096> path;
  path.add(trace, static_cast<std::size_t>(slash - trace));
  const int directory = open_directory(raw::kAtFdcwd, path.c_str());
  if (directory < 0) return;
  const unsigned removed =
      is_time_to_look(directory, slash + 1) ? remove_oldest(directory, slash + 1) : 0;
  raw::close(directory);
  if (removed == 0) return;
  ShortText<768> text;
  text << "there were more than " << (kMostTraceBytes >> 20) << " MiB of traces in " << path.c_str()
       << ": the " << removed << " oldest are removed";
  say_on_any_rank(text.c_str());
}

}  // namespace iotune::recorder
