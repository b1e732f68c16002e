#include "analyzer/order/access_reader.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/calls/call_facts.h"
#include "analyzer/calls/call_owners.h"
#include "analyzer/calls/mpi_accesses.h"
#include "analyzer/index/nest.h"
#include "analyzer/order/changed_bytes.h"
#include "analyzer/order/file_names.h"
#include "analyzer/order/fold_accesses.h"
#include "recorder/read/access_words.h"
#include "recorder/read/call_arguments.h"
#include "recorder/read/call_walk.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallSignature;

// Pieces of one transfer under a view: what lies behind has no place.
constexpr std::size_t kMostPieces = std::size_t{1} << 20U;
constexpr std::uint32_t kNoFile = EventSink::kNoFile;

bool is_inside(const Call& call, Layer layer) {
  return (call.layers() >> static_cast<unsigned>(layer) & 1U) != 0;
}

// Of one file, for all processes.
struct FileLevels {
  bool below_mpi = false;  // what MPI-IO moves is seen below it
};

// The accesses of one kind, which fold.
struct Kind {
  std::uint32_t file, site;
  bool write, of_mpi;
  std::int64_t length;
  auto key() const { return std::tie(file, site, write, of_mpi, length); }
  bool operator==(const Kind& other) const { return key() == other.key(); }
  bool operator<(const Kind& other) const { return key() < other.key(); }
};

using FoldedKinds = std::vector<std::pair<Kind, std::vector<AccessRun>>>;

class ProcessReader {
 public:
  // `number`: of the process among those of all traces.
  ProcessReader(const recorder::TraceIndex& index, std::size_t process, std::size_t number,
                FileNames& names, EventSink* events)
      : process_(number), names_(names), events_(events), walk_(index, process, UINT64_MAX) {
    const recorder::Attributes& attributes = index.processes[process].attributes;
    const auto text = [&](const char* key) {
      const auto found = attributes.find(key);
      return found == attributes.end() ? std::string() : found->second;
    };
    const std::string rank = text("rank");
    done_.rank = rank.empty() ? -1 : std::strtoll(rank.c_str(), nullptr, 10);
    done_.host = text("host");
    done_.pid = recorder::unsigned_of(attributes, "pid");
    began_ns_ = recorder::unsigned_of(attributes, "wall_ns");
    cwd_ = text("cwd");
    of_log_ = text("rank_from") == "log";
  }

  std::uint64_t run(std::vector<FileLevels>& levels, FoldedKinds& kinds) {
    recorder::CallGroup group;
    while (walk_.next(group)) take(group);
    levels.resize(std::max<std::size_t>(levels.size(), names_.count()));
    for (const std::uint32_t file : below_mpi_) levels[file].below_mpi = true;
    for (auto& [kind, folder] : folders_) {
      if (of_log_ && !kind.of_mpi) levels[kind.file].below_mpi = true;
      folder.finish(kinds.emplace_back(kind, std::vector<AccessRun>()).second);
    }
    return walk_.unreadable_batches();
  }

  ProcessAccesses take_done() { return std::move(done_); }
  void add_without_place(std::vector<std::uint64_t>& by_file) const {
    for (const auto& [file, accesses] : without_place_) by_file[file] += accesses;
  }

 private:
  struct Row {
    std::uint32_t file = kNoFile;
    std::int64_t mpi = -1, hdf5 = -1;  // the calls around it, by their places in the group
    std::optional<FileExtents> pieces;
    bool inner = false;
  };

  void take(const recorder::CallGroup& group) {
    rows_.assign(group.calls.size(), {});
    for (const Call* call : group.calls) {
      const CallSignature* const signature = call->signature();
      if (signature != nullptr && facts_of(*signature).note == CallFacts::Note::kDataset) {
        owners_.define_dataset(*call);
      }
    }
    find_calls_around(group);
    for (const std::uint32_t at : group.by_end) follow(*group.calls[at], at);
    followed_ += group.calls.size();
    datasets_.assign(group.calls.size(), std::nullopt);
    for (const std::uint32_t at : group.by_end) {
      const Call& call = *group.calls[at];
      if (call.signature() == nullptr) continue;
      note_accesses(group, call, rows_[at]);
      const EventKind kind = event_kind(call);
      if (kind == EventKind::kNone) continue;
      if (events_ != nullptr) {
        events_->event(process_, done_.events, kind, rows_[at].file, call);
      }
      ++done_.events;
    }
  }

  // Calls stand in the order of their starts.
  void find_calls_around(const recorder::CallGroup& group) {
    std::int64_t mpi = -1, hdf5 = -1;
    for (std::size_t at = 0; at < group.calls.size(); ++at) {
      const Call& call = *group.calls[at];
      if (call.signature() == nullptr) continue;
      if (is_inside(call, Layer::kMpiIo)) rows_[at].mpi = mpi;
      if (is_inside(call, Layer::kHdf5)) rows_[at].hdf5 = hdf5;
      if (call.signature()->layer == Layer::kMpiIo) mpi = static_cast<std::int64_t>(at);
      if (call.signature()->layer == Layer::kHdf5) hdf5 = static_cast<std::int64_t>(at);
    }
  }

