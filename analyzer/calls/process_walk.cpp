#include "analyzer/calls/process_walk.h"

#include <algorithm>
#include <vector>

#include "analyzer/bytes/byte_shares.h"
#include "analyzer/calls/call_facts.h"
#include "analyzer/calls/call_owners.h"
#include "analyzer/calls/dataset_shares.h"
#include "analyzer/calls/file_uses.h"
#include "analyzer/calls/walk_needs.h"
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

class Walk {
 public:
  // `alike`: what the process does, others do elsewhere.
  Walk(FileTable& table, bool alike)
      : table_(table), alike_(alike), bytes_(alike), shares_(versions_, alike) {}

  void run(AlikeRanks& ranks, const std::vector<Member>& members) {
    const recorder::ProcessCalls& process = ranks.first();
    const CallOwners owners = owners_of(process);
    shares_.know(owners.datasets);
    know_files(owners.files);
    for (std::size_t i = 0; i < process.calls.size(); ++i) {
      follow(i, process.calls[i], owners.file_of_call[i], owners.is_inner[i]);
    }
    finish_member(members[0]);
    for (std::size_t k = 1; k < ranks.size(); ++k) {
      shares_.move_as_member(ranks, k);
      bytes_.move_as_member(ranks, k);
      regions_.move_as_member(ranks, k);
      finish_member(members[k]);
    }
  }

