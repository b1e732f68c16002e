// All writes of a container, one by one: the map that PLFS writes, for figures and for replays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logstore/read/container.h"
#include "logstore/read/writer_entries.h"

namespace iotune::logstore {

// A write, or, of what was compacted, a piece of one.
struct MapRow {
  std::uint32_t writer;   // of the container's map
  std::int64_t offset;    // in the file
  std::int64_t length;    // bytes
  std::int64_t physical;  // in the writer's log
  std::int64_t time_ns;   // since 1970; 0 where it is not known
};

// The writes of one writer, in the order in which it made them.
class WriterWalk {
 public:
  explicit WriterWalk(WriterEntries entries);
  // False at the end. Writer and time are not set.
  bool next(MapRow& row, std::int64_t& position);

 private:
  struct Place {
    std::size_t nest;
    std::vector<std::int64_t> iterations;  // of each level
  };
  void push(std::size_t nest);

  std::vector<analyzer::Nest> nests_;  // by position
  std::size_t unopened_ = 0;
  std::multimap<std::int64_t, Place> open_;  // by the position of the next access
};

// Writers by their names in byte order. What was compacted comes first, without times and in the
// order of the file, unless the writer's own index is still there. Holes are left out.
class MapWalk {
 public:
  // The container must outlive it.
  explicit MapWalk(const Container& container);

  // Appends at most `most` rows; fewer only at the end.
  std::optional<Error> next(std::size_t most, std::vector<MapRow>& rows);
  // Are the times of all writes known?
  bool has_times() const noexcept { return !any_covered_; }

 private:
  bool next_piece(MapRow& row);
  std::optional<Error> open_writer();

  const Container& container_;
  std::vector<bool> from_map_;  // by writer: its own index is gone
  bool any_covered_ = false;
  std::int64_t offset_ = 0;
  std::uint32_t writer_ = 0;
  std::optional<WriterWalk> walk_;
  analyzer::StreamTimes times_;
};

// The rows as lines: writer,rank,offset,length,time_ns,physical. No rank is known; without
// `has_times` there is no such column.
std::string map_head(bool has_times);
void append_map_line(const MapRow& row, const std::string& writer, bool has_times, std::string& to);

}  // namespace iotune::logstore
