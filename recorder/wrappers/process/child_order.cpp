// What orders a process and its children: the parent's calls up to a fork come before all calls of
// the child, and these before the end of the wait for it. Recorded where order was asked for
// (IOTUNE_ORDER); else the calls go straight on.
#include "recorder/wrappers/process/child_order.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

void record_child(const CallScope& scope, CallNumber number,
                  std::initializer_list<std::int64_t> numbers) noexcept {
  if (!scope.recorded()) return;
  if (t_thread.ring == nullptr || !t_thread.ring->in_file) {
    const OwnCode own;
    start_buffer();
  }
  RecordWriter record(scope, number, Times::kControl);
  record.numbers(numbers);
  record.commit();
}

namespace {

bool has_ended(int status) noexcept {
  return WIFEXITED(status) || WIFSIGNALED(status);
}

// `call` is given where the status is put, one of ours where the program wants none. Its child is
// the result; one that only stopped has not ended. A wait may be cancelled, so this is not
// noexcept.
template <typename Call, typename... Numbers>
int waited(CallNumber number, int* status, Call call, Numbers... numbers) {
  if (!orders_children()) return call(status);
  int own = 0;
  CallScope scope{CallScope::OfOrder{}};
  if (!scope.active()) return call(status);
  int* const put = status == nullptr ? &own : status;
  scope.start();
  const int child = call(put);
  scope.stop();
  if (child > 0 && has_ended(*put)) {
    record_child(scope, number,
                 {std::int64_t{numbers}..., std::int64_t{child}, std::int64_t{*put}});
  }
  return child;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT int fork() noexcept {
  static constinit NextSymbol next;
  auto* const real = next.find_as<int()>("fork");
  if (!orders_children()) return real();
  CallScope scope{CallScope::OfOrder{}};
  if (!scope.active()) return real();
  scope.start();
  const int child = real();
  scope.stop();
  if (child > 0) record_child(scope, CallNumber::kfork, {std::int64_t{child}});
  return child;
}

IOTUNE_EXPORT int wait(int* status) {
  static constinit NextSymbol next;
  auto* const real = next.find_as<int(int*)>("wait");
  return waited(CallNumber::kwait, status, real);
}

IOTUNE_EXPORT int waitpid(int pid, int* status, int options) {
  static constinit NextSymbol next;
  auto* const real = next.find_as<int(int, int*, int)>("waitpid");
  return waited(
      CallNumber::kwaitpid, status, [=](int* put) { return real(pid, put, options); }, pid,
      options);
}

IOTUNE_EXPORT int wait3(int* status, int options, rusage* usage) noexcept {
  static constinit NextSymbol next;
  auto* const real = next.find_as<int(int*, int, rusage*)>("wait3");
  return waited(
      CallNumber::kwait3, status, [=](int* put) { return real(put, options, usage); }, options);
}

IOTUNE_EXPORT int wait4(int pid, int* status, int options, rusage* usage) noexcept {
  static constinit NextSymbol next;
  auto* const real = next.find_as<int(int, int*, int, rusage*)>("wait4");
  return waited(
      CallNumber::kwait4, status, [=](int* put) { return real(pid, put, options, usage); }, pid,
      options);
}

IOTUNE_EXPORT int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  static constinit NextSymbol next;
  auto* const real = next.find_as<int(idtype_t, id_t, siginfo_t*, int)>("waitid");
  if (!orders_children()) return real(type, id, info, options);
  CallScope scope{CallScope::OfOrder{}};
  if (!scope.active()) return real(type, id, info, options);
  siginfo_t own{};
  siginfo_t* const put = info == nullptr ? &own : info;
  scope.start();
  const int result = real(type, id, put, options);
  scope.stop();
  const bool ended =
      put->si_code == CLD_EXITED || put->si_code == CLD_KILLED || put->si_code == CLD_DUMPED;
  if (result == 0 && put->si_pid > 0 && ended) {
    record_child(scope, CallNumber::kwaitid,
                 {std::int64_t{type}, std::int64_t{id}, std::int64_t{options}, std::int64_t{result},
                  std::int64_t{put->si_pid}});
  }
  return result;
}

}  // extern "C"
