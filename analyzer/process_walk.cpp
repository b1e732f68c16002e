#include "analyzer/process_walk.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/call_owners.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallArguments;
using recorder::CallSignature;
using recorder::Layer;
using recorder::TransferExtras;

constexpr std::size_t layer_index(Layer layer) {
  return static_cast<std::size_t>(layer);
}

class Walk {
 public:
  Walk(const recorder::ProcessCalls& process, std::int64_t rank, FileTable& files)
      : process_(process), rank_(rank), owners_(owners_of(process)) {
    for (const std::string& path : owners_.files) files_.push_back(&files[path]);
  }

  void run() {
    for (std::size_t i = 0; i < process_.calls.size(); ++i) {
      const std::int32_t owner = owners_.file_of_call[i];
      if (owner == CallOwners::kNone) continue;
      const Call& call = process_.calls[i];
      FileRecord& file = *files_[static_cast<std::size_t>(owner)];
      const CallSignature& signature = *call.signature();
      const std::optional<CallArguments> arguments = arguments_of(call);
      if (signature.layer == Layer::kIotune) {
        note(file, call, *arguments);
        continue;
      }
      spend(file, call);
      if (!signature.transfer) continue;
      const bool write = call.name().find("write") != std::string::npos;
      if (signature.layer == Layer::kHdf5) {
        hdf5_transfer(file, call, *arguments, write);
      } else if (signature.layer == Layer::kMpiIo) {
        count(file, Layer::kMpiIo, write, mpi_bytes(signature, *arguments));
      } else {
        // stdio's result counts items.
        const std::int64_t bytes = arguments->number(signature, "bytes").value_or(-1);
        count(file, signature.layer, write,
              signature.layer == Layer::kStdio ? bytes : arguments->result.value_or(-1));
      }
    }
  }

 private:
  void note(FileRecord& file, const Call& call, const CallArguments& arguments) {
    const std::string& name = call.name();
    if (name == "iotune_file") {
      const std::int64_t layer = arguments.find("layer")->numbers[0];
      if (layer >= 0 && layer < 4) file.layers[layer].opened = true;
    } else if (name == "iotune_decision") {
      note_decision(file, arguments);
    } else if (name == "iotune_setting") {
      note_setting(file, arguments);
    }
  }

