// Calls by which a program leaves its process, without exit handlers: exec, and _exit. Nothing of
// them is recorded, but that _exit was an end; a service that keeps something in memory hears of
// it. libc's own forms call each other inside, so that each is wrapped.
#include <unistd.h>

#include <cstdarg>

#include "core/link/real_function.h"
#include "recorder/hooks/service.h"
#include "recorder/wrappers/process/process_end.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

using Texts = char* const*;

// How many arguments a list has, NULL counted, behind the first one.
std::size_t count(va_list list) noexcept {
  std::size_t many = 1;
  while (va_arg(list, const char*) != nullptr) ++many;
  return many + 1;
}

template <typename Result, typename... Arguments>
Result leave(NextCall<Result, Arguments...> real) noexcept {
  if (!real.exists()) return no_such_call();
  tell_services<&Service::before_leaving>();
  return real();
}

// The arguments of a form with a list, as an array, by its form with one. `list` is behind
// `first`.
template <typename Call>
int leave_with_list(const char* first, va_list& list, Call call) noexcept {
  va_list counted;
  va_copy(counted, list);
  const std::size_t many = first == nullptr ? 1 : count(counted);
  va_end(counted);
  char* arguments[many];  // NOLINT: as long as the caller's list, which lies on the stack too
  arguments[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i < many; ++i) arguments[i] = va_arg(list, char*);
  return call(static_cast<Texts>(arguments));
}

}  // namespace

extern "C" {

// glibc's headers declare some of these with attributes that a definition must repeat.
IOTUNE_EXPORT int own_execve(const char* path, Texts arguments, Texts environment) noexcept
    __asm__("execve");
IOTUNE_EXPORT int own_execv(const char* path, Texts arguments) noexcept __asm__("execv");
IOTUNE_EXPORT int own_execvp(const char* file, Texts arguments) noexcept __asm__("execvp");
IOTUNE_EXPORT int own_execvpe(const char* file, Texts arguments, Texts environment) noexcept
    __asm__("execvpe");
IOTUNE_EXPORT int own_fexecve(int fd, Texts arguments, Texts environment) noexcept
    __asm__("fexecve");
IOTUNE_EXPORT int own_execveat(int directory, const char* path, Texts arguments, Texts environment,
                               int flags) noexcept __asm__("execveat");
IOTUNE_EXPORT int own_execl(const char* path, const char* first, ...) noexcept __asm__("execl");
IOTUNE_EXPORT int own_execle(const char* path, const char* first, ...) noexcept __asm__("execle");
IOTUNE_EXPORT int own_execlp(const char* file, const char* first, ...) noexcept __asm__("execlp");
IOTUNE_EXPORT void own_exit(int status) noexcept __asm__("_exit");
IOTUNE_EXPORT void own_iso_exit(int status) noexcept __asm__("_Exit");

int own_execve(const char* path, Texts arguments, Texts environment) noexcept {
  static constinit NextSymbol next;
  return leave(next.prepare<int>("execve", path, arguments, environment));
}
int own_execv(const char* path, Texts arguments) noexcept {
  static constinit NextSymbol next;
  return leave(next.prepare<int>("execv", path, arguments));
}
int own_execvp(const char* file, Texts arguments) noexcept {
  static constinit NextSymbol next;
  return leave(next.prepare<int>("execvp", file, arguments));
}
int own_execvpe(const char* file, Texts arguments, Texts environment) noexcept {
  static constinit NextSymbol next;
  return leave(next.prepare<int>("execvpe", file, arguments, environment));
}
int own_fexecve(int fd, Texts arguments, Texts environment) noexcept {
  static constinit NextSymbol next;
  return leave(next.prepare<int>("fexecve", fd, arguments, environment));
}
int own_execveat(int directory, const char* path, Texts arguments, Texts environment,
                 int flags) noexcept {
  static constinit NextSymbol next;
  return leave(next.prepare<int>("execveat", directory, path, arguments, environment, flags));
}

int own_execl(const char* path, const char* first, ...) noexcept {
  static constinit NextSymbol next;
  va_list list;
  va_start(list, first);
  const int result = leave_with_list(first, list, [&](Texts arguments) {
    return leave(next.prepare<int>("execve", path, arguments, static_cast<Texts>(environ)));
  });
  va_end(list);
  return result;
}
int own_execle(const char* path, const char* first, ...) noexcept {
  static constinit NextSymbol next;
  va_list list;
  va_start(list, first);
  const int result = leave_with_list(first, list, [&](Texts arguments) {
    return leave(next.prepare<int>("execve", path, arguments, va_arg(list, Texts)));
  });
  va_end(list);
  return result;
}
int own_execlp(const char* file, const char* first, ...) noexcept {
  static constinit NextSymbol next;
  va_list list;
  va_start(list, first);
  const int result = leave_with_list(first, list, [&](Texts arguments) {
    return leave(next.prepare<int>("execvpe", file, arguments, static_cast<Texts>(environ)));
  });
  va_end(list);
  return result;
}

void own_exit(int status) noexcept {
  static constinit NextSymbol next;
  tell_services<&Service::before_leaving>();
  end_before_leaving();
  next.find_as<void(int)>("_exit")(status);
  __builtin_unreachable();
}
void own_iso_exit(int status) noexcept {
  static constinit NextSymbol next;
  tell_services<&Service::before_leaving>();
  end_before_leaving();
  next.find_as<void(int)>("_Exit")(status);
  __builtin_unreachable();
}

}  // extern "C"
