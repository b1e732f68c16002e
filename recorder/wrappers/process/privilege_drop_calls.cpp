// Wrappers of the calls by which a program takes rights away from itself (privilege_drop.h), or the
// place of our buffer. They are not recorded. prctl and syscall have all the words that they may
// have: a word that the program did not pass is handed on as it is.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdlib>

#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/process/privilege_drop_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {
namespace {

constexpr long kUnchanged = -1;  // of setresuid and its like

// Makes the call, which drops privileges where `drops`.
template <typename Call>
auto dropping(bool drops, Loss loss, Call call, bool all_threads = false) noexcept {
  if (!drops) return call();
  const int kept = errno;
  PrivilegeDropCall drop(loss);
  if (all_threads) drop.wait_for_other_threads();
  errno = kept;
  const auto result = call();
  if (result < 0) drop.failed();
  return result;
}

long effective_user() noexcept {
  return raw::call(SYS_geteuid);
}

// A user of files who is another one than now. The same one loses nothing.
bool is_other_user(std::uint64_t user) noexcept {
  const auto asked = static_cast<std::int32_t>(user);
  return asked != kUnchanged && !has_dropped_privileges() &&
         asked != static_cast<std::int32_t>(effective_user());
}

// Whether a limit leaves less room above what the process has than iotune may come to need.
bool is_short_of_memory(std::uint64_t limit) noexcept {
  const int fd = raw::open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
  char text[32] = {};
  if (fd < 0) return true;
  raw::read(fd, text, sizeof text - 1);
  raw::close(fd);
  constexpr std::uint64_t kEnoughBytes = 256u << 20;
  return limit < std::strtoull(text, nullptr, 10) * getauxval(AT_PAGESZ) + kEnoughBytes;
}

// A limit that iotune's own files or memory may meet, and that goes down.
bool is_tighter(int resource, const struct rlimit& wanted) noexcept {
  // Descriptors of iotune's own lie high (core/files/descriptor.h), and need such a number.
  constexpr rlim_t kFewDescriptors = 64;
  if (has_dropped_privileges()) return false;
  switch (resource) {
    case RLIMIT_FSIZE:
    case RLIMIT_AS:
    case RLIMIT_DATA:
      break;
    case RLIMIT_NOFILE:
      if (wanted.rlim_cur > kFewDescriptors) return false;
      break;
    default:
      return false;
  }
  struct rlimit now {};
  const bool is_lower = raw::call(SYS_prlimit64, 0, resource, 0, raw::word(&now)) == 0 &&
                        wanted.rlim_cur < now.rlim_cur;
  const bool is_of_memory = resource == RLIMIT_AS || resource == RLIMIT_DATA;
  return is_lower && (!is_of_memory || is_short_of_memory(wanted.rlim_cur));
}
bool is_tighter(int resource, const void* limit) noexcept {
  return limit != nullptr && is_tighter(resource, *static_cast<const struct rlimit*>(limit));
}

Loss loss_of_limit(int resource) noexcept {
  return resource == RLIMIT_DATA ? Loss::kData : Loss::kFiles;
}

bool is_own_process(long pid) noexcept {
  return pid == 0 || pid == g_own_pid;
}

// Namespaces in which files have other names or owners.
bool moves_files(std::uint64_t flags) noexcept {
  return (flags & (CLONE_NEWNS | CLONE_NEWUSER)) != 0;
}

struct Drop {
  bool does;
  Loss loss;
};

Drop of_limit(int resource, const void* limit) noexcept {
  return {is_tighter(resource, limit), loss_of_limit(resource)};
}

Drop of_prctl(long option, long argument) noexcept {
  switch (option) {
    case PR_SET_SECCOMP:
      return {true, Loss::kCalls};
    case PR_SET_TSC:
      return {argument == PR_TSC_SIGSEGV, Loss::kCalls};
    default:
      return {false, Loss::kFiles};
  }
}

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

Drop of_syscall(long number, long a, long b, long c) noexcept {
  switch (number) {
    case SYS_seccomp:
      return {a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER, Loss::kCalls};
    case SYS_prctl:
      return of_prctl(a, b);
    case SYS_setuid:
    case SYS_setfsuid:
      return {is_other_user(static_cast<std::uint64_t>(a)), Loss::kFiles};
    case SYS_setreuid:
    case SYS_setresuid:
      return {is_other_user(static_cast<std::uint64_t>(b)), Loss::kFiles};
    case SYS_setrlimit:
      return of_limit(static_cast<int>(a), reinterpret_cast<const void*>(b));
    case SYS_prlimit64:
      if (!is_own_process(a)) return {false, Loss::kFiles};
      return of_limit(static_cast<int>(b), reinterpret_cast<const void*>(c));
    case SYS_unshare:
      return {moves_files(static_cast<std::uint64_t>(a)), Loss::kFiles};
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_setns:
    case SYS_landlock_restrict_self:
      return {true, Loss::kFiles};
    default:
      return {false, Loss::kFiles};
  }
}

// Memory of ours would keep the file system busy.
void leave_for_unmount(const char* target) noexcept {
  if (g_recording == kNothing || t_thread.ours != 0) return;
  const int kept = errno;
  leave_file_system_of(target);
  errno = kept;
}

// A bit for each system call that of_syscall knows.
constexpr long kMostNumber = 448;
struct NumberSet {
  std::uint64_t words[kMostNumber / 64];
  constexpr bool has(unsigned long number) const noexcept {
    return (words[number / 64] >> (number % 64) & 1) != 0;
  }
};
constexpr NumberSet set_of_numbers() noexcept {
  NumberSet set{};
  for (const long number : {SYS_seccomp, SYS_prctl, SYS_setuid, SYS_setfsuid, SYS_setreuid,
                            SYS_setresuid, SYS_setrlimit, SYS_prlimit64, SYS_unshare, SYS_chroot,
                            SYS_pivot_root, SYS_setns, SYS_landlock_restrict_self, SYS_umount2}) {
    set.words[number / 64] |= std::uint64_t{1} << (number % 64);
  }
  return set;
}
using SystemCall = long(long, long, long, long, long, long, long);

// `user`: who is to touch files from now on.
template <typename Call>
int set_user(unsigned user, Call call) noexcept {
  return dropping(is_other_user(user), Loss::kFiles, call);
}

template <typename Call>
int set_limit(int pid, int resource, const struct rlimit* limit, Call call) noexcept {
  return dropping(is_own_process(pid) && is_tighter(resource, limit), loss_of_limit(resource),
                  call);
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

// Names of glibc that its headers declare in other forms.
IOTUNE_EXPORT int own_prctl(int option, long a, long b, long c, long d) noexcept __asm__("prctl");
IOTUNE_EXPORT int own_setrlimit(int resource, const struct rlimit* limit) noexcept
    __asm__("setrlimit");
IOTUNE_EXPORT int own_setrlimit64(int resource, const struct rlimit* limit) noexcept
    __asm__("setrlimit64");
IOTUNE_EXPORT int own_prlimit(int pid, int resource, const struct rlimit* limit,
                              struct rlimit* before) noexcept __asm__("prlimit");
IOTUNE_EXPORT int own_prlimit64(int pid, int resource, const struct rlimit* limit,
                                struct rlimit* before) noexcept __asm__("prlimit64");

// What the jump in front of them knows by name.
extern const NumberSet iotune_privilege_drop_numbers [[gnu::visibility("hidden")]];
constexpr NumberSet iotune_privilege_drop_numbers = set_of_numbers();
[[gnu::visibility("hidden"), gnu::used]] constinit NextSymbol iotune_next_syscall;

[[gnu::visibility("hidden"), gnu::used]] long iotune_privilege_drop_syscall(long number, long a,
                                                                            long b, long c, long d,
                                                                            long e,
                                                                            long f) noexcept {
  auto* const real = iotune_next_syscall.find_as<SystemCall>("syscall");
  if (number == SYS_umount2) leave_for_unmount(reinterpret_cast<const char*>(a));
  const auto [drops, loss] = of_syscall(number, a, b, c);
  const bool all_threads = number == SYS_seccomp && (b & SECCOMP_FILTER_FLAG_TSYNC) != 0;
  return dropping(
      drops, loss, [=] { return real(number, a, b, c, d, e, f); }, all_threads);
}

[[gnu::visibility("hidden"), gnu::used]] long iotune_first_syscall(long number, long a, long b,
                                                                   long c, long d, long e,
                                                                   long f) noexcept {
  iotune_next_syscall.find("syscall");
  return iotune_privilege_drop_syscall(number, a, b, c, d, e, f);
}

#if defined(__x86_64__)
// A jump and no call: the sixth word lies on the caller's stack if it was passed at all. Compiled C
// would read and write that place, which may be a variable that other threads change.
__asm__(R"(
    .pushsection .text.syscall, "ax", @progbits
    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    endbr64
    cmpq $448, %rdi
    jae 1f
    leaq iotune_privilege_drop_numbers(%rip), %rax
    btq %rdi, (%rax)
    jc iotune_privilege_drop_syscall
1:  movq iotune_next_syscall(%rip), %rax
    testq %rax, %rax
    jz iotune_first_syscall
    jmp *%rax
    .cfi_endproc
    .size syscall, . - syscall
    .popsection
)");
// A NextSymbol's first word is the function.
static_assert(kMostNumber == 448);
#else
// All seven words are in registers.
IOTUNE_EXPORT long own_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept
    __asm__("syscall");
long own_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  const auto index = static_cast<unsigned long>(number);
  void* const real = iotune_next_syscall.known();
  if (__builtin_expect(real == nullptr, 0) ||
      (index < kMostNumber && iotune_privilege_drop_numbers.has(index))) {
    return iotune_privilege_drop_syscall(number, a, b, c, d, e, f);
  }
  return reinterpret_cast<SystemCall*>(real)(number, a, b, c, d, e, f);
}
#endif

int own_prctl(int option, long a, long b, long c, long d) noexcept {
  static constinit NextSymbol next;
  const Drop made = of_prctl(option, a);
  return dropping(made.does, made.loss, next.prepare<int>("prctl", option, a, b, c, d));
}

IOTUNE_EXPORT int chroot(const char* path) noexcept {
  static constinit NextSymbol next;
  return dropping(true, Loss::kFiles, next.prepare<int>("chroot", path));
}

IOTUNE_EXPORT int setns(int fd, int kinds) noexcept {
  static constinit NextSymbol next;
  return dropping(true, Loss::kFiles, next.prepare<int>("setns", fd, kinds));
}
IOTUNE_EXPORT int unshare(int kinds) noexcept {
  static constinit NextSymbol next;
  return dropping(moves_files(static_cast<std::uint64_t>(kinds)), Loss::kFiles,
                  next.prepare<int>("unshare", kinds));
}

IOTUNE_EXPORT int umount(const char* target) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("umount", target);
  leave_for_unmount(target);
  return real();
}
IOTUNE_EXPORT int umount2(const char* target, int flags) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("umount2", target, flags);
  leave_for_unmount(target);
  return real();
}