  void note_decision(FileRecord& file, const CallArguments& arguments) {
    static constexpr const char* kStates[] = {"untrained", "default-is-best", "tuned", "reverted",
                                              "refused"};
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

  void note_setting(FileRecord& file, const CallArguments& arguments) {
    static constexpr const char* kVerdicts[] = {"applied", "without effect", "refused",
                                                "unverifiable"};
    SettingOutcome outcome;
    outcome.parameter = arguments.find("parameter")->text;
    outcome.wanted = arguments.find("wanted")->text;
    outcome.got = arguments.find("got")->text;
    outcome.reason = arguments.find("reason")->text;
    const std::int64_t verdict = arguments.find("verdict")->numbers[0];
    if (verdict >= 0 && verdict < 4) outcome.verdict = kVerdicts[verdict];
    auto& settings = file.settings;
    const bool known =
        std::any_of(settings.begin(), settings.end(), [&](const SettingOutcome& other) {
          return other.parameter == outcome.parameter && other.wanted == outcome.wanted &&
                 other.got == outcome.got && other.verdict == outcome.verdict &&
                 other.reason == outcome.reason;
        });
    if (!known) settings.push_back(std::move(outcome));
  }

  // Counts the call's time for the file if it is an outermost one.
  void spend(FileRecord& file, const Call& call) {
    // What runs the program's own code has that code's calls inside of its time.
    const bool calls_back = call.name().find("iterate") != std::string::npos ||
                            call.name().find("visit") != std::string::npos;
    if (call.layers() != 0 || calls_back) return;
    const std::uint64_t start = process_.wall_ns() + call.start_ns;
    file.first_open_ns = std::min(file.first_open_ns, start);
    file.last_end_ns = std::max(file.last_end_ns, start + call.duration_ns);
    file.nanoseconds_by_rank[rank_] += call.duration_ns;
  }

  // A call on several datasets is one transfer: its time is divided by the bytes of each.
  void hdf5_transfer(FileRecord& file, const Call& call, const CallArguments& arguments,
                     bool write) {
    if (arguments.result.value_or(-1) < 0) return;
    const std::vector<TransferExtras> all = recorder::transfer_extras(arguments);
    const auto weight = [](const TransferExtras& extras) {
      return static_cast<double>(std::max<std::int64_t>(extras.points, 0)) *
             static_cast<double>(extras.type_bytes);
    };
    double sum = 0;
    for (const TransferExtras& extras : all) sum += weight(extras);
    for (const TransferExtras& extras : all) {
      const double part =
          all.size() > 1 && sum > 0 ? weight(extras) / sum : 1.0 / static_cast<double>(all.size());
      const auto nanoseconds =
          all.size() == 1
              ? call.duration_ns
              : static_cast<std::uint64_t>(part * static_cast<double>(call.duration_ns));
      dataset_transfer(file, call, extras, write, nanoseconds);
    }
  }

  void dataset_transfer(FileRecord& file, const Call& call, const TransferExtras& extras,
                        bool write, std::uint64_t nanoseconds) {
    const auto found = owners_.datasets.find(extras.object);
    if (found == owners_.datasets.end()) return;
    const DatasetDefinition& definition = found->second;
    file.layers[layer_index(Layer::kHdf5)].opened = true;

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
    dataset.independent = dataset.independent || extras.mode == 0;
    dataset.collective = dataset.collective || extras.mode == 1;
    DatasetRecord::Share& share =
        dataset.by_rank.try_emplace(rank_, dataset.dims.size()).first->second;
    share.nanoseconds += nanoseconds;
    const std::uint64_t before = share.region.points_moved();
    add_selection(extras, definition, dataset.dims, share.region);
    const std::uint64_t bytes = (share.region.points_moved() - before) * definition.element_bytes;
    auto& use = file.layers[layer_index(Layer::kHdf5)];
    (write ? use.written : use.read) += bytes;
  }

  static void add_selection(const TransferExtras& extras, const DatasetDefinition& definition,
                            std::vector<std::uint64_t>& dims, Region& region) {
    using Kind = recorder::Selection::Kind;
    const recorder::Selection& selection = extras.file;
    const auto points = static_cast<std::uint64_t>(std::max<std::int64_t>(0, extras.points));
    if (selection.kind == Kind::kNone || points == 0) return;
    const bool scalar = selection.dimensions == 0 && definition.dims.size() == 1;
    if (selection.kind == Kind::kAll && scalar) {
      region.add({IndexSet::interval(0, points)});
      return;
    }
    if (selection.kind == Kind::kUnknown || selection.dimensions != region.dimensions()) {
      region.add_unknown({}, {}, points);
      return;
    }
    const std::size_t n = selection.dimensions;
    const auto corner = [&](std::size_t row, std::size_t d) {
      return static_cast<std::uint64_t>(selection.row(row)[d]);
    };
    const auto box = [&](std::size_t first, std::size_t last) {
      Product product;
      for (std::size_t d = 0; d < n; ++d) {
        const std::uint64_t from = corner(first, d), to = corner(last, d);
        product.push_back(IndexSet::interval(from, to >= from ? to - from + 1 : 0));
      }
      return product;
    };
    switch (selection.kind) {
      case Kind::kAll: {
        Product product;
        for (std::size_t d = 0; d < n; ++d) {
          product.push_back(IndexSet::interval(0, corner(0, d)));
          // What was selected is newer than what was said when the dataset was first seen.
          dims[d] = std::max(dims[d], corner(0, d));
        }
        region.add(std::move(product));
        break;
      }
      case Kind::kRegular: {
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
      case Kind::kBlocks:
        for (std::size_t i = 0; i < selection.entries; ++i) region.add(box(2 * i, 2 * i + 1));
        break;
      case Kind::kPoints:
        for (std::size_t i = 0; i < selection.entries; ++i) region.add(box(i, i));
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

  static void count(FileRecord& file, Layer layer, bool write, std::int64_t bytes) {
    if (bytes <= 0) return;
    auto& use = file.layers[layer_index(layer)];
    (write ? use.written : use.read) += static_cast<std::uint64_t>(bytes);
  }

  static std::int64_t mpi_bytes(const CallSignature& signature, const CallArguments& arguments) {
    if (arguments.result.value_or(-1) != 0) return 0;
    return arguments.number(signature, "count").value_or(0) *
           arguments.number(signature, "type_bytes").value_or(0);
  }

  const recorder::ProcessCalls& process_;
  std::int64_t rank_;
  CallOwners owners_;
  std::vector<FileRecord*> files_;  // as owners_.files
};

}  // namespace

void walk_process(const recorder::ProcessCalls& process, std::int64_t rank, FileTable& files) {
  Walk(process, rank, files).run();
}

}  // namespace iotune::analyzer
