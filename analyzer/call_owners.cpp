#include "analyzer/call_owners.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {
namespace {

using recorder::ArgumentValue;
using recorder::Call;
using recorder::CallArguments;
using recorder::Layer;

std::vector<std::uint64_t> unsigned_values(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

bool makes_object(std::string_view name) {
  return name.find("create") != std::string_view::npos ||
         name.find("open") != std::string_view::npos;
}

// iotune_file follows it.
bool makes_descriptor(std::string_view name) {
  constexpr std::string_view kNames[] = {"open",     "openat",    "creat",   "fopen",
                                         "freopen",  "tmpfile",   "mkstemp", "mkostemp",
                                         "mkstemps", "mkostemps", "opendir"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace

std::int32_t OwnerFollower::index_of(std::string_view path) {
  const auto [found, added] =
      index_.try_emplace(std::string(path), static_cast<std::int32_t>(index_.size()));
  if (added) files_.emplace_back(path);
  return found->second;
}

void OwnerFollower::define_dataset(const Call& call) {
  const std::optional<CallArguments> arguments = arguments_of(call);
  if (!arguments) return;
  const auto number = [&](const char* name) { return arguments->find(name)->numbers[0]; };
  DatasetDefinition& definition = datasets_[number("object")];
  definition.file = arguments->find("file")->text;
  definition.path = arguments->find("path")->text;
  definition.element_bytes = static_cast<std::uint64_t>(number("element_bytes"));
  definition.filters = static_cast<std::uint32_t>(number("filters"));
  definition.dims = unsigned_values(arguments->find("dims")->numbers);
  if (definition.dims.empty()) definition.dims = {1};
  definition.chunk = unsigned_values(arguments->find("chunk")->numbers);
}

std::int32_t OwnerFollower::follow(std::size_t number, const Call& call) {
  opened_.reset();
  dataset_ = nullptr;
  if (call.signature() == nullptr) return kNone;
  switch (call.signature()->layer) {
    case Layer::kIotune:
      return file_of_note(call);
    case Layer::kHdf5:
      return file_of_hdf5(number, call);
    case Layer::kMpiIo:
      return file_of_mpi(number, call);
    default:
      return file_of_posix(number, call);
  }
}

std::int32_t OwnerFollower::file_of_note(const Call& call) {
  const std::optional<CallArguments> arguments = arguments_of(call);
  if (!arguments) return kNone;
  if (call.name() == "iotune_view") return file_of_mpi_handle(*arguments);
  if (call.name() == "iotune_prefetch") {
    const auto found = by_number_.find(arguments->find("file")->numbers[0]);
    return found == by_number_.end() ? kNone : found->second;
  }
  if (call.name() != "iotune_file") {
    if (call.name() == "iotune_dataset") define_dataset(call);
    const ArgumentValue* const file = arguments->find("file");
    return file == nullptr ? kNone : index_of(file->text);
  }
  const std::int32_t file = index_of(arguments->find("path")->text);
  const std::int64_t handle = arguments->find("handle")->numbers[0];
  const std::int64_t layer = arguments->find("layer")->numbers[0];
  by_number_[arguments->find("file")->numbers[0]] = file;
  if (layer == static_cast<std::int64_t>(Layer::kHdf5)) hdf5_[handle] = file;
  if (layer == static_cast<std::int64_t>(Layer::kMpiIo)) mpi_[handle] = file;
  // The call that opened it stands before it, and the name in it may be a relative one.
  if (const auto opened = last_open_.find(call.thread); opened != last_open_.end()) {
    opened_ = {opened->second, file};
    last_open_.erase(opened);
  }
  return file;
}

std::int32_t OwnerFollower::file_of_hdf5(std::size_t position, const Call& call) {
  const std::string& name = call.name();
  // Ids of one kind only: dataspaces and property lists have no file.
  const char kind = name.size() > 2 ? name[2] : '\0';
  const bool of_file = kind == 'F' || kind == 'D' || kind == 'G' || kind == 'O' || kind == 'A';
  if (!of_file) return kNone;
  const std::optional<CallArguments> arguments = arguments_of(call);
  if (!arguments) return kNone;
  if (name == "H5Fcreate" || name == "H5Fopen" || name == "H5Fcreate_async" ||
      name == "H5Fopen_async") {
    last_open_[call.thread] = position;
    return kNone;
  }
  if (call.signature()->transfer) {
    // All datasets of one call are of one file.
    const ArgumentValue* const datasets = arguments->find("dataset");
    std::int32_t file = kNone;
    const std::vector<recorder::TransferExtras> all = recorder::transfer_extras(*arguments);
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
  // After what asynchronous forms have before.
  const std::size_t first = name.ends_with("_async") ? 3 : 0;
  if (arguments->values.size() <= first ||
      arguments->values[first].signature->form != recorder::ArgumentForm::kNumber) {
    return kNone;
  }
  const std::int64_t object = arguments->values[first].numbers[0];
  const auto owner = hdf5_.find(object);
  if (owner == hdf5_.end()) return kNone;
  const std::int32_t file = owner->second;
  if (const auto known = object_of_.find(object); kind == 'D' && known != object_of_.end()) {
    if (const auto found = datasets_.find(known->second); found != datasets_.end()) {
      dataset_ = &found->second;
    }
  }
  const std::int64_t result = arguments->result.value_or(-1);
  if (name.ends_with("close") || name.ends_with("close_async")) {
    if (result >= 0) {
      hdf5_.erase(owner);
      object_of_.erase(object);
    }
  } else if (makes_object(name) && result > 0) {
    hdf5_[result] = file;
    object_of_.erase(result);
  }
  return file;
}

std::int32_t OwnerFollower::file_of_mpi(std::size_t position, const Call& call) {
  const std::optional<CallArguments> arguments = arguments_of(call);
  if (!arguments) return kNone;
  if (call.name() == "MPI_File_open") {
    last_open_[call.thread] = position;
    return kNone;
  }
  const std::int32_t file = file_of_mpi_handle(*arguments);
  if (file != kNone && call.name() == "MPI_File_close") {
    mpi_.erase(arguments->find("file")->numbers[0]);
  }
  return file;
}

std::int32_t OwnerFollower::file_of_mpi_handle(const CallArguments& arguments) const {
  const ArgumentValue* const handle = arguments.find("file");
  if (handle == nullptr || handle->numbers.size() != 1) return kNone;
  const auto owner = mpi_.find(handle->numbers[0]);
  return owner == mpi_.end() ? kNone : owner->second;
}

std::int32_t OwnerFollower::file_of_posix(std::size_t position, const Call& call) {
  const std::string& name = call.name();
  if (makes_descriptor(name)) {
    last_open_[call.thread] = position;
    return kNone;
  }
  if (call.keys().size() < 2) return kNone;
  const auto owner = by_number_.find(call.keys()[1]);
  return owner == by_number_.end() ? kNone : owner->second;
}

CallOwners owners_of(const recorder::ProcessCalls& process) {
  CallOwners owners;
  owners.file_of_call.assign(process.calls.size(), CallOwners::kNone);
  OwnerFollower follower;
  for (const Call& call : process.calls) {
    if (call.name() == "iotune_dataset") follower.define_dataset(call);
  }
  for (std::size_t i = 0; i < process.calls.size(); ++i) {
    owners.file_of_call[i] = follower.follow(i, process.calls[i]);
    if (follower.opened())
      owners.file_of_call[follower.opened()->first] = follower.opened()->second;
  }
  owners.files = follower.files();
  owners.datasets = follower.take_datasets();
  return owners;
}

}  // namespace iotune::analyzer
