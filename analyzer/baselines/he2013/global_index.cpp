#include "analyzer/baselines/he2013/global_index.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analyzer/baselines/he2013/grid.h"

namespace iotune::he2013 {
namespace {

// An entry that is still growing: its ids as a plain list.
struct Growing {
  LocalEntry first;
  std::optional<Grid> grid;
  std::vector<std::int64_t> ids;
  std::unordered_map<std::uint32_t, std::uint64_t> times;  // that an id stands in the list
};

// The authors' code compares neither lengths nor physical offsets, so that what it joins may name
// wrong places: both are compared here.
bool joins(const Growing& into, const LocalEntry& next) {
  const std::optional<Grid> grid = grid_of(next.logical, next.lengths, next.physical);
  if (!into.grid || !grid) return false;
  if (grid->stride != into.grid->stride || grid->length != into.grid->length ||
      grid->rows != into.grid->rows || grid->start != into.grid->logical_of(into.ids.size())) {
    return false;
  }
  const auto known = into.times.find(next.chunk_id);
  return grid->physical_start ==
         into.grid->physical_of(known == into.times.end() ? 0 : known->second);
}

GlobalEntry finished(const Growing& of, unsigned window) {
  return {find_units(of.ids, window), of.ids.size(), of.first.logical, of.first.lengths,
          of.first.physical};
}

LocalEntry as_pattern(const RawEntry& raw) {
  return {
      raw.chunk_id, {raw.logical, {}, 0, 1}, {{raw.length, {}, 0, 1}}, {{raw.physical, {}, 0, 1}}};
}

std::size_t units_bytes(const GlobalEntry& entry) noexcept {
  return memory_bytes(entry.logical) + memory_bytes(entry.lengths) + memory_bytes(entry.physical);
}

}  // namespace

std::optional<Grid> grid_of(const Unit& logical, std::span<const Unit> lengths,
                            std::span<const Unit> physical) noexcept {
  if (lengths.size() != 1 || physical.size() != 1) return std::nullopt;
  const Unit& length = lengths.front();
  const std::int64_t bytes = length.start;
  if (bytes <= 0) return std::nullopt;
  // One write a process is a row of its own: without this reading the papers' one contiguous
  // portion a process (MILC B) would not be compressed at all.
  std::int64_t stride = bytes;
  if (logical.count > 1) {
    if (logical.deltas.size() != 1 || length.deltas != std::vector<std::int64_t>{0} ||
        physical.front().deltas != std::vector<std::int64_t>{bytes}) {
      return std::nullopt;
    }
    stride = logical.deltas.front();
  }
  const auto rows = static_cast<std::int64_t>(logical.count);
  std::int64_t whole = 0;
  if (stride <= 0 || stride % bytes != 0 || __builtin_mul_overflow(stride, rows, &whole)) {
    return std::nullopt;
  }
  return Grid{logical.start, stride, bytes, rows, stride / bytes, physical.front().start};
}

std::size_t memory_bytes(const GlobalEntry& entry) noexcept {
  return kGlobalHeaderBytes + units_bytes(entry) +
         kChunkIdBytes * static_cast<std::size_t>(entry.id_count);
}

std::size_t memory_bytes_ids_compressed(const GlobalEntry& entry) noexcept {
  return kGlobalHeaderBytes + units_bytes(entry) + memory_bytes(entry.ids);
}

GlobalIndex::GlobalIndex(std::span<const LocalIndex> locals, unsigned window) {
  std::vector<LocalEntry> entries;
  for (const LocalIndex& local : locals) {
    entries.insert(entries.end(), local.patterns().begin(), local.patterns().end());
    for (const RawEntry& raw : local.raw()) entries.push_back(as_pattern(raw));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const LocalEntry& a, const LocalEntry& b) {
    return a.logical.start < b.logical.start;
  });
  std::vector<Growing> grown;
  for (LocalEntry& entry : entries) {
    if (grown.empty() || !joins(grown.back(), entry)) {
      const std::optional<Grid> grid = grid_of(entry.logical, entry.lengths, entry.physical);
      grown.push_back({std::move(entry), grid, {}, {}});
      grown.back().ids.push_back(grown.back().first.chunk_id);
      ++grown.back().times[grown.back().first.chunk_id];
    } else {
      grown.back().ids.push_back(entry.chunk_id);
      ++grown.back().times[entry.chunk_id];
    }
  }
  for (const Growing& of : grown) {
    if (of.ids.size() == 1 && of.first.logical.count == 1) {
      raw_.push_back({of.first.chunk_id, of.first.logical.start, of.first.lengths.front().start,
                      of.first.physical.front().start});
    } else {
      patterns_.push_back(finished(of, window));
    }
  }
  make_ranges();
}

std::vector<RawEntry> GlobalIndex::expand() const {
  std::vector<RawEntry> pieces(raw_.begin(), raw_.end());
  for (const GlobalEntry& entry : patterns_) {
    const std::vector<std::int64_t> ids = he2013::expand(entry.ids);
    LocalEntry local{0, entry.logical, entry.lengths, entry.physical};
    const std::optional<Grid> grid = grid_of(entry.logical, entry.lengths, entry.physical);
    std::unordered_map<std::int64_t, std::uint64_t> times;
    for (std::size_t p = 0; p < ids.size(); ++p) {
      local.chunk_id = static_cast<std::uint32_t>(ids[p]);
      if (grid) {
        local.logical.start = grid->logical_of(p);
        local.physical.front().start = grid->physical_of(times[ids[p]]++);
      }
      append_pieces(local, pieces);
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const RawEntry& a, const RawEntry& b) {
    return std::tie(a.chunk_id, a.physical) < std::tie(b.chunk_id, b.physical);
  });
  return pieces;
}

std::size_t GlobalIndex::memory_bytes() const noexcept {
  std::size_t bytes = kRawEntryBytes * raw_.size();
  for (const GlobalEntry& entry : patterns_) bytes += he2013::memory_bytes(entry);
  return bytes;
}

std::size_t GlobalIndex::memory_bytes_ids_compressed() const noexcept {
  std::size_t bytes = kRawEntryBytes * raw_.size();
  for (const GlobalEntry& entry : patterns_) bytes += he2013::memory_bytes_ids_compressed(entry);
  return bytes;
}

}  // namespace iotune::he2013
