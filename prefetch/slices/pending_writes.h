// What a slice has "written" and the program has not yet: who reads it ahead would read too early.
// Writes are matched in either order, because the program may be ahead of its slice. Not
// thread-safe.
#pragma once

#include <cstdint>

#include "patterns/extent.h"

namespace iotune::prefetch {

struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

class PendingWrites {
 public:
  void slice_wrote(const FileIdentity& file, const patterns::Extent& extent) noexcept;
  void program_wrote(const FileIdentity& file, const patterns::Extent& extent) noexcept;
  bool overlap(const FileIdentity& file, const patterns::Extent& extent) const noexcept;
  void clear() noexcept { *this = {}; }

 private:
  struct Write {
    FileIdentity file;
    std::int64_t begin = 0, end = 0;  // equal: the entry is free
  };
  // The oldest make place: a write so long ago was made, or never will be.
  static constexpr unsigned kMost = 128;
  struct Ring {
    Write writes[kMost];
    unsigned next = 0;
    void add(const Write& write) noexcept {
      writes[next] = write;
      next = (next + 1) % kMost;
    }
  };
  // Takes off `from` what `entries` have of it; both become less.
  static void settle(Ring& entries, Write& from) noexcept;

  Ring pending_, ahead_;
};

}  // namespace iotune::prefetch
