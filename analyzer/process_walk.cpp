#include "analyzer/process_walk.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallArguments;
using recorder::CallSignature;
using recorder::Layer;
using recorder::TransferExtras;

struct DatasetDefinition {
  std::string file, path;
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> dims, chunk;
  std::uint32_t filters = 0;
};

std::vector<std::uint64_t> unsigned_values(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

constexpr std::size_t layer_index(Layer layer) {
  return static_cast<std::size_t>(layer);
}

class Walk {
 public:
  Walk(const recorder::ProcessCalls& process, std::int64_t rank, FileTable& files)
      : process_(process), rank_(rank), files_(files) {}

  void run() {
    for (const Call& call : process_.calls) {
      if (call.name() == "iotune_dataset") define_dataset(call);
    }
    for (const Call& call : process_.calls) {
      const CallSignature* const signature = call.signature();
      if (signature == nullptr) continue;
      const std::optional<CallArguments> arguments = arguments_of(call);
      if (!arguments) continue;
      switch (signature->layer) {
        case Layer::kIotune:
          note(call, *arguments);
          break;
        case Layer::kHdf5:
          hdf5_call(call, *arguments);
          break;
        case Layer::kMpiIo:
          mpi_call(call, *arguments);
          break;
        default:
          posix_call(call, *arguments);
      }
    }
  }

 private:
  // --- which file ---------------------------------------------------------

  void define_dataset(const Call& call) {
    const std::optional<CallArguments> arguments = arguments_of(call);
    if (!arguments) return;
    DatasetDefinition& definition = datasets_[arguments->find("object")->numbers[0]];
    const auto number = [&](const char* name) { return arguments->find(name)->numbers[0]; };
    definition.file = arguments->find("file")->text;
    definition.path = arguments->find("path")->text;
    definition.element_bytes = static_cast<std::uint64_t>(number("element_bytes"));
    definition.filters = static_cast<std::uint32_t>(number("filters"));
    definition.dims = unsigned_values(arguments->find("dims")->numbers);
    if (definition.dims.empty()) definition.dims = {1};
    definition.chunk = unsigned_values(arguments->find("chunk")->numbers);
  }

  FileRecord& file_at(std::string_view path) { return files_[std::string(path)]; }

  void note(const Call& call, const CallArguments& arguments) {
    const std::string& name = call.name();
    if (name == "iotune_file") {
      note_file(call, arguments);
    } else if (name == "iotune_decision") {
      note_decision(arguments);
    } else if (name == "iotune_setting") {
      note_setting(arguments);
    }
  }

  void note_file(const Call& call, const CallArguments& arguments) {
    const std::int64_t layer = arguments.find("layer")->numbers[0];
    const std::int64_t handle = arguments.find("handle")->numbers[0];
    if (layer < 0 || layer > 3) return;
    FileRecord& file = file_at(arguments.find("path")->text);
    file.layers[layer].opened = true;
    by_number_[arguments.find("file")->numbers[0]] = &file;
    if (layer == static_cast<std::int64_t>(Layer::kHdf5)) hdf5_owner_[handle] = &file;
    if (layer == static_cast<std::int64_t>(Layer::kMpiIo)) mpi_owner_[handle] = &file;
    // The call that opened it stands before it, and its path may have been a relative one.
    const auto opened = last_open_.find(call.thread);
    if (opened == last_open_.end()) return;
    spend(file, *opened->second);
    last_open_.erase(opened);
  }

  void note_decision(const CallArguments& arguments) {
    static constexpr const char* kStates[] = {"untrained", "default-is-best", "tuned", "reverted",
                                              "refused"};
    FileRecord& file = file_at(arguments.find("file")->text);
    if (file.decided) return;
    file.decided = true;
    file.decision_source = arguments.find("source")->text;
    file.decision_pattern = arguments.find("pattern")->text;
    file.decision_message = arguments.find("message")->text;
    file.decision_row = arguments.find("row")->numbers[0];
    file.decision_distance =
        static_cast<double>(arguments.find("distance_thousandths")->numbers[0]) / 1000.0;
    const std::int64_t state = arguments.find("state")->numbers[0];
    if (state >= 0 && state < 5) file.decision_state = kStates[state];
  }

  void note_setting(const CallArguments& arguments) {
    static constexpr const char* kVerdicts[] = {"applied", "without effect", "refused",
                                                "unverifiable"};
    SettingOutcome outcome;
    outcome.parameter = arguments.find("parameter")->text;
    outcome.wanted = arguments.find("wanted")->text;
    outcome.got = arguments.find("got")->text;
    outcome.reason = arguments.find("reason")->text;
    const std::int64_t verdict = arguments.find("verdict")->numbers[0];
    if (verdict >= 0 && verdict < 4) outcome.verdict = kVerdicts[verdict];
    auto& settings = file_at(arguments.find("file")->text).settings;
    const bool known =
        std::any_of(settings.begin(), settings.end(), [&](const SettingOutcome& other) {
          return other.parameter == outcome.parameter && other.wanted == outcome.wanted &&
                 other.got == outcome.got && other.verdict == outcome.verdict &&
                 other.reason == outcome.reason;
        });
    if (!known) settings.push_back(std::move(outcome));
  }

  // --- time ---------------------------------------------------------------

  // Counts the call's time for the file if it is an outermost one.
  void spend(FileRecord& file, const Call& call) {
    if (call.layers() != 0) return;
    const std::uint64_t start = process_.wall_ns() + call.start_ns;
    file.first_open_ns = std::min(file.first_open_ns, start);
    file.last_end_ns = std::max(file.last_end_ns, start + call.duration_ns);
    file.nanoseconds_by_rank[rank_] += call.duration_ns;
  }

  // --- layers -------------------------------------------------------------

  void hdf5_call(const Call& call, const CallArguments& arguments) {
    const std::string& name = call.name();
    if (name == "H5Fcreate" || name == "H5Fopen") {
      last_open_[call.thread] = &call;
      return;
    }
    if (name == "H5Dread" || name == "H5Dwrite") {
      hdf5_transfer(call, arguments, name == "H5Dwrite");
      return;
    }
    // Only what works on files and the objects in them: their ids lead to a file.
    const char kind = name.size() > 2 ? name[2] : '\0';
    if ((kind != 'F' && kind != 'D' && kind != 'G' && kind != 'O' && kind != 'A') ||
        arguments.values.empty() || arguments.values[0].numbers.size() != 1) {
      return;
    }
    const std::int64_t object = arguments.values[0].numbers[0];
    const auto owner = hdf5_owner_.find(object);
    if (owner == hdf5_owner_.end()) return;
    FileRecord& file = *owner->second;
    spend(file, call);
    const std::int64_t result = arguments.result.value_or(-1);
    if (name.ends_with("close")) {
      if (result >= 0) hdf5_owner_.erase(owner);
    } else if (makes_object(name) && result > 0) {
      hdf5_owner_[result] = &file;
    }
  }

  static bool makes_object(std::string_view name) {
    return name.find("create") != std::string_view::npos ||
           name.find("open") != std::string_view::npos;
  }

  void hdf5_transfer(const Call& call, const CallArguments& arguments, bool write) {
    const std::optional<TransferExtras> extras = recorder::transfer_extras(arguments.extras);
    if (!extras) return;
    const auto found = datasets_.find(extras->object);
    if (found == datasets_.end()) return;
    const DatasetDefinition& definition = found->second;
    FileRecord& file = file_at(definition.file);
    file.layers[layer_index(Layer::kHdf5)].opened = true;
    hdf5_owner_.try_emplace(arguments.values[0].numbers[0], &file);
    spend(file, call);
    if (arguments.result.value_or(-1) < 0) return;

    DatasetRecord& dataset = file.datasets[{definition.path, write}];
    dataset.first_transfer_ns =
        std::min(dataset.first_transfer_ns, process_.wall_ns() + call.start_ns);
    dataset.element_bytes = definition.element_bytes;
    dataset.filters = definition.filters;
    dataset.chunk = definition.chunk;
    if (dataset.dims.empty()) dataset.dims = definition.dims;
    for (std::size_t d = 0; d < std::min(dataset.dims.size(), definition.dims.size()); ++d) {
      dataset.dims[d] = std::max(dataset.dims[d], definition.dims[d]);
    }
    ++dataset.calls;
    dataset.independent = dataset.independent || extras->mode == 0;
    dataset.collective = dataset.collective || extras->mode == 1;
    DatasetRecord::Share& share =
        dataset.by_rank.try_emplace(rank_, dataset.dims.size()).first->second;
    share.nanoseconds += call.duration_ns;
    const std::uint64_t before = share.region.points_moved();
    add_selection(*extras, definition, dataset.dims, share.region);
    const std::uint64_t bytes = (share.region.points_moved() - before) * definition.element_bytes;
    auto& use = file.layers[layer_index(Layer::kHdf5)];
    (write ? use.written : use.read) += bytes;
  }

  static void add_selection(const TransferExtras& extras, const DatasetDefinition& definition,
                            std::vector<std::uint64_t>& dims, Region& region) {
    using Selection = TransferExtras::Selection;
    const auto points = static_cast<std::uint64_t>(std::max<std::int64_t>(0, extras.points));
    if (extras.selection == Selection::kNone || points == 0) return;
    const bool scalar = extras.dimensions == 0 && definition.dims.size() == 1;
    if (extras.selection == Selection::kAll && scalar) {
      region.add({IndexSet::interval(0, points)});
      return;
    }
    if (extras.selection == Selection::kUnknown || extras.dimensions != region.dimensions()) {
      region.add_unknown({}, {}, points);
      return;
    }
    const std::size_t n = extras.dimensions;
    const auto corner = [&](std::size_t row, std::size_t d) {
      return static_cast<std::uint64_t>(extras.row(row)[d]);
    };
    const auto box = [&](std::size_t first, std::size_t last) {
      Product product;
      for (std::size_t d = 0; d < n; ++d) {
        const std::uint64_t from = corner(first, d), to = corner(last, d);
        product.push_back(IndexSet::interval(from, to >= from ? to - from + 1 : 0));
      }
      return product;
    };
    switch (extras.selection) {
      case Selection::kAll: {
        Product product;
        for (std::size_t d = 0; d < n; ++d) {
          product.push_back(IndexSet::interval(0, corner(0, d)));
          // What was selected is newer than what was said when the dataset was first seen.
          dims[d] = std::max(dims[d], corner(0, d));
        }
        region.add(std::move(product));
        break;
      }
      case Selection::kRegular: {
        Product product;
        for (std::size_t d = 0; d < n; ++d) {
          std::optional<IndexSet> set =
              IndexSet::of(corner(0, d), corner(1, d), corner(2, d), corner(3, d));
          if (!set) {
            region.add_unknown({}, {}, points);
            return;
          }
          if (!set->empty()) dims[d] = std::max(dims[d], set->end());
          product.push_back(std::move(*set));
        }
        region.add(std::move(product));
        break;
      }
      case Selection::kBlocks:
        for (std::size_t i = 0; i < extras.entries; ++i) region.add(box(2 * i, 2 * i + 1));
        break;
      case Selection::kPoints:
        for (std::size_t i = 0; i < extras.entries; ++i) region.add(box(i, i));
        break;
      default: {
        std::vector<std::uint64_t> first, last;
        for (std::size_t d = 0; d < n; ++d) {
          first.push_back(corner(0, d));
          last.push_back(corner(1, d));
        }
        region.add_unknown(first, last, points);
      }
    }
  }

  void mpi_call(const Call& call, const CallArguments& arguments) {
    const std::string& name = call.name();
    if (name == "MPI_File_open") {
      last_open_[call.thread] = &call;
      return;
    }
    const recorder::ArgumentValue* const handle = arguments.find("file");
    if (handle == nullptr || handle->numbers.size() != 1) return;
    const auto owner = mpi_owner_.find(handle->numbers[0]);
    if (owner == mpi_owner_.end()) return;
    FileRecord& file = *owner->second;
    spend(file, call);
    if (name == "MPI_File_close") mpi_owner_.erase(owner);
    if (!call.signature()->transfer || arguments.result.value_or(-1) != 0) return;
    const auto count = arguments.number(*call.signature(), "count");
    const auto type_bytes = arguments.number(*call.signature(), "type_bytes");
    if (!count || !type_bytes || *count <= 0 || *type_bytes <= 0) return;
    const bool write = name.find("write") != std::string::npos;
    auto& use = file.layers[layer_index(Layer::kMpiIo)];
    (write ? use.written : use.read) +=
        static_cast<std::uint64_t>(*count) * static_cast<std::uint64_t>(*type_bytes);
  }

  void posix_call(const Call& call, const CallArguments& arguments) {
    const std::string& name = call.name();
    if (name == "open" || name == "openat" || name == "creat") {
      last_open_[call.thread] = &call;
      return;
    }
    if (call.keys().size() < 2) return;
    const auto owner = by_number_.find(call.keys()[1]);
    if (owner == by_number_.end()) return;
    FileRecord& file = *owner->second;
    spend(file, call);
    const std::int64_t result = arguments.result.value_or(-1);
    if (!call.signature()->transfer || result <= 0) return;
    const bool write = name.find("write") != std::string::npos;
    auto& use = file.layers[layer_index(Layer::kPosix)];
    (write ? use.written : use.read) += static_cast<std::uint64_t>(result);
  }

  const recorder::ProcessCalls& process_;
  std::int64_t rank_;
  FileTable& files_;
  std::unordered_map<std::int64_t, DatasetDefinition> datasets_;  // by object
  std::unordered_map<std::int64_t, FileRecord*> by_number_;       // iotune_file
  std::unordered_map<std::int64_t, FileRecord*> hdf5_owner_, mpi_owner_;
  std::unordered_map<std::uint32_t, const Call*> last_open_;  // by thread
};

}  // namespace

void walk_process(const recorder::ProcessCalls& process, std::int64_t rank, FileTable& files) {
  Walk(process, rank, files).run();
}

}  // namespace iotune::analyzer
