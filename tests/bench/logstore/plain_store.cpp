// The baseline's store, for fs-test alone: a preload that keeps files below PLAIN_STORE as PLFS
// did, a log a process and a plain index (plain_index.h). Reading opens read all of the index.
// Knows open, pwrite, pread, fsync, close and unlink; one writer or reader at a time in a process,
// no threads, and nothing that overlaps.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/logstore/plain_index.h"

namespace {

using namespace iotune::bench;

// While the store itself is at work its calls are the real ones.
bool inside = false;
struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Stored {
  // Of a writer.
  std::unique_ptr<PlainWriter> index;
  std::int64_t log_end = 0;
  // Of a reader.
  PlainMap map;
  std::vector<std::string> logs;  // in the order of their numbers
  std::map<std::uint32_t, int> opened;
};
std::map<int, Stored>& stored() {
  static auto* all = new std::map<int, Stored>;  // never destroyed: closes may come late
  return *all;
}

bool is_below(const char* path) {
  static const char* const root = std::getenv("PLAIN_STORE");
  if (inside || root == nullptr || *root == '\0') return false;
  const std::size_t length = std::strlen(root);
  return std::strncmp(path, root, length) == 0 && path[length] == '/';
}

int open_writer(const std::string& path) {
  mkdir(path.c_str(), 0777);
  mkdir((path + "/index").c_str(), 0777);
  mkdir((path + "/log").c_str(), 0777);
  char host[64];
  gethostname(host, sizeof host);
  const std::string name = std::string("/") + host + "." + std::to_string(getpid());
  const int log = open((path + "/log" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (log < 0) return -1;
  stored()[log].index = std::make_unique<PlainWriter>(path + "/index" + name);
  return log;
}

int open_reader(const std::string& path) {
  struct stat status {};
  if (stat((path + "/index").c_str(), &status) != 0) return -1;
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY);
  Stored& file = stored()[directory];
  file.map = PlainMap::load(path + "/index");
  for (const auto& entry : std::filesystem::directory_iterator(path + "/log")) {
    file.logs.push_back(entry.path());
  }
  std::ranges::sort(file.logs);
  return directory;
}

ssize_t read_stored(Stored& file, char* to, std::size_t size, std::int64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const auto at = offset + static_cast<std::int64_t>(done);
    const PlainEntry* entry = file.map.find(at);
    if (entry == nullptr) break;
    auto log = file.opened.find(entry->id);
    if (log == file.opened.end()) {
      log = file.opened.emplace(entry->id, open(file.logs[entry->id].c_str(), O_RDONLY)).first;
    }
    const std::int64_t within = at - entry->logical;
    const std::size_t some =
        std::min(size - done, static_cast<std::size_t>(entry->length - within));
    const ssize_t got = pread(log->second, to + done, some, entry->physical + within);
    if (got <= 0) return -1;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (!is_below(path)) return next(path, flags, mode);
  const Inside here;
  return (flags & O_ACCMODE) == O_RDONLY ? open_reader(path) : open_writer(path);
}

ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const auto file = inside ? stored().end() : stored().find(fd);
  if (file == stored().end()) return next(fd, from, size, offset);
  const Inside here;
  const double begin = now_s();
  const ssize_t some = next(fd, from, size, file->second.log_end);
  if (some <= 0) return some;
  file->second.index->add({offset, file->second.log_end, some, begin, now_s(), 0, 0});
  file->second.log_end += some;
  return some;
}

ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  static auto* const next = real<ssize_t(int, void*, size_t, off_t)>("pread");
  const auto file = inside ? stored().end() : stored().find(fd);
  if (file == stored().end()) return next(fd, to, size, offset);
  const Inside here;
  return read_stored(file->second, static_cast<char*>(to), size, offset);
}

int fsync(int fd) {
  static auto* const next = real<int(int)>("fsync");
  if (const auto file = stored().find(fd); !inside && file != stored().end()) {
    file->second.index->flush();
    if (const int wrong = file->second.index->sync(); wrong != 0) return wrong;
  }
  return next(fd);
}

int close(int fd) {
  static auto* const next = real<int(int)>("close");
  if (const auto file = stored().find(fd); !inside && file != stored().end()) {
    const Inside here;
    for (const auto& [id, log] : file->second.opened) next(log);
    stored().erase(file);
  }
  return next(fd);
}

int unlink(const char* path) {
  static auto* const next = real<int(const char*)>("unlink");
  if (!is_below(path)) return next(path);
  const Inside here;
  std::error_code wrong;
  return std::filesystem::remove_all(path, wrong) > 0 ? 0 : next(path);
}

}  // extern "C"
