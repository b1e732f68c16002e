#include "tuner/placement.h"

#include <fcntl.h>

#include <cstring>

#include "patterndb/parameters.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/short_text.h"
#include "tuner/outcome_notes.h"
#include "tuner/real_directory.h"

namespace iotune::tuner {
namespace {

using recorder::ShortText;

__thread Placement* t_placement __attribute__((tls_model("initial-exec"))) = nullptr;

std::uint64_t number_of(const Decision& decision, const char* name) noexcept {
  const char* const value = find_setting(decision, name);
  return value == nullptr ? 0 : recorder::parse_decimal(value);
}

}  // namespace

bool is_there(const char* path) noexcept {
  constexpr long kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW: a dangling link counts as there
  alignas(8) char status[256];
  return recorder::raw::call(SYS_newfstatat, recorder::raw::kAtFdcwd, recorder::raw::word(path),
                             recorder::raw::word(status), kNoFollow) == 0;
}

bool is_placement(const char* name) noexcept {
  const Parameter* const parameter = find_parameter(name);
  return parameter != nullptr && parameter->layer == ParameterLayer::kFileSystem;
}

bool arm_placement(const char* path, bool creating, const Decision& wanted,
                   Placement& placement) noexcept {
  const FileLayout layout{number_of(wanted, "striping_factor"), number_of(wanted, "striping_unit")};
  if (layout.stripe_count == 0 && layout.stripe_bytes == 0) return false;
  std::memset(&placement, 0, sizeof placement);
  placement.path = path;
  placement.wanted = layout;
  placement.creating = creating;
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
      std::strcmp(path, placement->path) != 0 || is_there(path)) {
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
  if (fd >= 0) placement->refused = set_layout(placement->kind, fd, placement->wanted);
}

void note_placement(const Placement& placement, const Decision& wanted) noexcept {
  FileLayout layout{};
  const bool readable = read_layout(placement.kind, placement.path, layout);
  for (int i = 0; i < wanted.count; ++i) {
    const Setting& setting = wanted.settings[i];
    if (!is_placement(setting.name)) continue;
    ShortText<128> got;
    if (readable) {
      got << (std::strcmp(setting.name, "striping_factor") == 0 ? layout.stripe_count
                                                                : layout.stripe_bytes);
    }
    Verdict verdict = Verdict::kApplied;
    const char* reason = "";
    if (placement.kind == LayoutKind::kNone) {
      verdict = Verdict::kWithoutEffect;
      reason = "no striping of files is known of this file system";
    } else if (!placement.creating || placement.existed) {
      verdict = Verdict::kRefused;
      reason = "the file exists: its layout is fixed";
    } else if (placement.own_layout) {
      verdict = Verdict::kRefused;
      reason = "the directory has a layout of its own for new files";
    } else if (!readable) {
      verdict = Verdict::kUnverifiable;
      reason = "the file's layout cannot be read";
    } else if (std::strcmp(got.c_str(), setting.value) != 0) {
      verdict = Verdict::kWithoutEffect;
      reason = placement.refused != nullptr ? placement.refused : "the file got another layout";
    }
    note_setting(placement.path, setting.name, setting.value, got.c_str(), verdict, reason);
  }
}

}  // namespace iotune::tuner
