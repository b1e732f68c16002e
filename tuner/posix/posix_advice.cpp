#include "tuner/posix/posix_advice.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "patterndb/settings/parameters.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/posix/file_system.h"

namespace iotune::tuner {
namespace {

__thread PosixAdvice* t_advice __attribute__((tls_model("initial-exec"))) = nullptr;

constexpr char kAdviceSetting[] = "fadvise", kReserveSetting[] = "fallocate";
constexpr std::uint64_t kShareOfFreeSpace = 8;  // at most an eighth is reserved
constexpr std::uint64_t kBlockBytes = 512;      // of st_blocks

int advice_of(const char* value) noexcept {
  if (value == nullptr) return -1;
  if (std::strcmp(value, "sequential") == 0) return POSIX_FADV_SEQUENTIAL;
  return std::strcmp(value, "random") == 0 ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL;
}

bool is_memory(const char* file_system) noexcept {
  return std::strcmp(file_system, "tmpfs") == 0 || std::strcmp(file_system, "ramfs") == 0;
}

// A descriptor may have been closed since, and stand for another file.
bool is_file_at(int fd, const char* path, struct stat& status) noexcept {
  struct stat named {};
  return fd >= 0 && raw::call(SYS_fstat, fd, raw::word(&status)) == 0 &&
         raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(path), raw::word(&named), 0) == 0 &&
         status.st_dev == named.st_dev && status.st_ino == named.st_ino;
}

// Reason::kNone where the bytes may be asked for on this descriptor.
Reason why_not_reserve(const PosixAdvice& plan, struct stat& status) noexcept {
  if (!plan.anew) return Reason::kFileExists;
  if (plan.similar_only) return Reason::kSimilarOnly;
  if (!is_file_at(plan.last_fd, plan.path, status)) return Reason::kNoDescriptor;
  // Some file systems count reserved bytes as a growing file: its signal would end the program.
  struct rlimit limit {};
  if (raw::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, raw::word(&limit)) != 0 ||
      limit.rlim_cur < plan.reserve_bytes) {
    return Reason::kOverFileLimit;
  }
  struct statfs system {};
  if (raw::call(SYS_fstatfs, plan.last_fd, raw::word(&system)) != 0) {
    return Reason::kFreeSpaceUnknown;
  }
  if (is_memory(file_system_of(plan.path))) return Reason::kInMemory;
  const std::uint64_t free_bytes =
      static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
  return free_bytes / kShareOfFreeSpace < plan.reserve_bytes ? Reason::kOverFreeSpace
                                                             : Reason::kNone;
}

void reserve_and_note_one(const PosixAdvice& plan, const char* value) noexcept {
  struct stat status {};
  const Reason refused = why_not_reserve(plan, status);
  if (refused != Reason::kNone) {
    note_setting(plan.path, kReserveSetting, value, "", Verdict::kRefused, {refused});
    return;
  }
  const long result = raw::call(SYS_fallocate, plan.last_fd, FALLOC_FL_KEEP_SIZE, 0,
                                static_cast<long>(plan.reserve_bytes));
  raw::call(SYS_fstat, plan.last_fd, raw::word(&status));
  const std::uint64_t held = static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes;
  ShortText<32> got;
  got << held;
  const bool applied = held >= plan.reserve_bytes;
  const Reason reason = applied                 ? Reason::kNone
                        : result == -EOPNOTSUPP ? Reason::kReservesNothing
                        : result != 0           ? Reason::kQuotaRefusedIt
                                                : Reason::kReservedLess;
  note_setting(plan.path, kReserveSetting, value, got.c_str(),
               applied ? Verdict::kApplied : Verdict::kWithoutEffect, {reason});
}

void note_advice(const PosixAdvice& plan, const char* value) noexcept {
  const bool taken = plan.advised > 0 && plan.failed == 0;
  const Reason reason = taken             ? Reason::kAdviceUnreported
                        : plan.failed > 0 ? Reason::kFileSystemRefusedIt
                                          : Reason::kNoDescriptor;
  note_setting(plan.path, kAdviceSetting, value, "",
               taken ? Verdict::kUnverifiable : Verdict::kWithoutEffect, {reason});
}

}  // namespace

bool is_posix_advice(const char* name) noexcept {
  const Parameter* const parameter = find_parameter(name);
  return parameter != nullptr && parameter->layer == ParameterLayer::kPosix;
}

bool arm_posix_advice(const char* path, bool anew, const Decision& decision,
                      const SettingList& wanted, PosixAdvice& plan) noexcept {
  const char* const advice = find_setting(wanted, kAdviceSetting);
  const char* const reserve = find_setting(wanted, kReserveSetting);
  if (advice == nullptr && reserve == nullptr) return false;
  std::memset(&plan, 0, sizeof plan);
  plan.path = path;
  plan.advice = advice_of(advice);
  plan.reserve_bytes = reserve == nullptr ? 0 : parse_decimal(reserve);
  plan.anew = anew;
  plan.similar_only = decision.source == IOTUNE_SOURCE_SIMILAR;
  plan.last_fd = -1;
  t_advice = &plan;
  return true;
}

void disarm_posix_advice() noexcept {
  t_advice = nullptr;
}

void after_open(const char* path, int fd) noexcept {
  PosixAdvice* const plan = t_advice;
  if (plan == nullptr || std::strcmp(path, plan->path) != 0) return;
  plan->last_fd = fd;
  if (plan->advice < 0) return;
  const bool taken = raw::call(SYS_fadvise64, fd, 0, 0, plan->advice) == 0;
  ++(taken ? plan->advised : plan->failed);
}

void reserve_and_note(const PosixAdvice& plan, const SettingList& wanted) noexcept {
  if (const char* const value = find_setting(wanted, kAdviceSetting)) note_advice(plan, value);
  if (const char* const value = find_setting(wanted, kReserveSetting)) {
    reserve_and_note_one(plan, value);
  }
}

}  // namespace iotune::tuner
