#include "gather/largest_piece.h"

#include <sys/vfs.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "gather/journal/journal.h"
#include "patterndb/settings/filesystems.h"

namespace iotune::gather {

std::int64_t largest_lone_piece_bytes(const char* name) noexcept {
  constexpr std::int64_t kLocal = 1 << 10U;
  static constexpr const char* kLocalSystems[] = {"ext4",  "xfs",     "btrfs", "tmpfs",
                                                  "ramfs", "overlay", "zfs",   "f2fs"};
  struct statfs status {};
  if (statfs(Journal::path_of(name), &status) != 0) return kLargestPieceBytes;
  const char* const system = filesystem_name(static_cast<std::uint32_t>(status.f_type));
  const bool is_local =
      std::any_of(std::begin(kLocalSystems), std::end(kLocalSystems),
                  [&](const char* local) { return std::strcmp(system, local) == 0; });
  return is_local ? kLocal : kLargestPieceBytes;
}

}  // namespace iotune::gather
