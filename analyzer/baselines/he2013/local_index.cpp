#include "analyzer/baselines/he2013/local_index.h"

namespace iotune::he2013 {

std::size_t memory_bytes(const Unit& unit) noexcept {
  return 20 + 8 * unit.deltas.size();
}

std::size_t memory_bytes(std::span<const Unit> units) noexcept {
  std::size_t bytes = 0;
  for (const Unit& unit : units) bytes += memory_bytes(unit);
  return bytes;
}

std::size_t memory_bytes(const LocalEntry& entry) noexcept {
  return kLocalHeaderBytes + memory_bytes(entry.logical) + memory_bytes(entry.lengths) +
         memory_bytes(entry.physical);
}

LocalIndex::LocalIndex(std::uint32_t chunk_id, const LocalOptions& options)
    : chunk_id_(chunk_id), options_(options) {}

void LocalIndex::add(const patterns::Extent& access) {
  logical_.push_back(access.offset);
  length_.push_back(access.length);
  physical_.push_back(log_end_);
  log_end_ += access.length;
  if (logical_.size() >= options_.buffer_entries) flush();
}

void LocalIndex::flush() {
  std::size_t first = 0;
  for (Unit& unit : find_units(logical_, options_.window)) {
    const auto count = static_cast<std::size_t>(unit.count);
    if (unit.repeats > 1) {
      // The same accesses' lengths and physical offsets, searched on their own.
      const auto part = [&](const std::vector<std::int64_t>& column) {
        return find_units(std::span(column).subspan(first, count), options_.window);
      };
      patterns_.push_back({chunk_id_, std::move(unit), part(length_), part(physical_)});
      order_.push_back(true);
    } else {
      for (std::size_t k = first; k < first + count; ++k) {
        raw_.push_back({chunk_id_, logical_[k], length_[k], physical_[k]});
        order_.push_back(false);
      }
    }
    first += count;
  }
  logical_.clear();
  length_.clear();
  physical_.clear();
}

std::vector<RawEntry> LocalIndex::expand() const {
  std::vector<RawEntry> pieces;
  for_each([&](const LocalEntry& entry) { append_pieces(entry, pieces); },
           [&](const RawEntry& raw) { pieces.push_back(raw); });
  for (std::size_t k = 0; k < logical_.size(); ++k) {
    pieces.push_back({chunk_id_, logical_[k], length_[k], physical_[k]});
  }
  return pieces;
}

std::size_t LocalIndex::memory_bytes() const noexcept {
  std::size_t bytes = kRawEntryBytes * (raw_.size() + logical_.size());
  for (const LocalEntry& entry : patterns_) bytes += he2013::memory_bytes(entry);
  return bytes;
}

void append_pieces(const LocalEntry& entry, std::vector<RawEntry>& pieces) {
  const std::vector<std::int64_t> logical = expand(std::span(&entry.logical, 1));
  const std::vector<std::int64_t> lengths = expand(entry.lengths);
  const std::vector<std::int64_t> physical = expand(entry.physical);
  for (std::size_t k = 0; k < logical.size(); ++k) {
    pieces.push_back({entry.chunk_id, logical[k], lengths[k], physical[k]});
  }
}

}  // namespace iotune::he2013
