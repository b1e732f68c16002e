#include "analyzer/calls/process_walk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/bytes/byte_shares.h"
#include "analyzer/calls/call_facts.h"
#include "analyzer/calls/call_owners.h"
#include "analyzer/calls/late_bytes.h"
#include "analyzer/calls/walk_needs.h"
#include "analyzer/datasets/dataset_selection.h"
#include "analyzer/datasets/dataset_versions.h"
#include "analyzer/summary/file_notes.h"
#include "analyzer/summary/saturating.h"
#include "recorder/read/access_words.h"
#include "recorder/read/call_arguments.h"
#include "recorder/read/call_walk.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallArguments;
using recorder::CallSignature;
using recorder::StreamTotals;
using recorder::TransferExtras;

constexpr std::size_t layer_index(Layer layer) {
  return static_cast<std::size_t>(layer);
}

class Walk {
 public:
  // `alike`: what the process does, others do elsewhere.
  Walk(FileTable& table, bool alike) : table_(table), alike_(alike), bytes_(alike) {}

  void run(AlikeRanks& ranks, const std::vector<Member>& members) {
    const recorder::ProcessCalls& process = ranks.first();
    const CallOwners owners = owners_of(process);
    datasets_ = &owners.datasets;
    know_files(owners.files);
    for (std::size_t i = 0; i < process.calls.size(); ++i) {
      follow(i, process.calls[i], owners.file_of_call[i], owners.is_inner[i]);
    }
    finish_member(members[0]);
    for (std::size_t k = 1; k < ranks.size(); ++k) {
      move_as_member(ranks, k);
      bytes_.move_as_member(ranks, k);
      regions_.move_as_member(ranks, k);
      finish_member(members[k]);
    }
  }

  // The next group of a long process; its calls are counted. False at the end.
  bool follow_group(recorder::ProcessWalk& calls, WalkedCalls& walked) {
    if (!calls.next(group_)) return false;
    count(group_.left_out, walked);
    if (!group_.totals.empty()) {
      if (follow_totals(walked)) return true;
      if (!calls.calls_of(group_)) return true;
    }
    datasets_ = &owners_.datasets();
    // Threads may note a dataset down after one of them used it.
    for (const Call* call : group_.calls) {
      const CallSignature* const signature = call->signature();
      if (signature != nullptr && facts_of(*signature).note == CallFacts::Note::kDataset) {
        owners_.define_dataset(*call);
      }
    }
    file_of_call_.assign(group_.calls.size(), CallOwners::kNone);
    is_inner_.assign(group_.calls.size(), false);
    for (const std::uint32_t at : group_.by_end) {
      file_of_call_[at] = owners_.follow(walked.calls + at, *group_.calls[at]);
      is_inner_[at] = owners_.is_inner(*group_.calls[at]);
      const auto& opened = owners_.opened();
      if (opened && opened->first >= walked.calls) {
        file_of_call_[opened->first - walked.calls] = opened->second;
      }
    }
    know_files(owners_.files());
    for (const std::uint32_t at : group_.by_end) {
      const Call& call = *group_.calls[at];
      walked.first_ns = std::min(walked.first_ns, call.start_ns);
      walked.last_ns = std::max(walked.last_ns, call.end_ns());
      follow(walked.calls + at, call, file_of_call_[at], is_inner_[at]);
    }
    walked.calls += group_.calls.size();
    return true;
  }

  // What a process moved of each dataset is complete.
  void finish_member(const Member& member);

  // Between two groups.
  template <class A>
  void archive(A& a) {
    a(owners_, versions_, bytes_, late_, shares_, uses_, notes_, regions_);
    if constexpr (A::kReads) know_files(owners_.files());
  }

 private:
  struct FileUse {
    std::uint64_t nanoseconds = 0;                     // in outermost calls
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;  // after the process's start
    std::uint64_t written[4] = {}, read[4] = {};       // by layer, in outermost calls
    bool open = false;                                 // not closed by its last call
    template <class A>
    void archive(A& a) {
      a(nanoseconds, first_ns, last_ns, written, read, open);
    }
  };
  struct Share {
    explicit Share(std::size_t dimensions) : region(dimensions) {}
    Region region;
    std::uint64_t nanoseconds = 0, calls = 0;
    // What one process's transfers moved of each element, in their own memory types (one field of a
    // compound), and how many elements.
    double memory_bytes = 0, points = 0;
    recorder::ActualCounts actual;
    std::uint64_t first_ns = UINT64_MAX;  // after the process's start
    FileRecord* file = nullptr;
    bool write = false;
    template <class A>
    void archive(A& a) {
      a(region, nanoseconds, calls, memory_bytes, points, actual.modes, actual.causes, first_ns,
        file, write);
    }
  };
  // One dataset of one call, as the other members made it too.
  struct Transfer {
    DatasetRecord* record;
    std::size_t call, place;
    bool scalar;
  };

