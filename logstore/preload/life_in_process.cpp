// The library's life in a process: interposing, watched descriptors, fork, the end.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "logstore/preload/closing.h"
#include "logstore/preload/host.h"
#include "logstore/preload/library_interface.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/named_calls.h"
#include "logstore/preload/prefixes.h"
#include "logstore/preload/real_calls.h"
#include "logstore/store/logged_file.h"
#include "recorder/hooks/service.h"

namespace iotune::logstore {

constinit const LogStoreHost* g_host = nullptr;
constinit __thread int t_inside __attribute__((tls_model("initial-exec"))) = 0;
constinit RealCalls real = {};

namespace {

constinit StoreOptions g_options = {};
constinit std::atomic<bool> g_watches_descriptors{false};

// Those that wait for the first file that is logged.
constexpr Replacements (*kLater[])() = {replaced_transfers, replaced_descriptors,
                                        replaced_requests};

// As the program calls a name for the first time.
void* replace(const char* name, void* behind) {
  const Replacement* found = find_replacement(replaced_names(), name);
  bool is_used = found != nullptr;
  for (const auto list : kLater) {
    if (found != nullptr) break;
    found = find_replacement(list(), name);
    is_used = found != nullptr && g_watches_descriptors.load(std::memory_order_acquire);
  }
  if (found != nullptr) *found->real = behind;
  return is_used ? found->function : behind;
}

void find_real_calls() noexcept {
  const auto find_those_of = [](Replacements list) {
    for (const Replacement& one : list) {
      if (*one.real == nullptr) *one.real = g_host->behind(one.name);
    }
  };
  find_those_of(replaced_names());
  for (const auto list : kLater) find_those_of(list());
}

// Forks under way whose locks are held, of a thread: a signal's handler may fork within one.
constinit __thread int t_forks __attribute__((tls_model("initial-exec"))) = 0;

// While the locks are held the thread counts as inside: a signal's handler that writes, or ends the
// process, must not wait for them. All is flushed then.
void before_fork() {
  if (t_inside != 0 && t_forks == 0) return;
  t_inside = 1;
  if (++t_forks == 1) LoggedFile::before_fork();
}
bool ends_fork() {
  return t_forks != 0 && --t_forks == 0;
}
void after_fork_in_parent() {
  if (!ends_fork()) return;
  LoggedFile::after_fork(false);
  t_inside = 0;
}
void after_fork_in_child() {
  if (!ends_fork()) return;
  reset_logged_descriptors();
  LoggedFile::after_fork(true);
  t_inside = 0;
}

void read_close(const char* value) noexcept {
  constexpr std::pair<const char*, AtClose> kKnown[] = {{"", AtClose::kFlatten},
                                                        {"flatten", AtClose::kFlatten},
                                                        {"compact", AtClose::kCompact},
                                                        {"keep", AtClose::kKeep}};
  for (const auto& [word, at_close] : kKnown) {
    if (std::strcmp(value == nullptr ? "" : value, word) != 0) continue;
    g_options.at_close = at_close;
    return;
  }
  g_options.at_close = AtClose::kFlatten;
  char line[200];
  std::snprintf(line, sizeof line,
                "IOTUNE_LOGSTORE_CLOSE=%.60s: is none of flatten, compact and keep; files become "
                "ordinary ones when the last rank closes them",
                value);
  g_host->say(line);
}

bool can_work() noexcept {
  return g_watches_descriptors.load(std::memory_order_acquire) && t_inside == 0 &&
         !g_host->in_vfork_child();
}

// What cannot be flushed now is reported by a later flush, or close().
void before_meeting() {
  if (!can_work()) return;
  const int kept = errno;
  const Inside inside;
  LoggedFile::flush_all();
  errno = kept;
}
void after_meeting() {
  if (!can_work()) return;
  const int kept = errno;
  const Inside inside;
  LoggedFile::refresh_all();
  errno = kept;
}

// exec keeps the descriptors, and nothing of memory. A handler of a signal that interrupted this
// library finds it half changed: then what was not flushed stays so.
void before_leaving() {
  if (!can_work()) return;
  const int kept = errno;
  const Inside inside;
  LoggedFile::flush_all();
  errno = kept;
}

__attribute__((destructor)) void stop() {
  if (!can_work()) return;
  const Inside inside;
  LoggedFile::at_exit();
}

bool begin(void* given) noexcept {
  auto& host = *static_cast<LogStoreHost*>(given);
  g_host = &host;
  try {
    if (!read_prefixes(host.prefixes)) return false;
  } catch (...) {
    return false;
  }
  g_options.say = host.say_on_any_rank;
  read_close(std::getenv("IOTUNE_LOGSTORE_CLOSE"));
  find_real_calls();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  // Behind the program's own handlers, which are entered later.
  at_quick_exit(before_leaving);
  const Inside inside;
  host.interpose(replace);
  host.closing = closing_calls();
  return true;
}

constinit recorder::Service g_service = {.begin = begin,
                                         .before_leaving = before_leaving,
                                         .before_meeting = before_meeting,
                                         .after_meeting = after_meeting,
                                         .takes = takes,
                                         .owns = [](int fd) { return is_logged(fd); }};

}  // namespace

const StoreOptions& store_options() noexcept {
  return g_options;
}

void watch_descriptors() noexcept {
  if (g_watches_descriptors.exchange(true, std::memory_order_acq_rel)) return;
  g_host->interpose(replace);
}

}  // namespace iotune::logstore

extern "C" __attribute__((visibility("default"))) iotune::recorder::Service*
iotune_service() noexcept {
  return &iotune::logstore::g_service;
}