  // The next group of a long process; its calls are counted. False at the end.
  bool follow_group(recorder::ProcessWalk& calls, WalkedCalls& walked) {
    if (!calls.next(group_)) return false;
    count(group_.left_out, walked);
    shares_.know(owners_.datasets());
    if (!group_.totals.empty()) {
      if (follow_totals(walked)) return true;
      if (!calls.calls_of(group_)) return true;
    }
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
  void finish_member(const Member& member) {
    regions_.finish(table_.regions, member.wall_ns);
    shares_.finish_member(member.wall_ns);
    const std::uint64_t nanoseconds = uses_.finish_member(member.wall_ns, member.died);
    table_.slowest_nanoseconds = std::max(table_.slowest_nanoseconds, nanoseconds);
    bytes_.finish_member(member.wall_ns);
  }

  // Between two groups.
  template <class A>
  void archive(A& a) {
    a(owners_, versions_, bytes_, shares_, uses_, notes_, regions_);
    if constexpr (A::kReads) know_files(owners_.files());
  }

 private:
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
    if (call.layers() == kInMpiIo && signature.transfer) {
      bytes_.moved_below(call, file, facts.writes);
    }
    const bool note = signature.layer == Layer::kIotune;
    if (!note) uses_.spend(file, call, facts);
    if (!note && signature.layer == Layer::kHdf5 && !signature.transfer) {
      shares_.settle(file, call, facts);
    }
    if (!note && !signature.transfer) return;
    if (!note && signature.layer != Layer::kHdf5) {
      if (inner && facts.writes) shares_.moved_below(file, call);
      if (!inner) {
        const std::int64_t bytes = recorder::access_words(call).length_bytes.value_or(0);
        uses_.moved(file, signature.layer, facts.writes,
                    static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
      }
      return;
    }
    if (!read_arguments(call, arguments_)) return;
    if (facts.note == CallFacts::Note::kDataset) {
      const std::int64_t object = arguments_.find("object")->numbers[0];
      const DatasetDefinition* const found = shares_.definition(object);
      if (found != nullptr) versions_.name(file, object, *found);
    } else if (note) {
      notes_.take(file, facts.note, arguments_);
      const bool of_hdf5 =
          facts.note == CallFacts::Note::kFile &&
          arguments_.find("layer")->numbers[0] == static_cast<std::int64_t>(Layer::kHdf5);
      if (of_hdf5) versions_.opened(file, call.thread);
    } else {
      shares_.transfer(file, index, call, arguments_, facts.writes);
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
    std::erase_if(group_.totals, [](const StreamTotals& totals) {
      return totals.stream->signature != nullptr && totals.stream->signature->meaning.order;
    });
    for (const StreamTotals& totals : group_.totals) {
      const Call first = first_call(totals);
      const CallFacts& facts = facts_of(*first.signature());
      if (asks_of_file(totals) && !has_one_handle(totals)) return false;
      const bool sums = file_of(totals, first) != nullptr && first.signature()->transfer &&
                        !owners_.is_inner(first);
      if (sums && !may_be_summed(totals)) return false;
      // Calls that move one pointer in turns.
      const bool mpi = first.signature()->layer == Layer::kMpiIo && totals.stream->layers == 0;
      if (mpi && !facts.explicit_offset && ++by_pointer > 1) return false;
      // Not even known whose pointer they move.
      if (mpi && !sums) return false;
      // Their places stand in the calls of POSIX within them.
      if (mpi && !bytes_.are_placed(totals)) return false;
      // What HDF5 writes outside of its calls belongs to the datasets that wait for it.
      if (totals.stream->layers == 0 && facts.writes && owners_.is_inner(first)) return false;
    }
    const double below = late_part();
    for (const StreamTotals& totals : group_.totals) {
      count({totals.calls, totals.first_start_ns, totals.last_end_ns}, walked);
      const Call first = first_call(totals);
      if (moves_one_dataset(*first.signature())) {
        transfer_all(totals, below);
        continue;
      }
      if (asks_of_file(totals)) {
        const std::int32_t owner = owners_.follow(0, first);
        if (owner != OwnerFollower::kNone) uses_.spend(known_file(owner), totals, totals.sum_ns);
        continue;
      }
      FileRecord* const file = file_of(totals, first);
      if (file == nullptr) continue;
      uses_.spend(*file, totals, totals.sum_ns);
      if (!first.signature()->transfer || owners_.is_inner(first)) continue;
      const bool write = facts_of(*first.signature()).writes;
      uses_.moved(*file, first.signature()->layer, write, bytes_.follow_all(totals, *file, write));
    }
    return true;
  }

  // Calls of HDF5 that ask something of what is in a file, as H5Dget_space.
  static bool asks_of_file(const StreamTotals& totals) {
    const CallSignature& signature = *totals.stream->signature;
    return signature.layer == Layer::kHdf5 && !signature.transfer && facts_of(signature).has_file;
  }

  static bool has_one_handle(const StreamTotals& totals) {
    const std::int8_t place = totals.stream->signature->meaning.handle_place;
    if (place < 0 || static_cast<std::size_t>(place) >= totals.width) return false;
    const auto at = static_cast<std::size_t>(place);
    const std::int64_t handle = first_call(totals).numbers[at];
    return recorder::each_run(totals, place, [&](auto numbers, std::uint64_t, std::int64_t step) {
      return numbers[at] == handle && step == 0;
    });
  }

  FileRecord& known_file(std::int32_t owner) {
    know_files(owners_.files());
    return *files_[static_cast<std::size_t>(owner)];
  }

  // How much of each byte that HDF5's transfers of the batch wrote went on to the file. Which of
  // them it was is not asked for: all that counts in the end is what still waits.
  double late_part() {
    const auto thread = static_cast<std::uint32_t>(group_.totals_of->thread);
    double written = 0;
    bool any = false;
    for (const StreamTotals& totals : group_.totals) {
      const CallSignature& signature = *totals.stream->signature;
      if (moves_one_dataset(signature)) {
        any = true;
        if (!facts_of(signature).writes) continue;
        recorder::each_stretch(totals, [&](auto first, auto, std::uint64_t calls) {
          written += shares_.bytes_of(call_of(totals, first), calls);
          return true;
        });
        continue;
      }
      const bool inner =
          totals.stream->layers == kInHdf5 && signature.transfer && facts_of(signature).writes;
      if (!inner || owners_.of_transfer(first_call(totals)) == OwnerFollower::kNone) continue;
      const recorder::MovedBytes moved = recorder::moved_bytes(signature);
      recorder::each_run(totals, -1, [&](auto numbers, std::uint64_t calls, std::int64_t) {
        shares_.moved_below(thread, saturating_product(moved.of(numbers), calls));
        return true;
      });
    }
    return any ? static_cast<double>(shares_.take_below(thread)) / std::max(written, 1.0) : 0;
  }

  static Call call_of(const StreamTotals& totals, std::span<const std::int64_t> numbers) {
    return {totals.stream.get(), numbers, totals.first_start_ns, 0, 0, true};
  }

  // HDF5's transfers of single datasets. `below`: of each byte that was written.
  void transfer_all(const StreamTotals& totals, double below) {
    const bool write = facts_of(*totals.stream->signature).writes;
    const std::uint64_t whole_ns = totals.last_end_ns - totals.first_start_ns;
    std::vector<std::int64_t> numbers(totals.width);
    std::uint64_t before = 0;
    const auto part = [&](std::uint64_t all, std::uint64_t calls) {
      return static_cast<std::uint64_t>(static_cast<unsigned __int128>(all) * calls / totals.calls);
    };
    const auto take = [&](Call call, const DatasetShares::Moves& moves) {
      const std::uint64_t ns =
          part(totals.sum_ns, before + moves.calls) - part(totals.sum_ns, before);
      call.start_ns += part(whole_ns, before);
      before += moves.calls;
      const std::int32_t owner = owners_.follow(0, call);
      if (owner == OwnerFollower::kNone) return;
      FileRecord& file = known_file(owner);
      uses_.spend(file, totals, ns);
      shares_.transfer_all(file, call, moves, write, ns,
                           write ? below * shares_.bytes_of(call, moves.calls) : 0);
    };
    recorder::each_stretch(totals, [&](auto first, auto steps, std::uint64_t calls) {
      const Call call = call_of(totals, first);
      if (const auto moves = shares_.moves_of(call, steps, calls)) {
        take(call, *moves);
        return true;
      }
      for (std::uint64_t k = 0; k < calls; ++k) {
        recorder::numbers_of_call(first, steps, k, numbers);
        take(call_of(totals, numbers), {});
      }
      return true;
    });
  }

  FileTable& table_;
  bool alike_;
  CallArguments arguments_;  // of the call that is followed
  // Of a long process:
  OwnerFollower owners_;
  recorder::CallGroup group_;
  std::vector<std::int32_t> file_of_call_;
  std::vector<bool> is_inner_;
  std::vector<FileRecord*> files_;  // by number, as their owners count
  DatasetVersions versions_;
  ByteShares bytes_;
  DatasetShares shares_;
  FileUses uses_;
  FileNotes notes_;
  RegionNotes regions_;
};

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