  void follow(const Call& call, std::uint32_t at) {
    const std::int32_t owner = owners_.follow(followed_ + at, call);
    Row& row = rows_[at];
    if (call.signature() == nullptr) return;
    const CallFacts& facts = facts_of(*call.signature());
    const Layer layer = call.signature()->layer;
    row.inner = owners_.is_inner(call);
    if (layer == Layer::kMpiIo || facts.note == CallFacts::Note::kView) {
      row.pieces = mpi_.follow(call, kMostPieces);
    }
    if (facts.note == CallFacts::Note::kFile) {
      opened(call, owner);
    } else if (layer == Layer::kPosix || layer == Layer::kStdio) {
      if (call.keys().size() >= 2) row.file = found_in(by_number_, call.keys()[1]);
    } else if (owner != OwnerFollower::kNone) {
      row.file = found_in(by_path_, owner);
      if (layer == Layer::kMpiIo) {
        const std::optional<std::int64_t> handle = handle_of(call);
        if (handle && by_mpi_.contains(*handle)) row.file = by_mpi_[*handle];
      }
    }
  }

  using Files = std::unordered_map<std::int64_t, std::uint32_t>;
  static std::uint32_t found_in(const Files& files, std::int64_t key) {
    const auto found = files.find(key);
    return found == files.end() ? kNoFile : found->second;
  }

  void opened(const Call& note, std::int32_t owner) {
    if (owner == OwnerFollower::kNone || !read_arguments(note, arguments_)) return;
    const std::uint32_t file =
        names_.file_at(owners_.files()[static_cast<std::size_t>(owner)], began_ns_ + note.start_ns);
    const auto number = [&](const char* name) { return arguments_.find(name)->numbers[0]; };
    by_number_[number("file")] = file;
    by_path_[owner] = file;
    if (number("layer") == static_cast<std::int64_t>(Layer::kMpiIo)) {
      by_mpi_[number("handle")] = file;
    }
    const auto& opened = owners_.opened();
    if (opened && opened->first >= followed_ && opened->first - followed_ < rows_.size()) {
      rows_[opened->first - followed_].file = file;
    }
  }

  void note_accesses(const recorder::CallGroup& group, const Call& call, Row& row) {
    const CallSignature& signature = *call.signature();
    const Layer layer = signature.layer;
    if (layer == Layer::kIotune || layer == Layer::kHdf5) return;
    if (!signature.transfer) {
      note_changes(group, call, row);
      return;
    }
    if (row.file == kNoFile) return;
    if (layer == Layer::kMpiIo) {
      note_pieces(group, call, row);
      return;
    }
    // What stdio does for itself is its caller's access.
    if (is_inside(call, Layer::kStdio)) return;
    const recorder::AccessWords words = recorder::access_words(call);
    if (words.length_bytes.value_or(0) <= 0) return;
    if (is_inside(call, Layer::kMpiIo) || (row.inner && call.layers() == 0)) {
      if (below_mpi_.empty() || below_mpi_.back() != row.file) below_mpi_.push_back(row.file);
    }
    if (!words.offset_bytes) {
      ++without_place_[row.file];
      return;
    }
    add(group, call, row, signature.writes, *words.offset_bytes, *words.length_bytes);
  }

  void note_pieces(const recorder::CallGroup& group, const Call& call, const Row& row) {
    if (!row.pieces) return;
    for (const FileExtent& piece : row.pieces->extents) {
      if (piece.bytes == 0 || piece.offset > kMostBytes || piece.bytes > kMostBytes) continue;
      add(group, call, row, call.signature()->writes, static_cast<std::int64_t>(piece.offset),
          static_cast<std::int64_t>(piece.bytes));
    }
    const bool failed = recorder::access_words(call).result.value_or(-1) != 0;
    if (!failed && (row.pieces->more || !row.pieces->unknown.empty())) ++without_place_[row.file];
  }

  // Calls that change or map bytes and are no transfers.
  void note_changes(const recorder::CallGroup& group, const Call& call, Row& row) {
    const std::optional<ChangedBytes> changed = changed_bytes(call, arguments_);
    if (!changed) return;
    std::uint32_t file = row.file;
    if (!changed->path.empty()) {
      file = names_.file_at(plain_path(changed->path, cwd_), began_ns_ + call.start_ns);
    }
    if (file == kNoFile) return;
    // All ranks make it, and one of them is enough.
    if (call.signature()->layer == Layer::kMpiIo && done_.rank > 0) return;
    Row of_file;
    of_file.file = file;
    of_file.mpi = row.mpi;
    of_file.hdf5 = row.hdf5;
    add(group, call, of_file, changed->write, changed->offset, changed->length, changed->truncates);
  }