IOTUNE_EXPORT int setuid(unsigned user) noexcept {
  static constinit NextSymbol next;
  return set_user(user, next.prepare<int>("setuid", user));
}
IOTUNE_EXPORT int seteuid(unsigned user) noexcept {
  static constinit NextSymbol next;
  return set_user(user, next.prepare<int>("seteuid", user));
}
IOTUNE_EXPORT int setfsuid(unsigned user) noexcept {
  static constinit NextSymbol next;
  return set_user(user, next.prepare<int>("setfsuid", user));
}
IOTUNE_EXPORT int setreuid(unsigned real_user, unsigned user) noexcept {
  static constinit NextSymbol next;
  return set_user(user, next.prepare<int>("setreuid", real_user, user));
}
IOTUNE_EXPORT int setresuid(unsigned real_user, unsigned user, unsigned saved) noexcept {
  static constinit NextSymbol next;
  return set_user(user, next.prepare<int>("setresuid", real_user, user, saved));
}

// Where this file is linked into a program that is instrumented itself, as in a test, the
// sanitizers' runtimes would call the wrapper before instrumented code can run.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int own_setrlimit(int resource, const struct rlimit* limit) noexcept {
  static constinit NextSymbol next;
  return set_limit(0, resource, limit, next.prepare<int>("setrlimit", resource, limit));
}
#endif
int own_setrlimit64(int resource, const struct rlimit* limit) noexcept {
  static constinit NextSymbol next;
  return set_limit(0, resource, limit, next.prepare<int>("setrlimit64", resource, limit));
}
int own_prlimit(int pid, int resource, const struct rlimit* limit, struct rlimit* before) noexcept {
  static constinit NextSymbol next;
  return set_limit(pid, resource, limit,
                   next.prepare<int>("prlimit", pid, resource, limit, before));
}
int own_prlimit64(int pid, int resource, const struct rlimit* limit,
                  struct rlimit* before) noexcept {
  static constinit NextSymbol next;
  return set_limit(pid, resource, limit,
                   next.prepare<int>("prlimit64", pid, resource, limit, before));
}

}  // extern "C"
