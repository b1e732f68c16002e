#include "analyzer/streams/access_streams.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "analyzer/calls/call_facts.h"
#include "analyzer/calls/call_owners.h"
#include "analyzer/calls/mpi_accesses.h"
#include "recorder/read/access_words.h"
#include "recorder/read/call_walk.h"

namespace iotune::analyzer {
namespace {

using patterns::Extent;
using recorder::Call;

constexpr std::size_t kHeldAccesses = 256;
// Pieces of one transfer under a view: what lies behind has no place.
constexpr std::size_t kMostPieces = std::size_t{1} << 20U;
constexpr std::uint64_t kBetweenProgress = 1U << 16U;

std::int64_t rank_of(const recorder::Attributes& attributes) {
  const auto found = attributes.find("rank");
  std::int64_t rank = -1;
  if (found != attributes.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), rank);
  }
  return rank;
}

class ProcessReader {
 public:
  ProcessReader(const recorder::TraceIndex& index, std::size_t process, unsigned layers,
                AccessStreamSink& sink, const std::function<void(std::uint64_t)>& progress)
      : process_(process),
        rank_(rank_of(index.processes[process].attributes)),
        layers_(layers),
        sink_(sink),
        progress_(progress),
        walk_(index, process, UINT64_MAX) {}

  ProcessStreams run() {
    recorder::CallGroup group;
    while (walk_.next(group)) take(group);
    for (std::size_t stream = 0; stream < held_.size(); ++stream) hand_on(stream);
    sink_.end_process();
    progress_(unreported_);
    done_.unreadable_batches = walk_.unreadable_batches();
    return done_;
  }

 private:
  // Of one call of the group.
  struct Row {
    std::int32_t file = OwnerFollower::kNone;
    std::optional<FileExtents> pieces;
  };

  void take(const recorder::CallGroup& group) {
    rows_.assign(group.calls.size(), {});
    for (const std::uint32_t at : group.by_end) {
      const Call& call = *group.calls[at];
      rows_[at].file = owners_.follow(followed_ + at, call);
      if (call.signature() != nullptr &&
          (call.signature()->layer == Layer::kMpiIo ||
           facts_of(*call.signature()).note == CallFacts::Note::kView)) {
        rows_[at].pieces = mpi_.follow(call, wants(Layer::kMpiIo) ? kMostPieces : 1);
      }
      const auto& opened = owners_.opened();
      if (opened && opened->first >= followed_) {
        rows_[opened->first - followed_].file = opened->second;
      }
    }
    followed_ += group.calls.size();
    for (std::size_t at = 0; at < group.calls.size(); ++at) {
      const Call& call = *group.calls[at];
      if (rows_[at].file == OwnerFollower::kNone || call.signature() == nullptr ||
          !call.signature()->transfer || !wants(call.signature()->layer)) {
        continue;
      }
      if (call.signature()->layer == Layer::kMpiIo) {
        add_pieces(call, rows_[at]);
      } else {
        add_words(call, rows_[at].file);
      }
    }
  }

  bool wants(Layer layer) const {
    return layer != Layer::kHdf5 && layer != Layer::kIotune &&
           (layers_ >> static_cast<unsigned>(layer) & 1U) != 0;
  }

  void add_words(const Call& call, std::int32_t file) {
    const recorder::AccessWords words = recorder::access_words(call);
    if (words.length_bytes.value_or(0) <= 0) {
      ++done_.empty;
      return;
    }
    if (!words.offset_bytes) {
      ++done_.without_place;
      return;
    }
    add(call, file, {*words.offset_bytes, *words.length_bytes});
  }

  void add_pieces(const Call& call, const Row& row) {
    if (!row.pieces) return;
    for (const FileExtent& piece : row.pieces->extents) {
      if (piece.bytes == 0 || piece.offset > INT64_MAX || piece.bytes > INT64_MAX) continue;
      add(call, row.file,
          {static_cast<std::int64_t>(piece.offset), static_cast<std::int64_t>(piece.bytes)});
    }
    const bool failed = recorder::access_words(call).result.value_or(-1) != 0;
    if (failed || (row.pieces->extents.empty() && row.pieces->unknown.empty())) ++done_.empty;
    if (!failed && (row.pieces->more || !row.pieces->unknown.empty())) ++done_.without_place;
  }

  void add(const Call& call, std::int32_t file, Extent access) {
    const std::size_t stream = stream_of(call, file);
    std::vector<Extent>& held = held_[stream];
    held.push_back(access);
    if (held.size() == kHeldAccesses) hand_on(stream);
    ++done_.accesses;
    if (++unreported_ < kBetweenProgress) return;
    progress_(unreported_);
    unreported_ = 0;
  }

  std::size_t stream_of(const Call& call, std::int32_t file) {
    const Layer layer = call.signature()->layer;
    const bool write = call.signature()->writes;
    const auto key = static_cast<std::size_t>(file) * kKinds + static_cast<std::size_t>(layer) * 2 +
                     (write ? 1 : 0);
    if (key >= streams_.size()) streams_.resize(key + 1, kNoStream);
    if (streams_[key] == kNoStream) {
      streams_[key] = held_.size();
      sink_.begin({process_, rank_, owners_.files()[static_cast<std::size_t>(file)], layer, write});
      held_.emplace_back().reserve(kHeldAccesses);
    }
    return streams_[key];
  }

  void hand_on(std::size_t stream) {
    if (!held_[stream].empty()) sink_.add(stream, held_[stream]);
    held_[stream].clear();
  }

  std::size_t process_;
  std::int64_t rank_;
  unsigned layers_;
  AccessStreamSink& sink_;
  const std::function<void(std::uint64_t)>& progress_;
  recorder::ProcessWalk walk_;
  OwnerFollower owners_;
  MpiAccesses mpi_;
  std::vector<Row> rows_;
  std::uint64_t followed_ = 0, unreported_ = 0;
  static constexpr std::size_t kKinds = 8, kNoStream = SIZE_MAX;
  std::vector<std::size_t> streams_;       // by file, layer and direction
  std::vector<std::vector<Extent>> held_;  // by stream
  ProcessStreams done_;
};

}  // namespace

const char* layer_name(Layer layer) noexcept {
  switch (layer) {
    case Layer::kMpiIo:
      return "mpiio";
    case Layer::kStdio:
      return "stdio";
    default:
      return "posix";
  }
}

ProcessStreams read_streams(const recorder::TraceIndex& index, std::size_t process, unsigned layers,
                            AccessStreamSink& sink,
                            const std::function<void(std::uint64_t)>& progress) {
  return ProcessReader(index, process, layers, sink, progress).run();
}

}  // namespace iotune::analyzer
