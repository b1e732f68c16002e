// Names of file systems, the same for the question at an open and for the platform of an
// observation. Uses no C++ run time: the preload includes it.
#pragma once

#include <stdint.h>

namespace iotune {

struct FilesystemMagic {
  uint32_t magic;  // statfs.f_type
  const char* name;
};

// ext2, ext3 and ext4 share one number.
inline constexpr FilesystemMagic kFilesystems[] = {
    {0xEF53, "ext4"},      {0x58465342, "xfs"},      {0x9123683E, "btrfs"},
    {0x01021994, "tmpfs"}, {0x858458F6, "ramfs"},    {0x794C7630, "overlay"},
    {0x6969, "nfs"},       {0x0BD00BD0, "lustre"},   {0x00C36400, "cephfs"},
    {0x47504653, "gpfs"},  {0x19830326, "beegfs"},   {0x65735546, "fuse"},
    {0x2FC12FC1, "zfs"},   {0xF2F52010, "f2fs"},     {0xFE534D42, "smb"},
    {0xFF534D42, "smb"},   {0x20030528, "orangefs"}, {0x01021997, "9p"},
    {0x013111A8, "weka"},  {0x7461636F, "ocfs2"},    {0x01161970, "gfs2"},
    {0x5346414F, "afs"},
};

// "unknown" where the number stands in no table.
constexpr const char* filesystem_name(uint64_t magic) {
  for (const FilesystemMagic& known : kFilesystems) {
    if (known.magic == (magic & 0xffffffffu)) return known.name;
  }
  return "unknown";
}

}  // namespace iotune
