#include "analyzer/datasets/dataset_versions.h"

#include <algorithm>
#include <string_view>

#include "analyzer/calls/call_facts.h"

namespace iotune::analyzer {
namespace {

bool may_have_grown(const DatasetRecord& record, const DatasetDefinition& definition) {
  // Only chunked datasets can.
  if (record.chunk.empty() || record.chunk != definition.chunk) return false;
  const std::vector<std::uint64_t>& before = *record.said_dims.begin();
  for (std::size_t d = 0; d < before.size(); ++d) {
    if (definition.dims[d] < before[d]) return false;
  }
  return true;
}

bool is_alike(const DatasetRecord& record, const DatasetDefinition& definition) {
  return record.element_bytes == definition.element_bytes &&
         record.dims.size() == definition.dims.size();
}

constexpr std::string_view kUnnamed = "(unnamed ";

std::string unnamed_name(int number) {
  return std::string(kUnnamed) + std::to_string(number) + ")";
}

}  // namespace

void DatasetVersions::follow(const recorder::Call& call) {
  if (call.signature() == nullptr) return;
  const CallFacts& facts = facts_of(*call.signature());
  const bool note = facts.note == CallFacts::Note::kDataset;
  if (facts.waits_for_note) makes_file_[call.thread] = facts.makes_file;
  if (!note && !facts.makes_dataset && !facts.opens_dataset) return;
  if (!read_arguments(call, arguments_)) return;
  if (note) {
    made_[arguments_.find("object")->numbers[0]] =
        made_ids_.erase(arguments_.find("dataset")->numbers[0]) > 0;
  } else if (facts.makes_dataset) {
    made_ids_.insert(arguments_.result.value_or(-1));
  } else {
    made_ids_.erase(arguments_.result.value_or(-1));
  }
}

void DatasetVersions::opened(FileRecord& file, std::uint32_t thread) {
  if (!makes_file_[thread]) return;
  makes_file_[thread] = false;
  file.generations = std::max(file.generations, ++generation_[&file]);
}

std::uint32_t DatasetVersions::generation_of(const FileRecord& file) const {
  const auto own = generation_.find(&file);
  return own == generation_.end() ? file.generations : own->second;
}

bool DatasetVersions::may_be(const DatasetRecord& record, std::uint32_t generation,
                             std::int64_t object, const DatasetDefinition& definition) const {
  if (definition.address < 0) return true;
  const auto stood = record.addresses.find(generation);
  if (stood != record.addresses.end() && stood->second != definition.address) return false;
  const auto maker = makers_.find(&record);
  const auto made = made_.find(object);
  return maker == makers_.end() || made == made_.end() || !made->second ||
         maker->second.first != generation || maker->second.second == object;
}

std::string DatasetVersions::name_of(FileRecord& file, std::int64_t object,
                                     const DatasetDefinition& definition) {
  std::string& name = names_[object];
  if (!definition.path.empty()) {
    name = definition.path;
  } else if (name.empty()) {
    name = unnamed_name(++unnamed_[&file]);
  }
  if (definition.address < 0) return name;
  std::string& known = file.name_at[{generation_of(file), definition.address}];
  if (known.empty() || made_[object]) known = name;
  return name = known;
}

void DatasetVersions::name(FileRecord& file, std::int64_t object,
                           const DatasetDefinition& definition) {
  const auto known = names_.find(object);
  if (known == names_.end() || definition.path.empty() || known->second == definition.path) return;
  const std::string before = known->second;
  if (!before.starts_with(kUnnamed)) return;
  if (definition.address >= 0) {
    file.name_at[{generation_of(file), definition.address}] = definition.path;
  }
  // The number is free again.
  if (int& count = unnamed_[&file]; before == unnamed_name(count)) --count;
  known->second = definition.path;
  for (const bool write : {false, true}) {
    const auto found = by_object_[write ? 1 : 0].find(object);
    const auto old = file.datasets.find({before, write});
    if (found == by_object_[write ? 1 : 0].end() || old == file.datasets.end()) continue;
    std::list<DatasetRecord>& to = file.datasets[{definition.path, write}];
    for (auto record = old->second.begin(); record != old->second.end(); ++record) {
      if (&*record != found->second) continue;
      to.splice(to.end(), old->second, record);
      break;
    }
    newest_.erase(&old->second);
    newest_[&to] = found->second;
    if (old->second.empty()) file.datasets.erase(old);
  }
}

DatasetRecord& DatasetVersions::record_of(FileRecord& file, std::int64_t object,
                                          const DatasetDefinition& definition, bool write) {
  DatasetRecord*& known = by_object_[write ? 1 : 0][object];
  if (known != nullptr) return *known;
  std::list<DatasetRecord>& versions = file.datasets[{name_of(file, object, definition), write}];
  DatasetRecord*& newest = newest_[&versions];
  const std::uint32_t generation = generation_of(file);
  for (DatasetRecord& record : versions) {
    if (is_alike(record, definition) && record.said_dims.contains(definition.dims) &&
        may_be(record, generation, object, definition)) {
      known = &record;
    }
  }
  if (known == nullptr && newest != nullptr && !made_[object] && is_alike(*newest, definition) &&
      may_have_grown(*newest, definition) && may_be(*newest, generation, object, definition)) {
    known = newest;
  }
  // Another process was there before it had grown so far, or later.
  for (DatasetRecord& record : versions) {
    if (known == nullptr && newest == nullptr && is_alike(record, definition) &&
        !record.chunk.empty() && record.chunk == definition.chunk &&
        may_be(record, generation, object, definition)) {
      known = &record;
    }
  }
  if (known == nullptr) {
    known = &versions.emplace_back(definition.dims.size());
    known->element_bytes = definition.element_bytes;
    known->dims = definition.dims;
  }
  if (definition.address >= 0) {
    known->addresses[generation] = definition.address;
    if (made_[object]) makers_[known] = {generation, object};
  }
  known->filters = definition.filters;
  known->chunk = definition.chunk;
  known->said_dims.insert(definition.dims);
  for (std::size_t d = 0; d < known->dims.size(); ++d) {
    known->dims[d] = std::max(known->dims[d], definition.dims[d]);
  }
  newest = known;
  return *known;
}

}  // namespace iotune::analyzer
