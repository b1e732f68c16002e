#include "recorder/wrappers/descriptors/path_filter.h"

#include <cstring>

#include "core/os/fnv1a.h"
#include "core/os/glob.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"

namespace iotune::recorder {
namespace {

constexpr const char* kExcludedPrefixes[] = {
    "/proc/", "/sys/", "/dev/",  "/usr/", "/lib/",     "/lib64/",
    "/etc/",  "/bin/", "/sbin/", "/opt/", "/var/lib/", "/run/",
};
// Memory file systems below /dev and /run are ordinary storage to a program.
constexpr const char* kIncludedPrefixes[] = {"/dev/shm/"};
constexpr const char* kExcludedShared[] = {
    "/dev/shm/iotune-",
    "/dev/shm/vader_segment.",  // Open MPI's memory between ranks
    "/dev/shm/sm_segment.",
    "/dev/shm/mpich_shar_tmp",  // MPICH's
};
constexpr const char* kExcludedEnds[] = {
    ".so", ".py", ".pyc", "/pyvenv.cfg", ".iobuf", ".iotrace",
};
constexpr const char* kExcludedParts[] = {
    ".so.",      "/site-packages/", "/lib/python",
    "/pmix-",  // what PMIx keeps in Open MPI's session directory
    "/prterun-", "/iotune/spool/",  "/iotune/traces/",
};
// OMPIO's shared file pointers, there as well.
constexpr const char* kExcludedGlob = "*/ompi.*.sm";

bool is_traced(const char* absolute) noexcept {
  const Configuration& configured = configuration();
  if (any_glob_matches(configured.include, absolute)) return true;
  if (any_glob_matches(configured.exclude, absolute)) return false;
  for (const char* end : kExcludedEnds) {
    if (ends_with(absolute, end)) return false;
  }
  for (const char* part : kExcludedParts) {
    if (std::strstr(absolute, part) != nullptr) return false;
  }
  if (ends_with(absolute, ".sm") && glob_matches(kExcludedGlob, absolute)) return false;
  for (const char* prefix : kExcludedShared) {
    if (starts_with(absolute, prefix)) return false;
  }
  for (const char* prefix : kIncludedPrefixes) {
    if (starts_with(absolute, prefix)) return true;
  }
  for (const char* prefix : kExcludedPrefixes) {
    if (starts_with(absolute, prefix)) return false;
  }
  return true;
}

// The path that was asked for last, hashed, and in the lowest bit the answer: HDF5, MPI-IO and
// POSIX ask one after the other for the same file.
constinit std::uint64_t g_last = 0;

}  // namespace

bool path_is_traced(const char* absolute) noexcept {
  const std::uint64_t hash = Fnv1a::of(absolute);
  const std::uint64_t last = __atomic_load_n(&g_last, __ATOMIC_RELAXED);
  if ((last ^ hash) <= 1) return (last & 1) != 0;
  const bool traced = is_traced(absolute);
  __atomic_store_n(&g_last, (hash & ~std::uint64_t{1}) | (traced ? 1 : 0), __ATOMIC_RELAXED);
  return traced;
}

}  // namespace iotune::recorder
