#include "analyzer/dataset_versions.h"

#include <string_view>

#include "recorder/read/call_arguments.h"

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
  const std::string_view name = call.name();
  const bool note = name == "iotune_dataset";
  const bool makes = name.starts_with("H5Dcreate"), opens = name.starts_with("H5Dopen");
  if (!note && !makes && !opens) return;
  const std::optional<recorder::CallArguments> arguments = arguments_of(call);
  if (!arguments) return;
  if (note) {
    made_[arguments->find("object")->numbers[0]] =
        made_ids_.erase(arguments->find("dataset")->numbers[0]) > 0;
  } else if (makes) {
    made_ids_.insert(arguments->result.value_or(-1));
  } else {
    made_ids_.erase(arguments->result.value_or(-1));
  }
}

DatasetRecord& DatasetVersions::record_of(FileRecord& file, std::int64_t object,
                                          const DatasetDefinition& definition, bool write) {
  DatasetRecord*& known = by_object_[{object, write}];
  if (known != nullptr) return *known;
  std::list<DatasetRecord>& versions = file.datasets[{definition.path, write}];
  DatasetRecord*& newest = newest_[{&file, {definition.path, write}}];
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
