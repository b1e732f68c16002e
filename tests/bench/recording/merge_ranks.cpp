// merge_ranks RANKS PATTERN [calls]: the tree in which ranks merge their traces, with simulated
// ranks. Every rank's blocks and every merge are real; messages are handed over in memory. Prints
// what rank 0 needs: seconds in its merges (one per level), the most bytes it holds at a time, and
// the bytes of the trace; then the seconds of all ranks together, and what the ranks' blocks take
// one by one. PATTERN: grid (a block of a 3D grid in each of 8 datasets, rows below), slab (1D).
// With `calls` what tells the processes apart (pid, clocks) is left out: three numbers a rank.
// With `trace FILE` ranks also note the file and its datasets, as real ones do, and the whole is
// written as a trace.
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "recorder/read/trace_blocks/shared_ranks.h"
#include "recorder/trace_block_merge.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::recorder {
namespace {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

struct Place {
  std::int64_t i, j, k;
};

// A program's rank: opens, writes 8 datasets through HDF5 and MPI-IO, closes. Durations vary.
class SimulatedRank {
 public:
  SimulatedRank(std::int64_t rank, std::int64_t ranks, bool grid, bool notes)
      : rank_(rank),
        ranks_(ranks),
        notes_(notes),
        random_(static_cast<std::uint64_t>(rank) * 77 + 5) {
    side_ = grid ? std::llround(std::cbrt(static_cast<double>(ranks))) : 1;
    if (side_ < 1) side_ = 1;
    grid_ = grid;
    now_ = 1000 + random_() % 100000;
  }

  Bytes events() {
    add(CallNumber::kMPI_Init, {}, {0}, {}, true);
    add(CallNumber::kH5Fcreate, {}, {2, 0, 792633534417207304, kFileId}, "vpic.h5", true);
    add(CallNumber::kopen, {}, {66, 438, 14}, "/scratch/run/vpic.h5", true);
    if (notes_) {
      add(CallNumber::kiotune_file, {3}, {14, 3}, "/scratch/run/vpic.h5", true, 1);
      add(CallNumber::kiotune_file, {4}, {kFileId, 0}, "/scratch/run/vpic.h5", true);
    }
    for (std::int64_t dataset = 0; dataset < 8; ++dataset) write_dataset(dataset);
    add(CallNumber::kclose, {14, 3}, {0}, {}, true);
    add(CallNumber::kH5Fclose, {}, {kFileId, 0}, {}, true);
    return made::encoded(ring_.bytes(), 0, 0, false);
  }

  std::size_t calls() const { return ring_.calls(); }

  std::string process() {
    return "pid=" + std::to_string(20000 + random_() % 40000) + "\nparent=17\nhost=nid" +
           std::to_string(100000 + rank_ / 64) +
           "\nrun=slurm-4711.0\nrank=" + std::to_string(rank_) +
           "\nsize=" + std::to_string(notes_ ? ranks_ : 100000) +
           "\nmpi=MPICH%204.0.2\nhdf5=1.10.8\nprogram=/home/user/vpic-io"
           "\nargv=vpic-io\ncwd=/scratch/run\nwall_ns=" +
           std::to_string(1795248805900000000 + random_() % 1000000000) +
           "\nstart_ticks=" + std::to_string(61660379646686 + random_() % 10000000000) +
           "\nticks_per_second=2515206330\ntable=1974771677\n";
  }

 private:
  static constexpr std::int64_t kFileId = 72057594037927936;

  void note_dataset(std::int64_t dataset, std::int64_t edge) {
    std::string names = "/scratch/run/vpic.h5";
    names += '\0';
    names += "/x" + std::to_string(dataset);
    std::vector<std::int64_t> words = {kFileId + dataset, 4, 1, 1, 0};
    if (grid_) {
      words.insert(words.end(), {3, side_ * edge, side_ * edge, side_ * edge});
    } else {
      words.insert(words.end(), {1, ranks_ * edge * edge * edge});
    }
    words.push_back(-1);
    add(CallNumber::kiotune_dataset, {dataset + 1}, words, names, true, 1);
  }

