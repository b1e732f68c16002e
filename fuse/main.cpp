// iotune-fuse MOUNT ROOT: a folder passed through as a file system, until it is unmounted.
#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fuse/mounted_root.h"
#include "logstore/store/logged_file.h"

namespace {

using namespace iotune::fuse;

// Absolute: the traces name files below the mount point, and a root is found whatever the folder.
bool make_absolute(std::string& path) {
  char absolute[PATH_MAX];
  struct stat found {};
  if (realpath(path.c_str(), absolute) == nullptr || stat(absolute, &found) != 0) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has been started
    std::fprintf(stderr, "iotune: %s: %s\n", path.c_str(), std::strerror(errno));
    return false;
  }
  if (!S_ISDIR(found.st_mode)) {
    std::fprintf(stderr, "iotune: %s: no folder\n", path.c_str());
    return false;
  }
  path = absolute;
  return true;
}

void* start(fuse_conn_info* connection, fuse_config* config) {
  const MountedRoot& root = mounted_root();
  config->use_ino = 1;
  config->nullpath_ok = 1;
  // Cached pages stay where the file was not changed meanwhile: a storage behind a page cache.
  config->auto_cache = 1;
  if (root.options.logstore) {
    // Others write to these files beside the mount: sizes are asked for, and what an open finds in
    // the cache is not trusted. Times change with the flush after a write, which changes no byte.
    config->auto_cache = 0;
    config->attr_timeout = 0;
    connection->want &= ~unsigned{FUSE_CAP_AUTO_INVAL_DATA};
  }
  connection->max_background = root.options.threads;
  connection->congestion_threshold = root.options.threads;
  return fuse_get_context()->private_data;
}

bool serve(MountedRoot& root) {
  fuse_operations operations{};
  operations.init = start;
  add_name_operations(operations);
  add_file_operations(operations);
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "iotune-fuse");
  const std::string name = "fsname=iotune,subtype=iotune,default_permissions" +
                           std::string(root.options.allow_other ? ",allow_other" : "");
  fuse_opt_add_arg(&arguments, "-o");
  fuse_opt_add_arg(&arguments, name.c_str());
  fuse* const handle = fuse_new(&arguments, &operations, sizeof operations, &root);
  bool good = handle != nullptr && fuse_mount(handle, root.options.mount.c_str()) == 0;
  if (good) {
    fuse_session* const session = fuse_get_session(handle);
    good = fuse_set_signal_handlers(session) == 0;
    if (good) {
      fuse_loop_config* const loop = fuse_loop_cfg_create();
      fuse_loop_cfg_set_max_threads(loop, root.options.threads);
      fuse_loop_cfg_set_idle_threads(loop, root.options.threads);
      // A signal ends it too: that is no failure.
      good = fuse_loop_mt(handle, loop) >= 0;
      fuse_loop_cfg_destroy(loop);
      fuse_remove_signal_handlers(session);
    }
    fuse_unmount(handle);
  }
  if (handle != nullptr) fuse_destroy(handle);
  fuse_opt_free_args(&arguments);
  return good;
}

void report(::iotune::prefetch::ReadAheadCache& cache) {
  const auto& [reads, hits, waited, fetched_bytes, used_bytes] = cache.totals();
  std::fprintf(
      stderr,
      "iotune: prefetch: %llu reads, %llu hits (%llu waited), %llu misses, %llu bytes read "
      "ahead, %llu of them unused\n",
      static_cast<unsigned long long>(reads), static_cast<unsigned long long>(hits),
      static_cast<unsigned long long>(waited), static_cast<unsigned long long>(reads - hits),
      static_cast<unsigned long long>(fetched_bytes),
      static_cast<unsigned long long>(fetched_bytes - used_bytes));
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!read_options({words + 1, words + count}, options)) return 2;
  if (!make_absolute(options.root) || !make_absolute(options.mount)) return 1;
  if (options.root == options.mount || options.root.starts_with(options.mount + "/")) {
    std::fprintf(stderr, "iotune: %s: the root lies below the mount point\n", options.root.c_str());
    return 1;
  }
  if (!options.trace.empty() && options.trace.front() != '/') {
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof folder) != nullptr) options.trace = folder + ("/" + options.trace);
  }
  umask(0);  // the kernel has applied the programs' own
  MountedRoot root(options);
  const bool served = serve(root);
  if (root.options.logstore) {
    iotune::logstore::LoggedFile::at_exit();
    iotune::logstore::LoggedFile::close_idle();
  }
  if (root.prefetching != nullptr) report(root.prefetching->cache);
  const bool written = root.recorder == nullptr || root.recorder->finish();
  return served && written ? 0 : 1;
}
