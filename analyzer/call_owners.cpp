#include "analyzer/call_owners.h"

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

class Follower {
 public:
  explicit Follower(const recorder::ProcessCalls& process) : process_(process) {}

  CallOwners run() {
    owners_.file_of_call.assign(process_.calls.size(), CallOwners::kNone);
    for (const Call& call : process_.calls) {
      if (call.name() == "iotune_dataset") define_dataset(call);
    }
    for (std::size_t i = 0; i < process_.calls.size(); ++i) {
      const Call& call = process_.calls[i];
      if (call.signature() == nullptr) continue;
      const std::optional<CallArguments> arguments = arguments_of(call);
      if (arguments) owners_.file_of_call[i] = file_of(i, call, *arguments);
    }
    return std::move(owners_);
  }

 private:
  using Handles = std::unordered_map<std::int64_t, std::int32_t>;

  std::int32_t index_of(std::string_view path) {
    const auto [found, added] =
        index_.try_emplace(std::string(path), static_cast<std::int32_t>(index_.size()));
    if (added) owners_.files.emplace_back(path);
    return found->second;
  }

  void define_dataset(const Call& call) {
    const std::optional<CallArguments> arguments = arguments_of(call);
    if (!arguments) return;
    const auto number = [&](const char* name) { return arguments->find(name)->numbers[0]; };
    DatasetDefinition& definition = owners_.datasets[number("object")];
    definition.file = arguments->find("file")->text;
    definition.path = arguments->find("path")->text;
    definition.element_bytes = static_cast<std::uint64_t>(number("element_bytes"));
    definition.filters = static_cast<std::uint32_t>(number("filters"));
    definition.dims = unsigned_values(arguments->find("dims")->numbers);
    if (definition.dims.empty()) definition.dims = {1};
    definition.chunk = unsigned_values(arguments->find("chunk")->numbers);
  }

  std::int32_t file_of(std::size_t i, const Call& call, const CallArguments& arguments) {
    switch (call.signature()->layer) {
      case Layer::kIotune:
        return file_of_note(call, arguments);
      case Layer::kHdf5:
        return file_of_hdf5(i, call, arguments);
      case Layer::kMpiIo:
        return file_of_mpi(i, call, arguments);
      default:
        return file_of_posix(i, call);
    }
  }

  std::int32_t file_of_note(const Call& call, const CallArguments& arguments) {
    if (call.name() != "iotune_file") {
      const ArgumentValue* const file = arguments.find("file");
      return file == nullptr ? CallOwners::kNone : index_of(file->text);
    }
    const std::int32_t file = index_of(arguments.find("path")->text);
    const std::int64_t handle = arguments.find("handle")->numbers[0];
    const std::int64_t layer = arguments.find("layer")->numbers[0];
    by_number_[arguments.find("file")->numbers[0]] = file;
    if (layer == static_cast<std::int64_t>(Layer::kHdf5)) hdf5_[handle] = file;
    if (layer == static_cast<std::int64_t>(Layer::kMpiIo)) mpi_[handle] = file;
    // The call that opened it stands before it, and the name in it may be a relative one.
    if (const auto opened = last_open_.find(call.thread); opened != last_open_.end()) {
      owners_.file_of_call[opened->second] = file;
      last_open_.erase(opened);
    }
    return file;
  }

  std::int32_t file_of_hdf5(std::size_t i, const Call& call, const CallArguments& arguments) {
    const std::string& name = call.name();
    if (name == "H5Fcreate" || name == "H5Fopen") {
      last_open_[call.thread] = i;
      return CallOwners::kNone;
    }
    if (arguments.values.empty() || arguments.values[0].numbers.size() != 1) {
      return CallOwners::kNone;
    }
    const std::int64_t object = arguments.values[0].numbers[0];
    if (call.signature()->transfer) {
      const auto extras = recorder::transfer_extras(arguments.extras);
      const auto dataset = extras ? owners_.datasets.find(extras->object) : owners_.datasets.end();
      if (dataset != owners_.datasets.end()) return hdf5_[object] = index_of(dataset->second.file);
    }
    const auto owner = hdf5_.find(object);
    // Ids of one kind only: dataspaces and property lists have no file.
    const char kind = name.size() > 2 ? name[2] : '\0';
    const bool of_file = kind == 'F' || kind == 'D' || kind == 'G' || kind == 'O' || kind == 'A';
    if (owner == hdf5_.end() || !of_file) return CallOwners::kNone;
    const std::int32_t file = owner->second;
    const std::int64_t result = arguments.result.value_or(-1);
    if (name.ends_with("close")) {
      if (result >= 0) hdf5_.erase(owner);
    } else if (makes_object(name) && result > 0) {
      hdf5_[result] = file;
    }
    return file;
  }

  std::int32_t file_of_mpi(std::size_t i, const Call& call, const CallArguments& arguments) {
    if (call.name() == "MPI_File_open") {
      last_open_[call.thread] = i;
      return CallOwners::kNone;
    }
    const ArgumentValue* const handle = arguments.find("file");
    if (handle == nullptr || handle->numbers.size() != 1) return CallOwners::kNone;
    const auto owner = mpi_.find(handle->numbers[0]);
    if (owner == mpi_.end()) return CallOwners::kNone;
    const std::int32_t file = owner->second;
    if (call.name() == "MPI_File_close") mpi_.erase(owner);
    return file;
  }

  std::int32_t file_of_posix(std::size_t i, const Call& call) {
    const std::string& name = call.name();
    if (name == "open" || name == "openat" || name == "creat" || name == "fopen" ||
        name == "freopen") {
      last_open_[call.thread] = i;
      return CallOwners::kNone;
    }
    if (call.keys().size() < 2) return CallOwners::kNone;
    const auto owner = by_number_.find(call.keys()[1]);
    return owner == by_number_.end() ? CallOwners::kNone : owner->second;
  }

  const recorder::ProcessCalls& process_;
  CallOwners owners_;
  std::unordered_map<std::string, std::int32_t> index_;
  Handles by_number_, hdf5_, mpi_;
  std::unordered_map<std::uint32_t, std::size_t> last_open_;  // call, by thread
};

}  // namespace

CallOwners owners_of(const recorder::ProcessCalls& process) {
  return Follower(process).run();
}

}  // namespace iotune::analyzer