  void know_files(const std::vector<std::string>& paths) {
    while (files_.size() < paths.size()) files_.push_back(&table_[paths[files_.size()]]);
  }

  // A call on the file of that number, in the order of their ends.
  void follow(std::size_t index, const Call& call, std::int32_t owner, bool inner) {
    if (call.signature() == nullptr) return;
    const CallSignature& signature = *call.signature();
    const CallFacts& facts = facts_of(signature);
    if (regions_.follow(index, call, alike_)) return;
    versions_.follow(call);
    const bool of_bytes = owner != CallOwners::kNone && !inner && signature.transfer &&
                          signature.layer != Layer::kHdf5;
    bytes_.follow(index, call, of_bytes ? files_[static_cast<std::size_t>(owner)] : nullptr,
                  facts.writes);
    if (owner == CallOwners::kNone) return;
    FileRecord& file = *files_[static_cast<std::size_t>(owner)];
    const bool note = signature.layer == Layer::kIotune;
    if (!note) spend(file, call, facts);
    if (!note && signature.layer == Layer::kHdf5 && !signature.transfer) settle(file, call, facts);
    if (!note && !signature.transfer) return;
    if (!note && signature.layer != Layer::kHdf5) {
      if (inner && facts.writes) follow_below(file, call);
      if (!inner) count(file, signature.layer, facts.writes, recorder::access_words(call));
      return;
    }
    if (!read_arguments(call, arguments_)) return;
    if (facts.note == CallFacts::Note::kDataset) {
      const std::int64_t object = arguments_.find("object")->numbers[0];
      const auto found = datasets_->find(object);
      if (found != datasets_->end()) versions_.name(file, object, found->second);
    } else if (note) {
      notes_.take(file, facts.note, arguments_);
      const bool of_hdf5 =
          facts.note == CallFacts::Note::kFile &&
          arguments_.find("layer")->numbers[0] == static_cast<std::int64_t>(Layer::kHdf5);
      if (of_hdf5) versions_.opened(file, call.thread);
    } else {
      hdf5_transfer(file, index, call, arguments_, facts.writes);
    }
  }

  static void count(const recorder::LeftOut& calls, WalkedCalls& walked) {
    walked.calls += calls.calls;
    walked.first_ns = std::min(walked.first_ns, calls.first_ns);
    walked.last_ns = std::max(walked.last_ns, calls.last_ns);
  }

  // The file whose use the stream's calls are; nullptr: of none.
  FileRecord* file_of(const StreamTotals& totals, const Call& first) const {
    if (totals.stream->layers != 0) return nullptr;
    const std::int32_t owner = owners_.of_transfer(first);
    return owner == OwnerFollower::kNone ? nullptr : files_[static_cast<std::size_t>(owner)];
  }

  // Whether the stream's transfers all moved something, those of MPI-IO by one handle.
  bool may_be_summed(const StreamTotals& totals) {
    const recorder::CallMeaning& meaning = totals.stream->signature->meaning;
    const std::int8_t place = meaning.handle_place;
    if (place >= 0 && static_cast<std::size_t>(place) >= totals.width) return false;
    const auto handle = [&](std::span<const std::int64_t> numbers) {
      return place < 0 ? 0 : numbers[static_cast<std::size_t>(place)];
    };
    const std::int64_t first = handle(first_call(totals).numbers);
    const recorder::MovedBytes moved = recorder::moved_bytes(*totals.stream->signature);
    const int offset = meaning.offset_place;
    return recorder::each_run(totals, offset, [&](auto numbers, std::uint64_t, std::int64_t) {
      return moved.of(numbers) > 0 && handle(numbers) == first;
    });
  }

