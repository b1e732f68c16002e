#include "analyzer/calls/file_uses.h"

#include <algorithm>

#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {

FileUses::Use& FileUses::use_within(FileRecord& file, std::uint64_t first_ns,
                                    std::uint64_t last_ns) {
  Use& use = uses_[&file];
  use.first_ns = std::min(use.first_ns, first_ns);
  use.last_ns = std::max(use.last_ns, last_ns);
  return use;
}

void FileUses::spend(FileRecord& file, const recorder::Call& call, const CallFacts& facts) {
  // What runs the program's own code has that code's calls inside of its time.
  if (call.layers() != 0 || facts.runs_program) return;
  Use& use = use_within(file, call.start_ns, call.end_ns());
  use.nanoseconds += call.duration_ns;
  use.open = !facts.closes_file;
}

void FileUses::spend(FileRecord& file, const recorder::StreamTotals& totals,
                     std::uint64_t nanoseconds) {
  Use& use = use_within(file, totals.first_start_ns, totals.last_end_ns);
  use.nanoseconds += nanoseconds;
  use.open = true;
}

void FileUses::moved(FileRecord& file, Layer layer, bool write, std::uint64_t bytes) {
  if (bytes == 0) return;
  Use& use = uses_[&file];
  std::uint64_t& moved = (write ? use.written : use.read)[static_cast<std::size_t>(layer)];
  moved = saturating_sum(moved, bytes);
}

std::uint64_t FileUses::finish_member(std::uint64_t wall_ns, bool died) {
  std::uint64_t nanoseconds = 0;
  for (const auto& [file, use] : uses_) {
    nanoseconds += use.nanoseconds;
    file->slowest_nanoseconds = std::max(file->slowest_nanoseconds, use.nanoseconds);
    file->cut_short = file->cut_short || (died && use.open);
    if (use.first_ns != UINT64_MAX) {
      file->first_open_ns = std::min(file->first_open_ns, wall_ns + use.first_ns);
      file->last_end_ns = std::max(file->last_end_ns, wall_ns + use.last_ns);
    }
    for (std::size_t layer = 0; layer < 4; ++layer) {
      auto& all = file->layers[layer];
      all.written = saturating_sum(all.written, use.written[layer]);
      all.read = saturating_sum(all.read, use.read[layer]);
    }
  }
  return nanoseconds;
}

}  // namespace iotune::analyzer
