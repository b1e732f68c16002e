#include "tuner/posix/placement.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "patterndb/settings/parameters.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/posix/real_directory.h"

namespace iotune::tuner {
namespace {

__thread Placement* t_placement __attribute__((tls_model("initial-exec"))) = nullptr;

std::uint64_t number_of(const SettingList& list, const char* name) noexcept {
  const char* const value = find_setting(list, name);
  return value == nullptr ? 0 : parse_decimal(value);
}

bool is_empty_file(const char* path) noexcept {
  struct stat status {};
  return raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(path), raw::word(&status), 0) == 0 &&
         S_ISREG(status.st_mode) && status.st_size == 0;
}

// Another rank has made it this moment, perhaps, and has not set its layout yet: to open it without
// the delay would give it the default's. Who sets a layout first is right, for Lustre never
// replaces one.
bool is_being_made(const Placement& placement) noexcept {
  return placement.by_each_rank && placement.kind == LayoutKind::kLustre &&
         is_empty_file(placement.path);
}

// Of ranks that open a file at the same time the one that makes it says what became of it.
bool is_of_another_rank(const Placement& placement, const FileLayout& layout) noexcept {
  if (!placement.by_each_rank || !placement.creating || placement.made) return false;
  if (placement.kind == LayoutKind::kNone || placement.own_layout) return false;
  const FileLayout& wanted = placement.wanted;
  const bool as_wanted = (wanted.stripe_count == 0 || wanted.stripe_count == layout.stripe_count) &&
                         (wanted.stripe_bytes == 0 || wanted.stripe_bytes == layout.stripe_bytes);
  return !placement.existed || as_wanted || is_empty_file(placement.path);
}

}  // namespace

bool is_there(const char* path) noexcept {
  constexpr long kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW: a dangling link counts as there
  alignas(8) char status[256];
  return raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(path), raw::word(status), kNoFollow) ==
         0;
}

bool is_placement(const char* name) noexcept {
  const Parameter* const parameter = find_parameter(name);
  return parameter != nullptr && parameter->layer == ParameterLayer::kFileSystem;
}

bool arm_placement(const char* path, bool creating, bool by_each_rank, const SettingList& wanted,
                   Placement& placement) noexcept {
  const char* const over = find_setting(wanted, "overstriping");
  const FileLayout layout{number_of(wanted, "striping_factor"), number_of(wanted, "striping_unit"),
                          over != nullptr && std::strcmp(over, "enable") == 0};
  if (layout.stripe_count == 0 && layout.stripe_bytes == 0) return false;
  std::memset(&placement, 0, sizeof placement);
  placement.path = path;
  placement.wanted = layout;
  placement.creating = creating;
  placement.by_each_rank = by_each_rank;
  placement.existed = is_there(path);
  // Without links: what lies above the name of one has no say in the file's layout.
  ShortText<4096> directory;
  if (real_directory_of(path, directory)) {
    placement.kind = layout_kind_of(directory.c_str());
    placement.own_layout = directory_has_layout(placement.kind, directory.c_str());
  }
  if (creating) t_placement = &placement;
  return true;
}

void disarm_placement() noexcept {
  t_placement = nullptr;
}

int before_create(const char* path, int flags) noexcept {
  Placement* const placement = t_placement;
  if (placement == nullptr || placement->kind == LayoutKind::kNone || placement->own_layout ||
      std::strcmp(path, placement->path) != 0 || (is_there(path) && !is_being_made(*placement))) {
    return flags;
  }
  // An MPI-IO that sets the layout itself asks for the delay itself.
  if ((flags & kDelayLayout) == kDelayLayout) return flags;
  placement->making = true;
  return placement->kind == LayoutKind::kLustre ? flags | kDelayLayout : flags;
}

void after_create(int fd) noexcept {
  Placement* const placement = t_placement;
  if (placement == nullptr || !placement->making) return;
  placement->making = false;
  placement->made = fd >= 0;
  if (fd >= 0) placement->refused = set_layout(placement->kind, fd, placement->wanted);
}

void note_placement(const Placement& placement, const SettingList& wanted) noexcept {
  FileLayout layout{};
  const bool readable = read_layout(placement.kind, placement.path, layout);
  if (is_of_another_rank(placement, layout)) return;
  for (int i = 0; i < wanted.count; ++i) {
    const Setting& setting = wanted.settings[i];
    if (!is_placement(setting.name)) continue;
    ShortText<128> got;
    if (readable && std::strcmp(setting.name, "overstriping") == 0) {
      got << (layout.overstriped ? "enable" : "disable");
    } else if (readable) {
      got << (std::strcmp(setting.name, "striping_factor") == 0 ? layout.stripe_count
                                                                : layout.stripe_bytes);
    }
    Verdict verdict = Verdict::kApplied;
    Reason reason = Reason::kNone;
    if (placement.kind == LayoutKind::kNone) {
      verdict = Verdict::kWithoutEffect;
      reason = Reason::kNoStriping;
    } else if (!placement.creating || (placement.existed && !placement.made)) {
      verdict = Verdict::kRefused;
      reason = Reason::kLayoutIsFixed;
    } else if (placement.own_layout) {
      verdict = Verdict::kRefused;
      reason = Reason::kDirectoryHasALayout;
    } else if (!readable) {
      verdict = Verdict::kUnverifiable;
      reason = Reason::kLayoutUnreadable;
    } else if (std::strcmp(got.c_str(), setting.value) != 0) {
      verdict = Verdict::kWithoutEffect;
      reason = placement.refused != Reason::kNone ? placement.refused : Reason::kOtherLayout;
    }
    note_setting(placement.path, setting.name, setting.value, got.c_str(), verdict, {reason});
  }
}

}  // namespace iotune::tuner
