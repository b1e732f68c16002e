#include "recorder/gather/kept_traces.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/os/directory_entries.h"
#include "core/os/oldest_entries.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"

namespace iotune::recorder {
namespace {

constexpr unsigned kSeldom = 16;
constexpr std::uint64_t kLargeTraceBytes = kMostTraceBytes / kSeldom;
constexpr unsigned kAtOnce = 64;

alignas(8) constinit char g_entries[4096] = {};
constinit OldestEntries<kAtOnce, 256> g_oldest;

bool is_kept_trace(int directory, const char* name, struct stat& status) noexcept {
  return ends_with(name, ".iotrace") && stat_of(directory, name, status) &&
         S_ISREG(status.st_mode) && static_cast<long>(status.st_uid) == raw::getuid();
}

// Drawn, for what is counted can be missed: of two runs that end together both may see the number
// behind the one that is waited for. Always where nothing can be drawn.
bool is_time_to_look(int directory, const char* own) noexcept {
  unsigned drawn = 0;
  raw::call(SYS_getrandom, raw::word(&drawn), sizeof drawn, 0);
  if (drawn % kSeldom == 0) return true;
  struct stat status {};
  return stat_of(directory, own, status) &&
         static_cast<std::uint64_t>(status.st_size) >= kLargeTraceBytes;
}

// Whether there are more than `eighths` of the most bytes or the most traces.
bool is_beyond(std::uint64_t bytes, std::uint64_t traces, std::uint64_t eighths) noexcept {
  return bytes > kMostTraceBytes / 8 * eighths || traces > kMostTraces / 8 * eighths;
}

unsigned remove_oldest(int directory, const char* own) noexcept {
  g_oldest.clear();
  std::uint64_t bytes = 0, traces = 0;
  for_each_entry(directory, g_entries, [&](const char* name) noexcept {
    struct stat status {};
    if (!is_kept_trace(directory, name, status)) return true;
    bytes += static_cast<std::uint64_t>(status.st_size);
    ++traces;
    if (std::strcmp(name, own) != 0) g_oldest.add(name, status);
    return true;
  });
  if (!is_beyond(bytes, traces, 8)) return 0;
  unsigned removed = 0;
  for (const auto& old : g_oldest) {
    if (!is_beyond(bytes, traces, 7)) break;
    const long result = raw::call(SYS_unlinkat, directory, raw::word(old.name), 0);
    if (result == 0) ++removed;
    // Another run may have been faster.
    if (result == 0 || result == -ENOENT) {
      bytes -= old.bytes;
      --traces;
    }
  }
  return removed;
}

}  // namespace

void bound_traces(const char* trace) noexcept {
  const char* const slash = std::strrchr(trace, '/');
  if (slash == nullptr) return;
  ShortText<4096> path;
  path.add(trace, static_cast<std::size_t>(slash - trace));
  // Through a link, too, as the trace was written.
  const int directory = raw::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (directory < 0) return;
  const unsigned removed =
      is_time_to_look(directory, slash + 1) ? remove_oldest(directory, slash + 1) : 0;
  raw::close(directory);
  if (removed == 0) return;
  ShortText<768> text;
  text << "there were more than " << (kMostTraceBytes >> 20) << " MiB or " << kMostTraces
       << " traces in " << path.c_str() << ": the " << removed << " oldest are removed";
  say_on_any_rank(text.c_str());
}

}  // namespace iotune::recorder
