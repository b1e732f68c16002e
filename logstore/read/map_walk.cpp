#include "logstore/read/map_walk.h"

#include <algorithm>
#include <charconv>

#include "logstore/format.h"

namespace iotune::logstore {

WriterWalk::WriterWalk(WriterEntries entries) : nests_(std::move(entries.nests)) {
  std::ranges::sort(nests_, {}, &analyzer::Nest::position);
}

void WriterWalk::push(std::size_t nest) {
  const std::vector<std::int64_t> first(nests_[nest].levels.size());
  open_.emplace(nests_[nest].position, Place{nest, first});
}

bool WriterWalk::next(MapRow& row, std::int64_t& position) {
  while (unopened_ < nests_.size() &&
         (open_.empty() || nests_[unopened_].position <= open_.begin()->first)) {
    push(unopened_++);
  }
  if (open_.empty()) return false;
  auto first = open_.extract(open_.begin());
  Place& place = first.mapped();
  const analyzer::Nest& nest = nests_[place.nest];
  position = first.key();
  row.offset = nest.start;
  row.length = nest.length;
  row.physical = nest.physical;
  for (std::size_t k = 0; k < nest.levels.size(); ++k) {
    row.offset += nest.levels[k].stride * place.iterations[k];
    row.physical += nest.levels[k].physical_step * place.iterations[k];
  }
  for (std::size_t k = nest.levels.size(); k-- > 0;) {
    const analyzer::NestLevel& level = nest.levels[k];
    if (++place.iterations[k] < level.count) {
      first.key() += level.position_step;
      open_.insert(std::move(first));
      break;
    }
    first.key() -= level.position_step * (level.count - 1);
    place.iterations[k] = 0;
  }
  return true;
}

MapWalk::MapWalk(const Container& container) : container_(container) {
  for (const WriterReport& report : container.reports()) {
    const std::string name = report.name + kIndexEnding;
    const bool gone =
        report.is_covered && identity_of(container.directory(), name.c_str()).inode == 0;
    from_map_.push_back(gone);
    any_covered_ = any_covered_ || (gone && report.entries > 0);
  }
}

bool MapWalk::next_piece(MapRow& row) {
  const LogMap& map = container_.map();
  while (any_covered_ && offset_ < map.size()) {
    const analyzer::IndexPiece piece = map.index().at(offset_);
    const std::int64_t length = std::min(piece.length, map.size() - offset_);
    const std::int64_t offset = offset_;
    offset_ += length;
    if (piece.is_hole() || piece.physical >= kLargestFile || !from_map_[piece.stream]) continue;
    row = {piece.stream, offset, length, piece.physical, 0};
    return true;
  }
  return false;
}

std::optional<Error> MapWalk::open_writer() {
  const WriterReport& report = container_.reports()[writer_];
  walk_.emplace(WriterEntries{});
  times_ = {};
  if (from_map_[writer_] || !report.has_index) return std::nullopt;
  const std::string name = report.name + kIndexEnding;
  const auto file = open_regular(container_.directory(), name);
  if (!file) return file.error();
  const ReadLimits limits;
  if (static_cast<std::uint64_t>(file->size) > limits.index_bytes) {
    return Error{name, "is larger than the limit allows"};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file->size));
  const ssize_t size = read_at(file->descriptor.get(), bytes, 0);
  if (size < 0) return file_error(name, "cannot be read");
  bytes.resize(static_cast<std::size_t>(size));
  WriterReport again;
  again.name = report.name;
  again.log_bytes = report.log_bytes;
  WriterEntries entries;
  const WriterBytes writer{report.name, bytes, report.log_bytes, 0, {}};
  if (auto wrong = read_writer(container_.description().container_id, writer, limits.entries,
                               limits, entries, again)) {
    return wrong;
  }
  times_ = analyzer::StreamTimes(
      std::map<std::uint32_t, std::vector<analyzer::TimeKnot>>{{0, entries.knots}});
  walk_.emplace(std::move(entries));
  return std::nullopt;
}

std::optional<Error> MapWalk::next(std::size_t most, std::vector<MapRow>& rows) {
  MapRow row{};
  for (std::size_t taken = 0; taken < most;) {
    if (next_piece(row)) {
      rows.push_back(row);
      ++taken;
      continue;
    }
    if (writer_ == from_map_.size()) break;
    if (!walk_) {
      if (auto wrong = open_writer()) {
        wrong->path = container_.path() + "/" + wrong->path;
        return wrong;
      }
    }
    std::int64_t position = 0;
    if (walk_->next(row, position)) {
      row.writer = writer_;
      row.time_ns = times_.at(0, position);
      rows.push_back(row);
      ++taken;
    } else {
      walk_.reset();
      ++writer_;
    }
  }
  return std::nullopt;
}

std::string map_head(bool has_times) {
  return has_times ? "writer,rank,offset,length,time_ns,physical\n"
                   : "writer,rank,offset,length,physical\n";
}

void append_map_line(const MapRow& row, const std::string& writer, bool has_times,
                     std::string& to) {
  char text[128];
  char* at = text;
  const auto number = [&](std::int64_t value, char before) {
    *at++ = before;
    at = std::to_chars(at, text + sizeof text, value).ptr;
  };
  *at++ = ',';
  number(row.offset, ',');
  number(row.length, ',');
  if (has_times) number(row.time_ns, ',');
  number(row.physical, ',');
  *at++ = '\n';
  to += writer;
  to.append(text, at);
}

}  // namespace iotune::logstore
