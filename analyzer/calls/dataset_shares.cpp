#include "analyzer/calls/dataset_shares.h"

#include <algorithm>
#include <optional>

#include "analyzer/calls/walk_needs.h"
#include "analyzer/datasets/dataset_selection.h"
#include "analyzer/summary/saturating.h"
#include "recorder/read/access_words.h"

namespace iotune::analyzer {

using recorder::Call;
using recorder::CallArguments;
using recorder::TransferExtras;

namespace {

double weight(const TransferExtras& extras) {
  return static_cast<double>(std::max<std::int64_t>(extras.points, 0)) *
         static_cast<double>(extras.type_bytes);
}

// Where `words`, a part of `numbers`, stand in it.
std::size_t place_in(std::span<const std::int64_t> numbers, std::span<const std::int64_t> words) {
  return static_cast<std::size_t>(words.data() - numbers.data());
}

}  // namespace

std::uint64_t DatasetShares::Share::bytes(std::uint64_t element_bytes) const {
  const std::uint64_t moved = region.points_moved();
  const double whole = points * static_cast<double>(element_bytes);
  if (memory_bytes == whole || points == 0) {
    return saturating_product(moved, element_bytes);
  }
  const double bytes = static_cast<double>(moved) * (memory_bytes / points);
  return bytes < 9e18 ? static_cast<std::uint64_t>(bytes + 0.5) : UINT64_MAX;
}

const DatasetDefinition* DatasetShares::definition(std::int64_t object) const {
  const auto found = definitions_->find(object);
  return found == definitions_->end() ? nullptr : &found->second;
}

void DatasetShares::moved_below(FileRecord& file, const Call& call) {
  const std::int64_t bytes = recorder::access_words(call).length_bytes.value_or(0);
  if (bytes <= 0) return;
  if (call.layers() == kInHdf5) {
    moved_below(call.thread, static_cast<std::uint64_t>(bytes));
  } else if (call.layers() == 0) {
    add_late(late_.settle(file, std::nullopt, static_cast<double>(bytes), call.duration_ns));
  }
}

void DatasetShares::settle(FileRecord& file, const Call& call, const CallFacts& facts) {
  if (call.layers() != 0) return;
  const auto below = static_cast<double>(late_.take_below(call.thread));
  if (below == 0 || call.numbers.empty()) return;
  std::optional<std::int64_t> dataset;
  if (facts.of_dataset || facts.of_object) dataset = handle_of(call);
  add_late(late_.settle(file, dataset, below, call.duration_ns));
}

void DatasetShares::add_late(const std::vector<LateBytes::Part>& parts) {
  for (const LateBytes::Part& part : parts) {
    const auto share = shares_.find(part.dataset);
    if (share != shares_.end()) share->second.nanoseconds += part.nanoseconds;
  }
}

void DatasetShares::move_as_member(AlikeRanks& ranks, std::size_t k) {
  for (auto& [record, share] : shares_) share.region = Region(record->dims.size());
  CallArguments arguments;
  for (const Transfer& transfer : transfers_) {
    const Call call = ranks.call_of(transfer.call, k);
    if (!read_arguments(call, arguments)) continue;
    const std::vector<TransferExtras> all = recorder::transfer_extras(arguments);
    if (transfer.place >= all.size()) continue;
    add_to(*transfer.record, all[transfer.place], transfer.scalar, {});
  }
}

void DatasetShares::transfer(FileRecord& file, std::size_t index, const Call& call,
                             const CallArguments& arguments, bool write) {
  const auto below = static_cast<double>(late_.take_below(call.thread));
  if (arguments.result.value_or(-1) < 0) return;
  const std::vector<TransferExtras> all = recorder::transfer_extras(arguments);
  double sum = 0;
  for (const TransferExtras& extras : all) sum += weight(extras);
  for (std::size_t place = 0; place < all.size(); ++place) {
    const double part = all.size() > 1 && sum > 0 ? weight(all[place]) / sum
                                                  : 1.0 / static_cast<double>(all.size());
    const auto nanoseconds =
        all.size() == 1 ? call.duration_ns
                        : static_cast<std::uint64_t>(part * static_cast<double>(call.duration_ns));
    DatasetRecord* const record = dataset_transfer(
        file, call, Transfer{nullptr, index, place, false}, all[place], write, nanoseconds, {});
    if (record != nullptr && write) {
      const std::int64_t id = arguments.find("dataset")->numbers[place];
      late_.wrote(file, id, *record, weight(all[place]), part * below);
    }
  }
}

std::optional<DatasetShares::Moves> DatasetShares::moves_of(const Call& first,
                                                            std::span<const std::int64_t> steps,
                                                            std::uint64_t calls) {
  if (calls == 1) return Moves{};
  const auto stays = [&](std::span<const std::int64_t> words) {
    const auto of_words = steps.subspan(place_in(first.numbers, words), words.size());
    return std::all_of(of_words.begin(), of_words.end(), [](auto step) { return step == 0; });
  };
  if (!read_arguments(first, arguments_)) return std::nullopt;
  const std::vector<TransferExtras> all = recorder::transfer_extras(arguments_);
  const recorder::ArgumentValue* const dataset = arguments_.find("dataset");
  if (all.size() != 1 || dataset == nullptr || !stays(dataset->numbers)) return std::nullopt;
  const std::span<const std::int64_t> numbers = first.numbers, extras = arguments_.extras;
  const std::span<const std::int64_t> selected = all[0].file.values;
  const std::size_t moved =
      all[0].file.kind == recorder::Selection::Kind::kRegular ? all[0].file.dimensions : 0;
  // The result, then what is said of the selection, its kind and its size.
  const std::size_t from = place_in(numbers, extras) - 1;
  const std::size_t at = selected.empty() ? numbers.size() : place_in(numbers, selected);
  if (!stays(numbers.subspan(from, at - from)) || !stays(selected.subspan(moved))) {
    return std::nullopt;
  }
  // What lies in memory is not looked at, but what comes behind it is.
  if (all[0].actual && !stays(numbers.last(3))) return std::nullopt;
  return Moves{calls, selected.empty() ? selected : steps.subspan(at, moved)};
}

void DatasetShares::transfer_all(FileRecord& file, const Call& first, const Moves& moves,
                                 bool write, std::uint64_t nanoseconds, double below) {
  if (!read_arguments(first, arguments_) || arguments_.result.value_or(-1) < 0) return;
  const std::vector<TransferExtras> all = recorder::transfer_extras(arguments_);
  if (all.size() != 1) return;
  DatasetRecord* const record =
      dataset_transfer(file, first, {}, all[0], write, nanoseconds, moves);
  if (record == nullptr || !write) return;
  const std::int64_t id = arguments_.find("dataset")->numbers[0];
  late_.wrote(file, id, *record, weight(all[0]) * static_cast<double>(moves.calls), below);
}

double DatasetShares::bytes_of(const Call& first, std::uint64_t calls) {
  if (!read_arguments(first, arguments_) || arguments_.result.value_or(-1) < 0) return 0;
  double bytes = 0;
  for (const TransferExtras& one : recorder::transfer_extras(arguments_)) bytes += weight(one);
  return bytes * static_cast<double>(calls);
}

DatasetRecord* DatasetShares::dataset_transfer(FileRecord& file, const Call& call,
                                               Transfer transfer, const TransferExtras& extras,
                                               bool write, std::uint64_t nanoseconds,
                                               const Moves& moves) {
  const DatasetDefinition* const defined = definition(extras.object);
  if (defined == nullptr) return nullptr;
  file.layers[static_cast<std::size_t>(Layer::kHdf5)].opened = true;

  DatasetRecord& dataset = versions_.record_of(file, extras.object, *defined, write);
  dataset.independent = dataset.independent || extras.mode == 0;
  dataset.collective = dataset.collective || extras.mode == 1;
  Share& share = shares_.try_emplace(&dataset, dataset.dims.size()).first->second;
  share.file = &file;
  share.write = write;
  share.nanoseconds += nanoseconds;
  share.first_ns = std::min(share.first_ns, call.start_ns);
  share.calls += moves.calls;
  const auto points = static_cast<double>(std::max<std::int64_t>(extras.points, 0)) *
                      static_cast<double>(moves.calls);
  const bool known = extras.type_bytes > 0;
  share.points += points;
  share.memory_bytes +=
      points * static_cast<double>(known ? static_cast<std::uint64_t>(extras.type_bytes)
                                         : dataset.element_bytes);
  if (extras.actual) share.actual.add(*extras.actual, moves.calls);
  transfer.record = &dataset;
  transfer.scalar = extras.file.dimensions == 0 && defined->dims.size() == 1;
  add_to(dataset, extras, transfer.scalar, moves);
  if (alike_) transfers_.push_back(transfer);
  return &dataset;
}

void DatasetShares::add_to(DatasetRecord& dataset, const TransferExtras& extras, bool scalar,
                           const Moves& moves) {
  add_selections(extras.file, moves.steps, moves.calls,
                 static_cast<std::uint64_t>(std::max<std::int64_t>(0, extras.points)), scalar,
                 dataset.dims, shares_.at(&dataset).region);
}

void DatasetShares::finish_member(std::uint64_t wall_ns) {
  for (auto& [record, share] : shares_) {
    share.region.finish();
    record->decomposition.add(share.region);
    record->calls += share.calls;
    record->actual.add(share.actual);
    record->first_transfer_ns = std::min(record->first_transfer_ns, wall_ns + share.first_ns);
    record->slowest_nanoseconds = std::max(record->slowest_nanoseconds, share.nanoseconds);
    const std::uint64_t bytes = share.bytes(record->element_bytes);
    record->bytes = saturating_sum(record->bytes, bytes);
    auto& use = share.file->layers[static_cast<std::size_t>(Layer::kHdf5)];
    std::uint64_t& moved = share.write ? use.written : use.read;
    moved = saturating_sum(moved, bytes);
    if (share.region.empty()) continue;
    record->repeats = std::min(record->repeats, share.region.times_moved());
  }
}

}  // namespace iotune::analyzer
