#include "prefetch/slices/pending_writes.h"

namespace iotune::prefetch {

// Writes of both sides are alike as a rule; of others a rest in the middle stays whole.
void PendingWrites::settle(Ring& entries, Write& from) noexcept {
  for (Write& entry : entries.writes) {
    if (entry.begin == entry.end || entry.file != from.file) continue;
    if (entry.begin >= from.end || from.begin >= entry.end) continue;
    const Write whole = from;
    if (entry.begin <= from.begin && entry.end >= from.end) {
      from.begin = from.end;
    } else if (entry.begin <= from.begin) {
      from.begin = entry.end;
    } else if (entry.end >= from.end) {
      from.end = entry.begin;
    }
    if (whole.begin <= entry.begin && whole.end >= entry.end) {
      entry.begin = entry.end;
    } else if (whole.begin <= entry.begin) {
      entry.begin = whole.end;
    } else if (whole.end >= entry.end) {
      entry.end = whole.begin;
    }
    if (from.begin == from.end) return;
  }
}

void PendingWrites::slice_wrote(const FileIdentity& file, const patterns::Extent& extent) noexcept {
  Write write{file, extent.offset, extent.offset + extent.length};
  settle(ahead_, write);
  if (write.begin != write.end) pending_.add(write);
}

void PendingWrites::program_wrote(const FileIdentity& file,
                                  const patterns::Extent& extent) noexcept {
  Write write{file, extent.offset, extent.offset + extent.length};
  settle(pending_, write);
  if (write.begin != write.end) ahead_.add(write);
}

bool PendingWrites::overlap(const FileIdentity& file,
                            const patterns::Extent& extent) const noexcept {
  for (const Write& entry : pending_.writes) {
    if (entry.begin != entry.end && entry.file == file &&
        entry.begin < extent.offset + extent.length && entry.end > extent.offset) {
      return true;
    }
  }
  return false;
}

}  // namespace iotune::prefetch
