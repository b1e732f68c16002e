#include "logstore/read/writer_files.h"

#include <algorithm>

#include "logstore/format.h"

namespace iotune::logstore {

Result<std::vector<std::byte>> WriterFilesReader::read_index(const std::string& name) {
  auto index = open_regular(directory_, name);
  if (!index) return index.error();
  index_bytes_ += static_cast<std::uint64_t>(index->size);
  if (index_bytes_ > limits_.index_bytes) {
    return Error{name, "makes the indexes larger than the limit allows"};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(index->size));
  const ssize_t size = read_at(index->descriptor.get(), bytes, 0);
  if (size < 0) return file_error(name, "cannot be read");
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

Result<std::int64_t> WriterFilesReader::size_of(const std::string& name) const {
  const auto file = open_regular(directory_, name);
  if (!file) return file.error();
  return file->size;
}

std::optional<Error> WriterFilesReader::read_merged(std::uint64_t container_id,
                                                    CompactionTraces& traces) {
  if (names_.has_new_merged) traces.spare_files.emplace_back(kNewMergedName);
  if (!names_.has_merged) return std::nullopt;
  const auto bytes = read_index(kMergedName);
  if (!bytes) return bytes.error();
  traces.merged_bytes = bytes->size();
  auto read = read_merged_index(*bytes, container_id, limits_);
  if (!read) return read.error();
  traces.merged_damage = std::move(read->damage);
  merged_ = std::move(read->merged);
  return std::nullopt;
}

std::optional<Error> WriterFilesReader::read_covered(bool look_at_logs, CompactionTraces& traces) {
  if (!merged_) return std::nullopt;
  traces.generation = merged_->generation;
  traces.is_synced = merged_->is_synced;
  traces.covered = merged_->covered;
  covered_.emplace(CoveredBytes{*merged_, {}});
  for (std::size_t i = 0; i < merged_->covered.size(); ++i) {
    const CoveredWriter& covered = merged_->covered[i];
    const std::string name = merged_->parts.names[i];
    const ContainerNames::Writer files = names_.writers[name];
    names_.writers.erase(name);
    std::int64_t log_bytes = files.log ? covered.log_bytes : 0;
    // It may be removed at any moment: then it described no more than what is covered.
    const std::int64_t index_bytes =
        files.index ? size_of_file(directory_, (name + kIndexEnding).c_str()) : -1;
    const bool has_grown = index_bytes > covered.index_bytes;
    if (files.log && (look_at_logs || has_grown)) {
      const auto size = size_of(name + kLogEnding);
      if (!size) return size.error();
      log_bytes = *size;
    }
    covered_->log_bytes.push_back(log_bytes);
    if (has_grown) {
      auto index = read_index(name + kIndexEnding);
      if (!index) return index.error();
      indexes_.push_back(std::move(*index));
      writers_.push_back(
          {name, indexes_.back(), log_bytes, covered.index_bytes, merged_->parts.ends[i]});
      traces.has_grown = true;
    } else if (files.index) {
      traces.spare_files.push_back(name + kIndexEnding);
    }
  }
  // A retired name with an index is that of a new writer, which happens to be called so.
  for (const std::string& name : merged_->retired) {
    const auto files = names_.writers.find(name);
    if (files == names_.writers.end() || files->second.index) continue;
    traces.spare_files.push_back(name + kLogEnding);
    names_.writers.erase(files);
  }
  std::erase_if(names_.writers, [&](const auto& one) {
    if (!is_compacted_name(one.first)) return false;
    if (one.second.log) traces.spare_files.push_back(one.first + kLogEnding);
    if (one.second.index) traces.spare_files.push_back(one.first + kIndexEnding);
    return true;
  });
  return std::nullopt;
}

std::optional<Error> WriterFilesReader::read_others(CompactionTraces& traces) {
  for (const auto& [name, files] : names_.writers) {
    WriterBytes writer{name, {}, 0, 0, {}};
    // The index first: what it tells of is then in the log, should somebody be writing.
    if (files.index) {
      auto index = read_index(name + kIndexEnding);
      if (!index) return index.error();
      traces.single_indexes[name] = static_cast<std::int64_t>(index->size());
      indexes_.push_back(std::move(*index));
      writer.index = indexes_.back();
    }
    if (files.log) {
      const auto size = size_of(name + kLogEnding);
      if (!size) return size.error();
      writer.log_bytes = *size;
    }
    writers_.push_back(std::move(writer));
  }
  return std::nullopt;
}

}  // namespace iotune::logstore