  // A batch without single calls. False, with nothing done, where the totals say too little.
  bool follow_totals(WalkedCalls& walked) {
    int by_pointer = 0;
    for (const StreamTotals& totals : group_.totals) {
      const Call first = first_call(totals);
      const CallFacts& facts = facts_of(*first.signature());
      const bool sums = file_of(totals, first) != nullptr && first.signature()->transfer &&
                        !owners_.is_inner(first);
      if (sums && !may_be_summed(totals)) return false;
      // Calls that move one pointer in turns.
      const bool mpi = first.signature()->layer == Layer::kMpiIo && totals.stream->layers == 0;
      if (mpi && !facts.explicit_offset && ++by_pointer > 1) return false;
      // Not even known whose pointer they move.
      if (mpi && !sums) return false;
      // What HDF5 writes outside of its calls belongs to the datasets that wait for it.
      if (totals.stream->layers == 0 && facts.writes && owners_.is_inner(first)) return false;
    }
    for (const StreamTotals& totals : group_.totals) {
      count({totals.calls, totals.first_start_ns, totals.last_end_ns}, walked);
      const Call first = first_call(totals);
      FileRecord* const file = file_of(totals, first);
      if (file == nullptr) continue;
      FileUse& use = uses_[file];
      use.first_ns = std::min(use.first_ns, totals.first_start_ns);
      use.last_ns = std::max(use.last_ns, totals.last_end_ns);
      use.nanoseconds += totals.sum_ns;
      use.open = true;
      if (!first.signature()->transfer || owners_.is_inner(first)) continue;
      const bool write = facts_of(*first.signature()).writes;
      count_bytes(*file, first.signature()->layer, write, bytes_.follow_all(totals, *file, write));
    }
    return true;
  }

  // A write that HDF5 made itself: within its calls, or outside of all that are recorded.
  void follow_below(FileRecord& file, const Call& call) {
    const std::int64_t bytes = recorder::access_words(call).length_bytes.value_or(0);
    if (bytes <= 0) return;
    if (call.layers() == kInHdf5) {
      late_.moved_below(call.thread, static_cast<std::uint64_t>(bytes));
    } else if (call.layers() == 0) {
      add_late(late_.settle(file, std::nullopt, static_cast<double>(bytes), call.duration_ns));
    }
  }

  // A call of HDF5 that may write what transfers left in its buffers.
  void settle(FileRecord& file, const Call& call, const CallFacts& facts) {
    if (call.layers() != 0) return;
    const auto below = static_cast<double>(late_.take_below(call.thread));
    if (below == 0 || call.numbers.empty()) return;
    std::optional<std::int64_t> dataset;
    if (facts.of_dataset || facts.of_object) dataset = handle_of(call);
    add_late(late_.settle(file, dataset, below, call.duration_ns));
  }

  void add_late(const std::vector<LateBytes::Part>& parts) {
    for (const LateBytes::Part& part : parts) {
      const auto share = shares_.find(part.dataset);
      if (share != shares_.end()) share->second.nanoseconds += part.nanoseconds;
    }
  }

  // What another member moved instead.
  void move_as_member(AlikeRanks& ranks, std::size_t k) {
    for (auto& [record, share] : shares_) share.region = Region(record->dims.size());
    for (const Transfer& transfer : transfers_) {
      const Call call = ranks.call_of(transfer.call, k);
      if (!read_arguments(call, arguments_)) continue;
      const std::vector<TransferExtras> all = recorder::transfer_extras(arguments_);
      if (transfer.place >= all.size()) continue;
      add_to(*transfer.record, all[transfer.place], transfer.scalar);
    }
  }

  static std::uint64_t bytes_of(const Share& share, std::uint64_t element_bytes) {
    const std::uint64_t points = share.region.points_moved();
    const double whole = share.points * static_cast<double>(element_bytes);
    if (share.memory_bytes == whole || share.points == 0) {
      return saturating_product(points, element_bytes);
    }
    const double bytes = static_cast<double>(points) * (share.memory_bytes / share.points);
    return bytes < 9e18 ? static_cast<std::uint64_t>(bytes + 0.5) : UINT64_MAX;
  }

  // Counts the call's time for the file if it is an outermost one.
  void spend(FileRecord& file, const Call& call, const CallFacts& facts) {
    // What runs the program's own code has that code's calls inside of its time.
    if (call.layers() != 0 || facts.runs_program) return;
    FileUse& use = uses_[&file];
    use.first_ns = std::min(use.first_ns, call.start_ns);
    use.last_ns = std::max(use.last_ns, call.end_ns());
    use.nanoseconds += call.duration_ns;
    use.open = !facts.closes_file;
  }