  void add(const recorder::CallGroup& group, const Call& call, const Row& row, bool write,
           std::int64_t offset, std::int64_t length, bool truncates = false) {
    if (offset < 0 || offset >= kMostBytes || length <= 0) return;
    length = std::min(length, kMostBytes - offset);
    const std::uint32_t site = site_of(group, call, row, truncates);
    const Kind kind{row.file, site, write, call.signature()->layer == Layer::kMpiIo, length};
    if (last_ == nullptr || !(*last_kind_ == kind)) {
      const auto at = folders_.try_emplace(kind).first;
      last_kind_ = &at->first;
      last_ = &at->second;
    }
    AccessRun run;
    run.file = row.file;
    run.site = site;
    run.write = write;
    run.segment = done_.events;
    run.start = offset;
    run.length = length;
    last_->add(std::move(run));
  }

  std::uint32_t site_of(const recorder::CallGroup& group, const Call& call, const Row& row,
                        bool truncates) {
    const auto signature_of = [&](std::int64_t at) {
      return at < 0 ? nullptr : group.calls[static_cast<std::size_t>(at)]->signature();
    };
    const std::string_view dataset = dataset_of(group, row.hdf5);
    const SiteKey key{call.signature(), signature_of(row.mpi), signature_of(row.hdf5), truncates,
                      dataset};
    const auto known = sites_.find(key);
    if (known != sites_.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(done_.sites.size());
    done_.sites.push_back({call.signature(), signature_of(row.mpi), signature_of(row.hdf5),
                           std::string(dataset), truncates});
    sites_.emplace(key, number);
    return number;
  }

  // The path of the first dataset that the call moves data of; it stays valid.
  std::string_view dataset_of(const recorder::CallGroup& group, std::int64_t hdf5) {
    if (hdf5 < 0) return {};
    const auto at = static_cast<std::size_t>(hdf5);
    if (datasets_[at]) return *datasets_[at];
    std::string_view path;
    const Call& call = *group.calls[at];
    if (call.signature()->transfer && read_arguments(call, arguments_)) {
      for (const recorder::TransferExtras& one : recorder::transfer_extras(arguments_)) {
        const DatasetDefinition* const definition = owners_.definition(one.object);
        if (definition == nullptr) continue;
        path = *paths_.insert(definition->path).first;
        break;
      }
    }
    datasets_[at] = path;
    return path;
  }

  using SiteKey = std::tuple<const CallSignature*, const CallSignature*, const CallSignature*, bool,
                             std::string_view>;

  std::size_t process_;
  FileNames& names_;
  EventSink* events_;
  recorder::ProcessWalk walk_;
  std::uint64_t began_ns_ = 0, followed_ = 0;
  std::string cwd_;
  bool of_log_ = false;
  OwnerFollower owners_;
  MpiAccesses mpi_;
  recorder::CallArguments arguments_;
  Files by_number_, by_path_, by_mpi_;
  std::vector<Row> rows_;                                  // of the group
  std::vector<std::optional<std::string_view>> datasets_;  // of its calls
  std::set<std::string> paths_;
  std::map<SiteKey, std::uint32_t> sites_;
  std::map<Kind, AccessFolder> folders_;
  const Kind* last_kind_ = nullptr;
  AccessFolder* last_ = nullptr;
  std::vector<std::uint32_t> below_mpi_;
  std::unordered_map<std::uint32_t, std::uint64_t> without_place_;
  ProcessAccesses done_;
};

// Where what MPI-IO moves is seen below it, only that counts.
std::vector<AccessRun> lowest_runs(FoldedKinds& kinds, const std::vector<FileLevels>& levels) {
  std::vector<AccessRun> runs;
  for (auto& [kind, folded] : kinds) {
    if (kind.of_mpi && levels[kind.file].below_mpi) continue;
    runs.insert(runs.end(), std::make_move_iterator(folded.begin()),
                std::make_move_iterator(folded.end()));
  }
  std::stable_sort(runs.begin(), runs.end(), [](const AccessRun& a, const AccessRun& b) {
    return std::tie(a.file, a.site, a.write, a.segment) <
           std::tie(b.file, b.site, b.write, b.segment);
  });
  return runs;
}

}  // namespace

TraceAccesses read_accesses(std::span<const recorder::TraceIndex> traces, EventSink* events) {
  TraceAccesses trace;
  FileNames names(traces);
  std::vector<FileLevels> levels;
  std::vector<FoldedKinds> kinds;
  std::vector<std::uint64_t> without_place;
  for (std::size_t number = 0; number < traces.size(); ++number) {
    for (std::size_t i = 0; i < traces[number].processes.size(); ++i) {
      ProcessReader reader(traces[number], i, trace.processes.size(), names, events);
      trace.unreadable_batches += reader.run(levels, kinds.emplace_back());
      without_place.resize(names.count());
      reader.add_without_place(without_place);
      trace.processes.push_back(reader.take_done());
      trace.processes.back().trace = number;
    }
  }
  trace.files = names.take_files();
  levels.resize(trace.files.size());
  without_place.resize(trace.files.size());
  for (std::size_t i = 0; i < trace.files.size(); ++i) {
    trace.files[i].without_place = without_place[i];
  }
  for (std::size_t process = 0; process < kinds.size(); ++process) {
    trace.processes[process].runs = lowest_runs(kinds[process], levels);
    kinds[process].clear();
  }
  return trace;
}

}  // namespace iotune::analyzer
