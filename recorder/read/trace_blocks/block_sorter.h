// Sorts the blocks of a file into the sections of their processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/read/trace_blocks/block_scan.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::recorder {

// Empty where the file has not as many.
std::vector<std::byte> read_bytes(const InputFile& file, std::uint64_t offset, std::size_t size);

// Thread, epoch, calls and base of an EVENTS payload; false on damage.
bool read_epoch(std::span<const std::byte> payload, EventsPlace& place);

class BlockSorter {
 public:
  // Blocks before the first PROCESS belong to the index's last process, if it has one.
  explicit BlockSorter(TraceIndex& index);

  // `source`: the index's file that was scanned.
  void add(const BlockScan& scan, std::uint32_t source = 0);
  // Says what could not be sorted.
  void finish();

 private:
  // `shared`: it is a rank's part of what ranks share.
  void add_process(const std::vector<std::byte>& payload, bool shared);
  // What ranks share goes to each of them.
  void add_shared(const BlockPlace& block);
  ProcessSection& section_of_rank(std::int64_t rank);
  ProcessSection& section_of(const BlockPlace& block);
  void add_events(const BlockPlace& block);
  void add_marks(const BlockPlace& block);

  static constexpr std::size_t kNobody = SIZE_MAX;
  TraceIndex& index_;
  std::uint32_t source_ = 0;
  std::size_t current_, orphan_ = kNobody;
  std::uint64_t unknown_types_ = 0, unreadable_ = 0;
  std::unordered_map<std::string, std::size_t> by_identity_;
  std::unordered_map<std::int64_t, std::size_t> by_rank_;
};

}  // namespace iotune::recorder