  // A call on several datasets is one transfer: its time is divided by the bytes of each.
  void hdf5_transfer(FileRecord& file, std::size_t index, const Call& call,
                     const CallArguments& arguments, bool write) {
    const auto below = static_cast<double>(late_.take_below(call.thread));
    if (arguments.result.value_or(-1) < 0) return;
    const std::vector<TransferExtras> all = recorder::transfer_extras(arguments);
    const auto weight = [](const TransferExtras& extras) {
      return static_cast<double>(std::max<std::int64_t>(extras.points, 0)) *
             static_cast<double>(extras.type_bytes);
    };
    double sum = 0;
    for (const TransferExtras& extras : all) sum += weight(extras);
    for (std::size_t place = 0; place < all.size(); ++place) {
      const double part = all.size() > 1 && sum > 0 ? weight(all[place]) / sum
                                                    : 1.0 / static_cast<double>(all.size());
      const auto nanoseconds =
          all.size() == 1
              ? call.duration_ns
              : static_cast<std::uint64_t>(part * static_cast<double>(call.duration_ns));
      DatasetRecord* const record = dataset_transfer(file, call, {nullptr, index, place, false},
                                                     all[place], write, nanoseconds);
      if (record != nullptr && write) {
        const std::int64_t id = arguments.find("dataset")->numbers[place];
        late_.wrote(file, id, *record, weight(all[place]), part * below);
      }
    }
  }

  // nullptr: nobody said what its dataset is.
  DatasetRecord* dataset_transfer(FileRecord& file, const Call& call, Transfer transfer,
                                  const TransferExtras& extras, bool write,
                                  std::uint64_t nanoseconds) {
    const auto found = datasets_->find(extras.object);
    if (found == datasets_->end()) return nullptr;
    const DatasetDefinition& definition = found->second;
    file.layers[layer_index(Layer::kHdf5)].opened = true;

    DatasetRecord& dataset = versions_.record_of(file, extras.object, definition, write);
    dataset.independent = dataset.independent || extras.mode == 0;
    dataset.collective = dataset.collective || extras.mode == 1;
    Share& share = shares_.try_emplace(&dataset, dataset.dims.size()).first->second;
    share.file = &file;
    share.write = write;
    share.nanoseconds += nanoseconds;
    share.first_ns = std::min(share.first_ns, call.start_ns);
    ++share.calls;
    const auto points = static_cast<double>(std::max<std::int64_t>(extras.points, 0));
    const bool known = extras.type_bytes > 0;
    share.points += points;
    share.memory_bytes +=
        points * static_cast<double>(known ? static_cast<std::uint64_t>(extras.type_bytes)
                                           : dataset.element_bytes);
    if (extras.actual) share.actual.add(*extras.actual);
    transfer.record = &dataset;
    transfer.scalar = extras.file.dimensions == 0 && definition.dims.size() == 1;
    add_to(dataset, extras, transfer.scalar);
    if (alike_) transfers_.push_back(transfer);
    return &dataset;
  }

  void add_to(DatasetRecord& dataset, const TransferExtras& extras, bool scalar) {
    add_selection(extras.file, static_cast<std::uint64_t>(std::max<std::int64_t>(0, extras.points)),
                  scalar, dataset.dims, shares_.at(&dataset).region);
  }

  void count(FileRecord& file, Layer layer, bool write, const recorder::AccessWords& words) {
    const std::int64_t bytes = words.length_bytes.value_or(0);
    if (bytes > 0) count_bytes(file, layer, write, static_cast<std::uint64_t>(bytes));
  }
  void count_bytes(FileRecord& file, Layer layer, bool write, std::uint64_t bytes) {
    FileUse& use = uses_[&file];
    std::uint64_t& moved = (write ? use.written : use.read)[layer_index(layer)];
    moved = saturating_sum(moved, bytes);
  }

  FileTable& table_;
  bool alike_;
  CallArguments arguments_;  // of the call that is followed
  // Of a long process:
  OwnerFollower owners_;
  recorder::CallGroup group_;
  std::vector<std::int32_t> file_of_call_;
  std::vector<bool> is_inner_;
  // Said of datasets so far.
  const std::unordered_map<std::int64_t, DatasetDefinition>* datasets_ = nullptr;
  std::vector<FileRecord*> files_;  // by number, as their owners count
  DatasetVersions versions_;
  ByteShares bytes_;
  LateBytes late_;
  std::map<DatasetRecord*, Share> shares_;
  std::map<FileRecord*, FileUse> uses_;
  FileNotes notes_;
  RegionNotes regions_;
  std::vector<Transfer> transfers_;  // where other members made them too
};

