#include "analyzer/calls/call_owners.h"

#include <optional>
#include <string_view>

#include "recorder/read/call_arguments.h"
#include "recorder/read/format_call.h"

namespace iotune::analyzer {
namespace {

using recorder::ArgumentValue;
using recorder::Call;

std::vector<std::uint64_t> unsigned_values(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

bool is_transfer_of_mpi(const Call& call) {
  return call.signature()->layer == Layer::kMpiIo && call.signature()->transfer;
}

}  // namespace

std::int32_t OwnerFollower::index_of(std::string_view path) {
  if (const auto known = index_.find(path); known != index_.end()) return known->second;
  files_.emplace_back(path);
  return index_[files_.back()] = static_cast<std::int32_t>(files_.size() - 1);
}

void OwnerFollower::define_dataset(const Call& call) {
  if (read_arguments(call, arguments_)) define_dataset();
}

void OwnerFollower::define_dataset() {
  const auto number = [&](const char* name) { return arguments_.find(name)->numbers[0]; };
  DatasetDefinition& definition = datasets_[number("object")];
  definition.file = arguments_.find("file")->text;
  definition.path = arguments_.find("path")->text;
  definition.element_bytes = static_cast<std::uint64_t>(number("element_bytes"));
  definition.filters = static_cast<std::uint32_t>(number("filters"));
  definition.dims = unsigned_values(arguments_.find("dims")->numbers);
  if (definition.dims.empty()) definition.dims = {1};
  definition.chunk = unsigned_values(arguments_.find("chunk")->numbers);
  definition.address = arguments_.extras.empty() ? -1 : arguments_.extras[0];
}

std::int32_t OwnerFollower::follow(std::size_t number, const Call& call) {
  opened_.reset();
  dataset_ = nullptr;
  if (call.signature() == nullptr) return kNone;
  const CallFacts& facts = facts_of(*call.signature());
  const Layer layer = call.signature()->layer;
  const bool posix = layer == Layer::kPosix || layer == Layer::kStdio;
  if ((posix && !facts.waits_for_note) || is_transfer_of_mpi(call)) return of_transfer(call);
  if (layer == Layer::kHdf5 && !facts.has_file) return kNone;
  if (!posix && !read_arguments(call, arguments_)) return kNone;
  if (facts.waits_for_note) {
    last_open_[call.thread] = {number, call.layers() != 0};
    return kNone;
  }
  if (layer == Layer::kIotune) return file_of_note(call, facts);
  return layer == Layer::kHdf5 ? file_of_hdf5(call, facts) : file_of_mpi(facts);
}

std::int32_t OwnerFollower::of_transfer(const Call& call) const {
  if (!is_transfer_of_mpi(call)) return file_of_posix(call);
  const std::optional<std::int64_t> handle = handle_of(call);
  const auto owner = handle ? mpi_.find(*handle) : mpi_.end();
  return owner == mpi_.end() ? kNone : owner->second;
}

std::int32_t OwnerFollower::file_of_note(const Call& call, const CallFacts& facts) {
  using Note = CallFacts::Note;
  if (facts.note == Note::kView) return file_of_mpi_handle();
  if (facts.note == Note::kPrefetch) {
    const auto found = by_number_.find(arguments_.find("file")->numbers[0]);
    return found == by_number_.end() ? kNone : found->second;
  }
  if (facts.note != Note::kFile) {
    if (facts.note == Note::kDataset && !all_known_) define_dataset();
    const ArgumentValue* const file = arguments_.find("file");
    if (file == nullptr) return kNone;
    if (file->numbers.empty()) return index_of(file->text);
    const auto opened = hdf5_.find(file->numbers[0]);
    return opened == hdf5_.end() ? kNone : opened->second;
  }
  const std::int32_t file = index_of(arguments_.find("path")->text);
  const std::int64_t handle = arguments_.find("handle")->numbers[0];
  const std::int64_t layer = arguments_.find("layer")->numbers[0];
  by_number_[arguments_.find("file")->numbers[0]] = file;
  if (layer == static_cast<std::int64_t>(Layer::kHdf5)) hdf5_[handle] = file;
  if (layer == static_cast<std::int64_t>(Layer::kMpiIo)) mpi_[handle] = file;
  // The call that opened it stands before it, and the name in it may be a relative one.
  if (const auto opened = last_open_.find(call.thread); opened != last_open_.end()) {
    opened_ = {opened->second.number, file};
    const std::int64_t key = arguments_.find("file")->numbers[0];
    if (opened->second.inner) {
      inner_.insert(key);
    } else {
      inner_.erase(key);
    }
    last_open_.erase(opened);
  }
  return file;
}

std::int32_t OwnerFollower::file_of_hdf5(const Call& call, const CallFacts& facts) {
  if (call.signature()->transfer) {
    // All datasets of one call are of one file.
    const ArgumentValue* const datasets = arguments_.find("dataset");
    std::int32_t file = kNone;
    const std::vector<recorder::TransferExtras> all = recorder::transfer_extras(arguments_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto dataset = datasets_.find(all[i].object);
      if (dataset == datasets_.end()) continue;
      const std::int64_t id = datasets->numbers[i];
      if (file == kNone) dataset_ = &dataset->second;
      file = hdf5_[id] = index_of(dataset->second.file);
      object_of_[id] = all[i].object;
    }
    if (file != kNone) return file;
  }
  const std::optional<std::int64_t> object = handle_of(call);
  const auto owner = object ? hdf5_.find(*object) : hdf5_.end();
  if (owner == hdf5_.end()) return kNone;
  const std::int32_t file = owner->second;
  if (facts.of_dataset) {
    const auto known = object_of_.find(*object);
    const auto found = known == object_of_.end() ? datasets_.end() : datasets_.find(known->second);
    if (found != datasets_.end()) dataset_ = &found->second;
  }
  const std::int64_t result = arguments_.result.value_or(-1);
  if (facts.closes_object) {
    if (result >= 0) {
      hdf5_.erase(owner);
      object_of_.erase(*object);
    }
  } else if (facts.makes_object && result > 0) {
    hdf5_[result] = file;
    object_of_.erase(result);
  }
  return file;
}

std::int32_t OwnerFollower::file_of_mpi(const CallFacts& facts) {
  const std::int32_t file = file_of_mpi_handle();
  if (file != kNone && facts.closes_file) mpi_.erase(arguments_.find("file")->numbers[0]);
  return file;
}

std::int32_t OwnerFollower::file_of_mpi_handle() const {
  const ArgumentValue* const handle = arguments_.find("file");
  if (handle == nullptr || handle->numbers.size() != 1) return kNone;
  const auto owner = mpi_.find(handle->numbers[0]);
  return owner == mpi_.end() ? kNone : owner->second;
}

bool OwnerFollower::is_inner(const Call& call) const {
  if (recorder::depth_of(call) != 0) return true;
  if (inner_.empty() || call.signature() == nullptr || call.keys().size() < 2) return false;
  const Layer layer = call.signature()->layer;
  return (layer == Layer::kPosix || layer == Layer::kStdio) && inner_.contains(call.keys()[1]);
}

std::int32_t OwnerFollower::file_of_posix(const Call& call) const {
  if (call.keys().size() < 2) return kNone;
  const auto owner = by_number_.find(call.keys()[1]);
  return owner == by_number_.end() ? kNone : owner->second;
}

CallOwners owners_of(const recorder::ProcessCalls& process) {
  CallOwners owners;
  owners.file_of_call.assign(process.calls.size(), CallOwners::kNone);
  owners.is_inner.assign(process.calls.size(), false);
  OwnerFollower follower;
  std::size_t noted = 0;
  for (const Call& call : process.calls) {
    if (call.signature() == nullptr) continue;
    if (facts_of(*call.signature()).note != CallFacts::Note::kDataset) continue;
    follower.define_dataset(call);
    ++noted;
  }
  if (follower.datasets().size() == noted) follower.know_all_datasets();
  for (std::size_t i = 0; i < process.calls.size(); ++i) {
    owners.file_of_call[i] = follower.follow(i, process.calls[i]);
    owners.is_inner[i] = follower.is_inner(process.calls[i]);
    if (follower.opened())
      owners.file_of_call[follower.opened()->first] = follower.opened()->second;
  }
  owners.files = follower.files();
  owners.datasets = follower.take_datasets();
  return owners;
}

}  // namespace iotune::analyzer
