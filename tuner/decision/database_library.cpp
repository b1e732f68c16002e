#include "tuner/decision/database_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/link/loader_calls.h"
#include "core/link/real_function.h"
#include "core/os/mapped_file.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_events.h"
#include "core/process/process_facts.h"
#include "core/process/site_limits.h"
#include "core/process/thread_state.h"
#include "core/run/answering_place.h"
#include "core/run/distant_copy.h"
#include "core/run/only_read_file.h"
#include "patterndb/decide/decision.h"
#include "recorder/gather/process_text.h"
#include "tuner/decision/packed_decision.h"
#include "tuner/posix/file_system.h"

namespace iotune::tuner {
namespace {

struct Library {
  int (*decide)(const iotune_question*, void*, std::size_t);
  int (*program_answers)(const iotune_question*, void*, std::size_t);
  int (*learn)(const iotune_run_end*, char*, std::size_t);
  void (*series_closed)(const char*, double, std::uint64_t, int);
};
// Nothing is there where the library could not be loaded, or is not used any more.
constinit const Library kNone = {};
constinit std::atomic<const Library*> g_library{nullptr};

// One thread at a time may call the library, though several threads may open files at once. The
// library may call the loader (iconv, the name service). Another thread may hold the loader and
// wait here, in a constructor that opens a file: so a thread waits only for a time, and then opens
// its file without an answer.
constinit ProcessLock g_turn_lock;
constinit bool g_inside = false;
constexpr timespec kLongestWait = {1, 0};

class Turn {
 public:
  Turn() noexcept : guard_(g_turn_lock, kLongestWait) {
    if (!guard_.held()) return;
    // A thread left the library by longjmp, or it was inside when the parent forked. The library's
    // state may be half changed: it is not used any more.
    if (g_inside) g_library.store(&kNone, std::memory_order_release);
    g_inside = true;
  }
  ~Turn() {
    if (guard_.held()) g_inside = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // What may be called until the end of the turn.
  const Library& library() const noexcept {
    const Library* const loaded = g_library.load(std::memory_order_acquire);
    return guard_.held() && loaded != nullptr ? *loaded : kNone;
  }

 private:
  JumpSafeGuard guard_;
};

// One line about the database is enough: a user who reads that it cannot be read knows why nothing
// is written to it.
constinit bool g_said = false;

void say_nothing_is_tuned(const char* why) noexcept {
  ShortText<1024> text;
  text << why << ": nothing is tuned";
  say_once(g_said, text.c_str());
}

template <typename Function>
void find(void* handle, Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(loader_symbol(handle, name));
}

// Its absolute path, beside this library; false where that was found without one.
bool find_place(ShortText<4096>& path) noexcept {
  const char* const own = own_library_path();
  const char* const slash = std::strrchr(own, '/');
  if (slash == nullptr) return false;
  path.add(own, static_cast<std::size_t>(slash - own));
  path << "/libiotune-db.so";
  return true;
}

// RTLD_LOCAL, so that the program never binds to its SQLite. Threads that load it at once get the
// same library.
bool open_library(const char* path) noexcept {
  void* const handle = loader_open(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  auto* const found = static_cast<Library*>(private_memory(sizeof(Library)));
  if (found == nullptr) return true;
  find(handle, found->decide, "iotune_decide");
  find(handle, found->program_answers, "iotune_program_answers");
  find(handle, found->learn, "iotune_learn");
  find(handle, found->series_closed, "iotune_series_closed");
  const Library* none = nullptr;
  if (!g_library.compare_exchange_strong(none, found, std::memory_order_acq_rel)) {
    unmap(found, sizeof *found);
  }
  return true;
}

// Before the turn, because another thread may hold the loader. For a question the loader is asked
// only where nobody could know that one would come.
void load_library() noexcept {
  if (g_library.load(std::memory_order_acquire) != nullptr) return;
  ShortText<4096> path;
  if (!find_place(path)) {
    say_nothing_is_tuned("libiotune.so was preloaded without a path, libiotune-db.so is not found");
  } else if (open_library(path.c_str())) {
    return;
  } else {
    ShortText<4608> text;
    text << path.c_str() << " cannot be loaded";
    say_nothing_is_tuned(text.c_str());
  }
  const Library* none = nullptr;
  g_library.compare_exchange_strong(none, &kNone);
}

constinit bool g_storage_is_silent = false;

// Read once: the variables lie all over memory, and an open between two transfers finds the caches
// cold.
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

// What cannot be loaded the first question says, if there is one.
void load_database() noexcept {
  if (has_dropped_privileges() || database_is_off() || database_is_loaded()) return;
  const int kept = errno;
  const OwnCode own;
  ShortText<4096> path;
  if (find_place(path)) open_library(path.c_str());
  errno = kept;
}

void database_path(ShortText<4096>& path) noexcept {
  const char* const given = std::getenv("IOTUNE_DB");
  const char* const data = std::getenv("XDG_DATA_HOME");
  const char* const home = std::getenv("HOME");
  path.clear();
  if (data != nullptr && *data == '/') {
    path << data << "/iotune/patterns.db";
  } else if (home != nullptr && *home != '\0') {
    path << home << "/.local/share/iotune/patterns.db";
  }
  if (given == nullptr || *given == '\0') return;
  // As patterndb/store/places.h: what is learnt beside a site's database goes into the user's own.
  if (path.size() != 0 && place_answers(given) && is_only_read(given)) return;
  path.clear();
  path << given;
}

namespace {

// Whether the folders of databases and spool answer; those that have not once are not asked again.
bool storage_answers() noexcept {
  if (__atomic_load_n(&g_storage_is_silent, __ATOMIC_RELAXED)) return false;
  ShortText<4096> database;
  database_path(database);
  const char* const data = std::getenv("XDG_DATA_HOME");
  bool all = place_answers(database.c_str());
  const char* const folder = data != nullptr && *data == '/' ? data : std::getenv("HOME");
  const char* const config = std::getenv("IOTUNE_CONFIG");
  const char* const named = std::getenv("IOTUNE_DB");
  for (const char* const path : {folder, config, named, site_database()}) {
    all = all && (path == nullptr || *path != '/' || place_answers(path));
  }
  if (!all) __atomic_store_n(&g_storage_is_silent, true, __ATOMIC_RELAXED);
  return all;
}

// The user's own database is made when the first run is learnt from.
bool nothing_was_learnt_yet() noexcept {
  const char* const named = std::getenv("IOTUNE_DB");
  const char* const config = std::getenv("IOTUNE_CONFIG");
  if ((named != nullptr && *named != '\0') || (config != nullptr && *config != '\0')) return false;
  ShortText<4096> path;
  database_path(path);
  return access(path.c_str(), F_OK) != 0 && errno == ENOENT;
}
// False where the database has not answered in time. The caller has its turn.
bool add_copy(iotune_question& question) noexcept {
  ShortText<4096> path;
  database_path(path);
  const DistantCopy copy = distant_copy(path.c_str());
  question.database_copy = copy.path;
  if (copy.state != Copy::kNone) return true;
  __atomic_store_n(&g_storage_is_silent, true, __ATOMIC_RELAXED);
  path << " was not read within 10 s";
  say_nothing_is_tuned(path.c_str());
  return false;
}

}  // namespace

bool ask_database(const FileQuestion& asked, iotune_answer& answer) noexcept {
  clear(answer.decision);
  if (has_dropped_privileges() || database_is_off() || !storage_answers()) return false;
  load_library();
  const Turn turn;
  const Library& database = turn.library();
  if (database.decide == nullptr) return false;
  iotune_question question = {};
  question.version = IOTUNE_DECISION_VERSION;
  question.ranks = static_cast<std::uint32_t>(asked.ranks);
  question.nodes = static_cast<std::uint32_t>(asked.nodes);
  question.creating = asked.creating ? 1 : 0;
  question.layer = asked.layer;
  question.program = program_path();
  question.file = asked.file;
  question.mpi = asked.mpi;
  question.mpi_io = asked.mpi_io;
  question.hdf5 = recorder::hdf5_version()[0] == '\0' ? nullptr : recorder::hdf5_version();
  question.filesystem = file_system_of(asked.file);
  question.frozen = configuration().frozen ? 1 : 0;
  question.gathers = configuration().gather != nullptr ? 1 : 0;
  question.known_only = asked.known_only ? 1 : 0;
  question.site_database = site_database();
  if (!add_copy(question)) return false;
  const int bytes = database.decide(&question, &answer, sizeof answer);
  if (bytes > 0 && is_whole(answer.decision, static_cast<std::size_t>(bytes))) return true;
  if (bytes < 0 && !nothing_was_learnt_yet()) say_nothing_is_tuned(answer.message);
  clear(answer.decision);
  return false;
}

bool nothing_can_be_asked() noexcept {
  if (has_dropped_privileges() || database_is_off()) return true;
  if (__atomic_load_n(&g_storage_is_silent, __ATOMIC_RELAXED)) return true;
  const Library* const loaded = g_library.load(std::memory_order_acquire);
  return loaded != nullptr && loaded->decide == nullptr;
}

namespace {
// Whether the configuration may have settings for files that the program opens itself: those are
// bound to a file's name. True for one that is too long to search.
bool may_name_files(const char* config) noexcept {
  const int fd = raw::open(config, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return true;  // why it cannot be read is reported
  char text[4096];
  const long bytes = raw::read(fd, text, sizeof text);
  raw::close(fd);
  constexpr char kAttribute[] = "FileName";
  return bytes < 0 || bytes == static_cast<long>(sizeof text) ||
         memmem(text, static_cast<std::size_t>(bytes), kAttribute, sizeof kAttribute - 1) !=
             nullptr;
}

// Whether there is anything to ask, so that the library is not loaded without need.
bool something_may_be_known() noexcept {
  const char* const config = std::getenv("IOTUNE_CONFIG");
  if (config != nullptr && *config != '\0' && may_name_files(config)) return true;
  if (*site_database() != '\0') return true;
  ShortText<4096> path;
  database_path(path);
  return access(path.c_str(), F_OK) == 0;
}
}  // namespace

std::size_t ask_for_program(int ranks, int nodes, void* answers, std::size_t capacity) noexcept {
  if (has_dropped_privileges() || database_is_off() || !storage_answers() ||
      !something_may_be_known()) {
    return 0;
  }
  load_library();
  const Turn turn;
  const Library& database = turn.library();
  if (database.program_answers == nullptr) return 0;
  iotune_question question = {};
  question.version = IOTUNE_DECISION_VERSION;
  question.ranks = static_cast<std::uint32_t>(ranks);
  question.nodes = static_cast<std::uint32_t>(nodes);
  question.program = program_path();
  question.frozen = configuration().frozen ? 1 : 0;
  question.site_database = site_database();
  if (!add_copy(question)) return 0;
  const int bytes = database.program_answers(&question, answers, capacity);
  if (bytes < 0) say_nothing_is_tuned(static_cast<const char*>(answers));
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

bool database_is_loaded() noexcept {
  return g_library.load(std::memory_order_acquire) != nullptr;
}

void learn_from_runs(const RunEnd& end) noexcept {
  if (!storage_answers()) return;
  load_library();
  const Turn turn;
  const Library& database = turn.library();
  if (database.learn == nullptr) return;
  iotune_run_end asked = {};
  asked.version = IOTUNE_DECISION_VERSION;
  asked.held = end.held ? 1 : 0;
  asked.folder = end.folder;
  asked.trace = end.trace;
  asked.name = end.name;
  asked.until_ns = end.until_ns;
  asked.site_database = site_database();
  char message[1024] = "";
  if (database.learn(&asked, message, sizeof message) >= 0) return;
  ShortText<1280> text;
  text << "the run leaves no observation: " << message;
  say_once(g_said, text.c_str());
}

void report_file_time(const char* file, double seconds, std::uint64_t bytes,
                      bool collective) noexcept {
  if (has_dropped_privileges()) return;
  // Only where the library was loaded for a question before.
  if (g_library.load(std::memory_order_acquire) == nullptr) return;
  const Turn turn;
  const Library& database = turn.library();
  if (database.series_closed == nullptr) return;
  database.series_closed(file, seconds, bytes, collective ? 1 : 0);
}

}  // namespace iotune::tuner