void Walk::finish_member(const Member& member) {
  const std::uint64_t wall_ns = member.wall_ns;
  regions_.finish(table_.regions, wall_ns);
  for (auto& [record, share] : shares_) {
    share.region.finish();
    record->decomposition.add(share.region);
    record->calls += share.calls;
    record->actual.add(share.actual);
    record->first_transfer_ns = std::min(record->first_transfer_ns, wall_ns + share.first_ns);
    record->slowest_nanoseconds = std::max(record->slowest_nanoseconds, share.nanoseconds);
    const std::uint64_t bytes = bytes_of(share, record->element_bytes);
    record->bytes = saturating_sum(record->bytes, bytes);
    auto& use = share.file->layers[layer_index(Layer::kHdf5)];
    std::uint64_t& moved = share.write ? use.written : use.read;
    moved = saturating_sum(moved, bytes);
    if (share.region.empty()) continue;
    record->repeats = std::min(record->repeats, share.region.times_moved());
  }
  std::uint64_t nanoseconds = 0;
  for (const auto& [file, use] : uses_) {
    nanoseconds += use.nanoseconds;
    file->slowest_nanoseconds = std::max(file->slowest_nanoseconds, use.nanoseconds);
    file->cut_short = file->cut_short || (member.died && use.open);
    if (use.first_ns != UINT64_MAX) {
      file->first_open_ns = std::min(file->first_open_ns, wall_ns + use.first_ns);
      file->last_end_ns = std::max(file->last_end_ns, wall_ns + use.last_ns);
    }
    for (std::size_t layer = 0; layer < 4; ++layer) {
      auto& all = file->layers[layer];
      all.written = saturating_sum(all.written, use.written[layer]);
      all.read = saturating_sum(all.read, use.read[layer]);
    }
  }
  table_.slowest_nanoseconds = std::max(table_.slowest_nanoseconds, nanoseconds);
  bytes_.finish_member(wall_ns);
}

}  // namespace

void walk_processes(AlikeRanks& ranks, const std::vector<Member>& members, FileTable& files) {
  Walk(files, ranks.size() > 1).run(ranks, members);
}

struct LongWalk::State {
  const recorder::TraceIndex& index;
  std::size_t process;
  Member member;
  Walk walk;
  recorder::ProcessWalk calls;
  WalkedCalls walked;
  std::uint64_t unreadable_before = 0;
};

LongWalk::LongWalk(const recorder::TraceIndex& index, std::size_t process, const Member& member,
                   FileTable& files)
    : state_(new State{index,
                       process,
                       member,
                       Walk(files, false),
                       recorder::ProcessWalk(index, process, UINT64_MAX, {}, walk_needs()),
                       {}}) {}
LongWalk::~LongWalk() = default;
LongWalk::LongWalk(LongWalk&&) noexcept = default;

bool LongWalk::go_on(const StopWhen& stop) {
  // To ask for the time costs as much as some calls.
  constexpr std::uint64_t kCallsBetween = 256;
  std::uint64_t asked = state_->walked.calls;
  while (state_->walk.follow_group(state_->calls, state_->walked)) {
    if (state_->walked.calls - asked < kCallsBetween) continue;
    asked = state_->walked.calls;
    if (stop()) return false;
  }
  state_->walk.finish_member(state_->member);
  state_->walked.unreadable_batches =
      state_->unreadable_before + state_->calls.unreadable_batches();
  return true;
}

const WalkedCalls& LongWalk::walked() const {
  return state_->walked;
}

void LongWalk::save(ArchiveWriter& to) {
  std::vector<recorder::WalkPosition> positions = state_->calls.positions();
  std::uint64_t unreadable = state_->unreadable_before + state_->calls.unreadable_batches();
  to(positions, unreadable, state_->walked, state_->walk);
}

void LongWalk::load(ArchiveReader& from) {
  std::vector<recorder::WalkPosition> positions;
  from(positions, state_->unreadable_before, state_->walked, state_->walk);
  state_->calls = recorder::ProcessWalk(state_->index, state_->process, UINT64_MAX,
                                        std::move(positions), walk_needs());
}

}  // namespace iotune::analyzer
