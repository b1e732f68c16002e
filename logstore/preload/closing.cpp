#include "logstore/preload/closing.h"

#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "logstore/flat/flatten.h"
#include "logstore/preload/host.h"
#include "logstore/store/logged_file.h"

namespace iotune::logstore {

namespace {

struct JointFile {
  std::string path;
  std::unique_ptr<Flattening> flattening;
};

// Of the MPI_File_open that this thread is in.
constinit __thread JointFile* t_opened __attribute__((tls_model("initial-exec"))) = nullptr;

JointFile& of(void* file) noexcept {
  return *static_cast<JointFile*>(file);
}

void begin_open() noexcept {
  const Inside inside;
  delete t_opened;
  t_opened = nullptr;
}

void* opened() noexcept {
  JointFile* const file = t_opened;
  t_opened = nullptr;
  return file;
}

// Has this process done its part? Its writes are flushed, and the container is there still.
int ready(void* file) noexcept {
  const Inside inside;
  const std::string& path = of(file).path;
  if (store_options().at_close != AtClose::kFlatten) return -EBUSY;
  if (!is_container(AT_FDCWD, path.c_str(), false)) return -ENOENT;
  return LoggedFile::flush_closed(path);
}

int begin(void* file) noexcept {
  const Inside inside;
  return Flattening::begin(of(file).path, of(file).flattening);
}

int copy(void* file, int rank, int ranks) noexcept {
  const Inside inside;
  return copy_share(of(file).path, rank, ranks);
}

int end(void* file, bool is_whole) noexcept {
  const Inside inside;
  const int wrong = of(file).flattening->end(is_whole);
  of(file).flattening.reset();
  return wrong;
}

void say_why(void* file, int wrong) noexcept {
  char line[PATH_MAX + 200];
  std::snprintf(line, sizeof line,
                "%s stays a directory of logs: %s; iotune log flatten makes a file of it",
                of(file).path.c_str(), std::strerror(-wrong));
  g_host->say_on_any_rank(line);
}

// What this process still holds of a container that is gone would keep its room.
void forget(void* file, bool is_flat) noexcept {
  const Inside inside;
  if (is_flat) LoggedFile::close_idle();
  delete &of(file);
}

}  // namespace

// By its own name: one that leads to it would be replaced in its place.
void note_opened(const std::string& path) noexcept {
  char real[PATH_MAX];
  try {
    delete t_opened;
    t_opened = nullptr;
    if (realpath(path.c_str(), real) != nullptr) t_opened = new JointFile{real, nullptr};
  } catch (...) {  // no memory
  }
}

ClosingCalls closing_calls() noexcept {
  return {.begin_open = begin_open,
          .opened = opened,
          .ready = ready,
          .begin = begin,
          .copy = copy,
          .end = end,
          .say_why = say_why,
          .forget = forget};
}

}  // namespace iotune::logstore
