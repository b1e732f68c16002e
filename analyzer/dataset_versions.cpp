#include "analyzer/dataset_versions.h"

#include <algorithm>

#include "analyzer/call_facts.h"

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

}  // namespace

void DatasetVersions::follow(const recorder::Call& call) {
  if (call.signature() == nullptr) return;
  const CallFacts& facts = facts_of(*call.signature());
  const bool note = facts.note == CallFacts::Note::kDataset;
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

DatasetRecord& DatasetVersions::record_of(FileRecord& file, std::int64_t object,
                                          const DatasetDefinition& definition, bool write) {
  DatasetRecord*& known = by_object_[write ? 1 : 0][object];
  if (known != nullptr) return *known;
  std::list<DatasetRecord>& versions = file.datasets[{definition.path, write}];
  DatasetRecord*& newest = newest_[&versions];
  for (DatasetRecord& record : versions) {
    if (is_alike(record, definition) && record.said_dims.contains(definition.dims)) {
      known = &record;
    }
  }
  if (known == nullptr && newest != nullptr && !made_[object] && is_alike(*newest, definition) &&
      may_have_grown(*newest, definition)) {
    known = newest;
  }
  // Another process was there before it had grown so far, or later.
  for (DatasetRecord& record : versions) {
    if (known == nullptr && newest == nullptr && is_alike(record, definition) &&
        !record.chunk.empty() && record.chunk == definition.chunk) {
      known = &record;
    }
  }
  if (known == nullptr) {
    known = &versions.emplace_back(definition.dims.size());
    known->element_bytes = definition.element_bytes;
    known->dims = definition.dims;
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