  void write_dataset(std::int64_t dataset) {
    constexpr std::int64_t kEdge = 64, kElement = 4;
    if (notes_) note_dataset(dataset, kEdge);
    const Place at{rank_ / side_ / side_, rank_ / side_ % side_, rank_ % side_};
    std::vector<std::int64_t> selection = {dataset + 1, 1, kElement, kEdge * kEdge * kEdge, 2};
    if (grid_) {
      selection.insert(selection.end(), {3, at.i * kEdge, at.j * kEdge, at.k * kEdge, 1, 1, 1, 1, 1,
                                         1, kEdge, kEdge, kEdge});
    } else {
      selection.insert(selection.end(),
                       {1, rank_ * kEdge * kEdge * kEdge, 1, 1, kEdge * kEdge * kEdge});
    }
    const std::int64_t base =
        2048 + dataset * side_ * side_ * side_ * kEdge * kEdge * kEdge * kElement;
    for (std::int64_t row = 0; grid_ && row < 64; ++row) {
      const std::int64_t x = at.i * kEdge + row / kEdge, y = at.j * kEdge + row % kEdge;
      const std::int64_t element = (x * side_ * kEdge + y) * side_ * kEdge + at.k * kEdge;
      add(CallNumber::kpwrite, {14, 3},
          {kEdge * kElement, base + element * kElement, kEdge * kElement}, {}, false, 3);
    }
    if (!grid_) {
      const std::int64_t bytes = kEdge * kEdge * kEdge * kElement;
      add(CallNumber::kpwrite, {14, 3}, {bytes, base + rank_ * bytes, bytes}, {}, false, 3);
    }
    std::vector<std::int64_t> numbers = {
        kFileId + dataset, 216172782113783850, 288230376151711748, 288230376151711749, 0, 0};
    numbers.insert(numbers.end(), selection.begin(), selection.end());
    add(CallNumber::kH5Dwrite, {}, numbers);
  }

  void add(CallNumber call, std::vector<std::int64_t> keys, std::vector<std::int64_t> numbers,
           const std::string& text = {}, bool control = false, std::uint8_t layers = 0) {
    const std::uint64_t duration = 200 + random_() % 5000;
    ring_.add(call, {now_, duration}, std::move(keys), std::move(numbers), text, control, layers);
    now_ += duration + random_() % 300;
  }

  std::int64_t rank_, ranks_, side_;
  bool notes_, grid_;
  std::mt19937_64 random_;
  std::uint64_t now_;
  made::RingBytes ring_;
};

struct Figures {
  double root_seconds = 0, all_seconds = 0;
  std::size_t root_bytes = 0, blocks_bytes = 0;
};

class Simulation {
 public:
  Simulation(std::int64_t ranks, bool grid, bool calls_only, bool notes)
      : ranks_(ranks), grid_(grid), calls_only_(calls_only), notes_(notes) {}

  // The message of ranks first to first + count - 1.
  Bytes message(std::int64_t first, std::int64_t count) {
    if (count == 1) return leaf(first);
    const std::int64_t half = count / 2;
    Bytes mine = message(first, half);
    if (first + half >= ranks_) return mine;
    const Bytes other = message(first + half, half);
    const auto began = Clock::now();
    Bytes merged(kMergeRoom * (mine.size() + other.size()));
    std::vector<std::uint64_t> scratch(merge_rank_blocks_scratch_bytes(mine, other) / 8 + 1);
    merged.resize(
        merge_rank_blocks(mine, other, std::as_writable_bytes(std::span(scratch)), merged));
    if (merged.empty()) throw std::runtime_error("a merge failed");
    const double seconds = seconds_since(began);
    figures.all_seconds += seconds;
    if (first == 0) {
      figures.root_seconds += seconds;
      const std::size_t held = mine.size() + other.size() + merged.size() + scratch.size() * 8;
      figures.root_bytes = std::max(figures.root_bytes, held);
    }
    merged.shrink_to_fit();
    return merged;
  }

