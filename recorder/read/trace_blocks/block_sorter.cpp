#include "recorder/read/trace_blocks/block_sorter.h"

#include <array>
#include <optional>
#include <span>

#include "patterns/bytes.h"
#include "recorder/read/trace_blocks/block_text.h"
#include "recorder/read/trace_blocks/marks_decoder.h"

namespace iotune::recorder {
namespace {

void add_end(ProcessSection& section, const std::vector<std::byte>& payload) {
  read_block_text(payload, section.end);
  section.dropped = unsigned_of(section.end, "dropped");
}

}  // namespace

std::vector<std::byte> read_bytes(const InputFile& file, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (file.read(offset, bytes) != size) bytes.clear();
  return bytes;
}

bool read_epoch(std::span<const std::byte> payload, EventsPlace& place) {
  patterns::ByteReader reader(payload);
  place.thread = reader.varint();
  place.epoch = reader.varint();
  place.calls = reader.varint();
  place.base_ns = reader.varint();
  return !reader.failed();
}

BlockSorter::BlockSorter(TraceIndex& index)
    : index_(index), current_(index.processes.empty() ? kNobody : index.processes.size() - 1) {
  for (std::size_t i = 0; i < index.processes.size(); ++i) {
    by_identity_.try_emplace(index.processes[i].identity(), i);
  }
}

void BlockSorter::add(const BlockScan& scan, std::uint32_t source) {
  source_ = source;
  const InputFile& file = index_.source(source);
  // Who the ranks were is known first.
  std::vector<const BlockPlace*> of_ranks;
  for (const BlockPlace& block : scan.blocks) {
    if (static_cast<BlockType>(block.type) != BlockType::kShared) continue;
    std::array<std::byte, 1> type{};
    file.read(block.offset, type);
    if (static_cast<BlockType>(type[0]) == BlockType::kProcess) {
      add_shared(block);
    } else {
      of_ranks.push_back(&block);
    }
  }
  for (const BlockPlace* block : of_ranks) {
    add_shared(*block);
  }
  for (const BlockPlace& block : scan.blocks) {
    switch (static_cast<BlockType>(block.type)) {
      case BlockType::kProcess:
        add_process(read_bytes(file, block.offset, block.bytes), false);
        break;
      case BlockType::kEvents:
        add_events(block);
        break;
      case BlockType::kEnd:
        section_of(block).only_shared = false;
        add_end(section_of(block), read_bytes(file, block.offset, block.bytes));
        break;
      case BlockType::kMarks:
        add_marks(block);
        break;
      case BlockType::kShared:
        break;
      default:
        ++unknown_types_;
    }
  }
  if (scan.skipped_bytes > 0) {
    index_.warnings.push_back("damaged: passed over " + std::to_string(scan.skipped_bytes) +
                              " bytes from offset " + std::to_string(scan.first_skipped) + " on");
  }
}

void BlockSorter::finish() {
  if (unknown_types_ > 0) {
    index_.warnings.push_back(std::to_string(unknown_types_) +
                              " blocks are of a type that this iotune does not know");
  }
  if (unreadable_ > 0) {
    index_.warnings.push_back(std::to_string(unreadable_) + " blocks could not be read");
  }
}

void BlockSorter::add_process(const std::vector<std::byte>& payload, bool shared) {
  Attributes attributes;
  read_block_text(payload, attributes);
  ProcessSection probe;
  probe.attributes = attributes;
  probe.only_shared = shared;
  const std::string identity = probe.identity();
  auto& processes = index_.processes;
  std::size_t found = processes.size();
  if (!identity.empty()) {
    found = by_identity_.try_emplace(identity, processes.size()).first->second;
  } else if (current_ != kNobody) {
    found = current_;
  }
  current_ = found;
  if (found == processes.size()) {
    processes.push_back(std::move(probe));
    return;
  }
  processes[found].only_shared = processes[found].only_shared && shared;
  for (auto& [key, value] : attributes) processes[found].attributes[key] = std::move(value);
}

void BlockSorter::add_shared(const BlockPlace& block) {
  std::optional<SharedRanks> read =
      SharedRanks::read(read_bytes(index_.source(source_), block.offset, block.bytes));
  if (!read) {
    ++unreadable_;
    return;
  }
  const std::size_t before = current_;
  const auto number = static_cast<std::uint32_t>(index_.shared.size());
  index_.shared.push_back(std::move(*read));
  index_.shared_places.push_back({block.offset, block.bytes});
  const SharedRanks& shared = index_.shared.back();
  for (std::size_t k = 0; k < shared.size(); ++k) {
    switch (shared.type()) {
      case BlockType::kProcess: {
        const auto known = by_rank_.find(shared.rank(k));
        current_ = known == by_rank_.end() ? kNobody : known->second;
        add_process(shared.payload(k), true);
        by_rank_[shared.rank(k)] = current_;
        break;
      }
      case BlockType::kEvents: {
        EventsPlace place{};
        place.thread = shared.token(0, k);
        place.epoch = shared.token(1, k);
        place.calls = shared.token(2, k);
        place.base_ns = shared.base_ns();
        place.shared = number;
        place.member = static_cast<std::uint32_t>(k);
        section_of_rank(shared.rank(k)).add(std::move(place));
        break;
      }
      case BlockType::kEnd:
        add_end(section_of_rank(shared.rank(k)), shared.payload(k));
        break;
      default:
        ++unknown_types_;
        break;
    }
  }
  current_ = before;
}

ProcessSection& BlockSorter::section_of_rank(std::int64_t rank) {
  const auto [found, missing] = by_rank_.try_emplace(rank, index_.processes.size());
  if (missing) {
    index_.processes.emplace_back();
    index_.processes.back().attributes["rank"] = std::to_string(rank);
    index_.processes.back().only_shared = true;
    index_.processes.back().damage.push_back(
        "the block that says which process this rank was "
        "is lost");
  }
  return index_.processes[found->second];
}

ProcessSection& BlockSorter::section_of(const BlockPlace& block) {
  if (block.orphan || current_ == kNobody) {
    if (orphan_ == kNobody) {
      index_.processes.emplace_back();
      index_.processes.back().damage.push_back("the block that says whose calls these are is lost");
      orphan_ = index_.processes.size() - 1;
    }
    return index_.processes[orphan_];
  }
  return index_.processes[current_];
}

void BlockSorter::add_events(const BlockPlace& block) {
  EventsPlace place{};
  std::array<std::byte, 4 * patterns::kMaxVarintBytes> head{};
  const std::size_t got = index_.source(source_).read(
      block.offset, std::span(head).first(std::min<std::size_t>(head.size(), block.bytes)));
  if (!read_epoch(std::span(head).first(got), place)) {
    ++unreadable_;
    return;
  }
  place.source = source_;
  place.offset = block.offset;
  place.bytes = block.bytes;
  section_of(block).add(std::move(place));
}

// Marks of a batch that was lost, or stands there with more calls, say nothing.
void BlockSorter::add_marks(const BlockPlace& block) {
  std::array<std::byte, 3 * patterns::kMaxVarintBytes> head{};
  const std::size_t got = index_.source(source_).read(
      block.offset, std::span(head).first(std::min<std::size_t>(head.size(), block.bytes)));
  const std::optional<MarksHead> of = read_marks_head(std::span(head).first(got));
  if (!of) {
    ++unreadable_;
    return;
  }
  EventsPlace* const place = section_of(block).find(of->thread, of->epoch, of->calls);
  if (place == nullptr) return;
  place->marks_source = source_;
  place->marks_offset = block.offset;
  place->marks_bytes = block.bytes;
}

}  // namespace iotune::recorder
