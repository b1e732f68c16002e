#include "tuner/database_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "patterndb/decision.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/glibc_floor.h"
#include "recorder/preload/jump_safe_guard.h"
#include "recorder/preload/narrowing.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/real_function.h"
#include "recorder/preload/short_text.h"
#include "recorder/preload/thread_state.h"
#include "tuner/file_system.h"

namespace iotune::tuner {
namespace {

using recorder::ShortText;

struct Library {
  bool tried;
  int (*decide)(const iotune_question*, char*, std::size_t);
  int (*program_answers)(const iotune_question*, char*, std::size_t);
  int (*observe)(const char*, char*, std::size_t);
  void (*series_closed)(const char*, double, std::uint64_t, int);
};
constinit Library g_library = {};

// The library is for one thread at a time, and the threads of a program may open files at once.
constinit recorder::SpinLock g_turn_lock;
constinit bool g_inside = false;

class Turn {
 public:
  Turn() noexcept : guard_(g_turn_lock) {
    // Who was inside left by a longjmp, or in the parent of a fork: what it left half changed is
    // not used any more.
    if (g_inside)
      g_library = {
          .tried = true, .decide = {}, .program_answers = {}, .observe = {}, .series_closed = {}};
    g_inside = true;
  }
  ~Turn() { g_inside = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  recorder::JumpSafeGuard guard_;
};

// One line about the database is enough: who hears that none can be read knows already why
// none is written.
constinit bool g_said = false;

void say_nothing_is_tuned(const char* why) noexcept {
  ShortText<1024> text;
  text << why << ": nothing is tuned";
  recorder::say_once(g_said, text.c_str());
}

// By absolute path, beside this library; RTLD_LOCAL, so that the program never meets its
// SQLite.
const Library& library() noexcept {
  if (g_library.tried) return g_library;
  g_library.tried = true;
  ShortText<4096> path;
  const char* const own = recorder::own_library_path();
  const char* const slash = std::strrchr(own, '/');
  if (slash == nullptr) {
    say_nothing_is_tuned("libiotune.so was preloaded without a path, libiotune-db.so is not found");
    return g_library;
  }
  path.add(own, static_cast<std::size_t>(slash - own));
  path << "/libiotune-db.so";
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    ShortText<4608> text;
    text << path.c_str() << " cannot be loaded";
    say_nothing_is_tuned(text.c_str());
    return g_library;
  }
  g_library.decide = reinterpret_cast<decltype(g_library.decide)>(dlsym(handle, "iotune_decide"));
  g_library.program_answers = reinterpret_cast<decltype(g_library.program_answers)>(
      dlsym(handle, "iotune_program_answers"));
  g_library.observe =
      reinterpret_cast<decltype(g_library.observe)>(dlsym(handle, "iotune_observe"));
  g_library.series_closed =
      reinterpret_cast<decltype(g_library.series_closed)>(dlsym(handle, "iotune_series_closed"));
  return g_library;
}

// Asked once: the variables lie all over memory, which an open between two transfers finds cold.
bool database_is_off() noexcept {
  enum : signed char { kNotAsked, kOff, kOn };
  static constinit signed char answer = kNotAsked;
  if (__atomic_load_n(&answer, __ATOMIC_RELAXED) == kNotAsked) {
    const char* const path = std::getenv("IOTUNE_DB");
    const char* const config = std::getenv("IOTUNE_CONFIG");
    const bool off =
        path != nullptr && std::strcmp(path, "none") == 0 && (config == nullptr || *config == '\0');
    __atomic_store_n(&answer, off ? kOff : kOn, __ATOMIC_RELAXED);
  }
  return __atomic_load_n(&answer, __ATOMIC_RELAXED) == kOff;
}

}  // namespace

std::size_t ask_database(const FileQuestion& asked, char* answer, std::size_t capacity) noexcept {
  if (recorder::is_narrowed() || database_is_off()) return 0;
  const Turn turn;
  const Library& database = library();
  if (database.decide == nullptr) return 0;
  iotune_question question = {};
  question.version = IOTUNE_DECISION_VERSION;
  question.ranks = static_cast<std::uint32_t>(asked.ranks);
  question.nodes = static_cast<std::uint32_t>(asked.nodes);
  question.creating = asked.creating ? 1 : 0;
  question.layer = asked.layer;
  question.program = recorder::program_path();
  question.file = asked.file;
  question.mpi = asked.mpi;
  question.hdf5 = recorder::hdf5_version()[0] == '\0' ? nullptr : recorder::hdf5_version();
  question.filesystem = file_system_of(asked.file);
  question.frozen = recorder::configuration().frozen ? 1 : 0;
  question.known_only = asked.known_only ? 1 : 0;
  const int bytes = database.decide(&question, answer, capacity);
  if (bytes > 0) return static_cast<std::size_t>(bytes);
  if (bytes < 0) say_nothing_is_tuned(answer);
  return 0;
}

bool nothing_can_be_asked() noexcept {
  if (recorder::is_narrowed() || database_is_off()) return true;
  const Turn turn;
  return g_library.tried && g_library.decide == nullptr;
}

namespace {
// Only what it says of a file's name is for files that the program opens itself. One that is too
// long to look at may.
bool may_name_files(const char* config) noexcept {
  const int fd = recorder::raw::open(config, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return true;  // why it cannot be read is told
  char text[4096];
  const long bytes = recorder::raw::read(fd, text, sizeof text);
  recorder::raw::close(fd);
  constexpr char kAttribute[] = "FileName";
  return bytes < 0 || bytes == static_cast<long>(sizeof text) ||
         memmem(text, static_cast<std::size_t>(bytes), kAttribute, sizeof kAttribute - 1) !=
             nullptr;
}

// Whether there is anything to be asked: the library is not loaded for nothing. Where the database
// lies is said in patterndb/places.h.
bool something_may_be_known() noexcept {
  const char* const config = std::getenv("IOTUNE_CONFIG");
  if (config != nullptr && *config != '\0' && may_name_files(config)) return true;
  ShortText<4096> path;
  const char* const given = std::getenv("IOTUNE_DB");
  const char* const data = std::getenv("XDG_DATA_HOME");
  const char* const home = std::getenv("HOME");
  if (given != nullptr && *given != '\0') {
    path << given;
  } else if (data != nullptr && *data == '/') {
    path << data << "/iotune/patterns.db";
  } else {
    path << (home == nullptr ? "" : home) << "/.local/share/iotune/patterns.db";
  }
  return access(path.c_str(), F_OK) == 0;
}
}  // namespace

std::size_t ask_for_program(int ranks, int nodes, char* answers, std::size_t capacity) noexcept {
  if (recorder::is_narrowed() || database_is_off() || !something_may_be_known()) return 0;
  const Turn turn;
  const Library& database = library();
  if (database.program_answers == nullptr) return 0;
  iotune_question question = {};
  question.version = IOTUNE_DECISION_VERSION;
  question.ranks = static_cast<std::uint32_t>(ranks);
  question.nodes = static_cast<std::uint32_t>(nodes);
  question.program = recorder::program_path();
  question.frozen = recorder::configuration().frozen ? 1 : 0;
  const int bytes = database.program_answers(&question, answers, capacity);
  if (bytes < 0) say_nothing_is_tuned(answers);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

void observe_trace(const char* trace) noexcept {
  if (recorder::is_narrowed() || !recorder::configuration().learns) return;
  const Turn turn;
  const Library& database = library();
  if (database.observe == nullptr) return;
  char message[1024] = "";
  if (database.observe(trace, message, sizeof message) >= 0) return;
  ShortText<1280> text;
  text << "the run leaves no observation: " << message;
  recorder::say_once(g_said, text.c_str());
}

void tell_series(const char* file, double seconds, std::uint64_t bytes, bool collective) noexcept {
  if (recorder::is_narrowed()) return;
  const Turn turn;
  // Only where something was asked, and so loaded, before.
  if (g_library.series_closed == nullptr) return;
  g_library.series_closed(file, seconds, bytes, collective ? 1 : 0);
}

void unlock_database_after_fork() noexcept {
  g_turn_lock.unlock();
}

}  // namespace iotune::tuner