  Figures figures;

 private:
  Bytes leaf(std::int64_t rank) {
    SimulatedRank simulated(rank, ranks_, grid_, notes_);
    const Bytes events = simulated.events();
    const Bytes process = made::bytes_of(simulated.process());
    const std::size_t calls = notes_ ? simulated.calls() : 540;
    const Bytes end =
        made::bytes_of("end=finalize\ncalls=" + std::to_string(calls) + "\ndropped=0\n");
    std::vector<std::uint64_t> scratch(rank_block_scratch_bytes() / 8 + 1);
    Bytes message(4096 + 4 * (events.size() + process.size() + end.size()));
    patterns::ByteWriter out(message);
    const auto add = [&](BlockType type, const Bytes& payload) {
      figures.blocks_bytes += (payload.size() + kBlockHeadBytes + 7) / 8 * 8;
      if (!add_rank_block(type, payload, 0, static_cast<std::uint64_t>(rank),
                          std::as_writable_bytes(std::span(scratch)), out)) {
        throw std::runtime_error("a block was refused");
      }
    };
    const auto began = Clock::now();
    if (!calls_only_) add(BlockType::kProcess, process);
    add(BlockType::kEvents, events);
    add(BlockType::kEnd, end);
    const double seconds = seconds_since(began);
    figures.all_seconds += seconds;
    if (rank == 0) figures.root_seconds += seconds;
    message.resize(out.bytes_used());
    return message;
  }

  std::int64_t ranks_;
  bool grid_, calls_only_, notes_;
};

// Every rank must have its calls back.
std::size_t ranks_in(const Bytes& message) {
  std::size_t ranks = 0;
  RankBlockCursor cursor(message);
  while (cursor.next()) {
    const auto shared = SharedRanks::read(Bytes(cursor.payload().begin(), cursor.payload().end()));
    if (shared && shared->type() == BlockType::kEvents) ranks += shared->size();
  }
  return ranks;
}

bool write_trace(const Bytes& message, const char* path) {
  Bytes trace = made::trace_head();
  RankBlockCursor cursor(message);
  while (cursor.next()) {
    made::add_block(trace, BlockType::kShared,
                    Bytes(cursor.payload().begin(), cursor.payload().end()));
  }
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  const bool whole = std::fwrite(trace.data(), 1, trace.size(), file) == trace.size();
  return std::fclose(file) == 0 && whole;
}

}  // namespace
}  // namespace iotune::recorder

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends it
int main(int argc, char** argv) {
  using namespace iotune;
  using namespace iotune::recorder;
  const long ranks = argc > 1 ? std::atol(argv[1]) : 0;
  const std::string pattern = argc > 2 ? argv[2] : "";
  if (ranks < 2 || (pattern != "grid" && pattern != "slab")) {
    std::fprintf(stderr, "usage: merge_ranks RANKS grid|slab [calls | trace FILE]\n");
    return 2;
  }
  const std::string what = argc > 3 ? argv[3] : "";
  const char* const trace = what == "trace" && argc > 4 ? argv[4] : nullptr;
  Simulation simulation(ranks, pattern == "grid", what == "calls", trace != nullptr);
  std::int64_t whole = 1;
  while (whole < ranks) whole *= 2;
  const Bytes message = simulation.message(0, whole);
  if (ranks_in(message) != static_cast<std::size_t>(ranks)) {
    std::fprintf(stderr, "merge_ranks: ranks were lost\n");
    return 1;
  }
  if (trace != nullptr && !write_trace(message, trace)) {
    std::perror(trace);
    return 1;
  }
  std::printf("%.9f %zu %zu %.9f %zu\n", simulation.figures.root_seconds,
              simulation.figures.root_bytes, message.size(), simulation.figures.all_seconds,
              simulation.figures.blocks_bytes);
  return 0;
}
