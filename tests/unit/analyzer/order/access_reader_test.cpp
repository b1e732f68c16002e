// A trace read by its patterns has the accesses and events of the same trace read call by call.
#include "analyzer/order/access_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <tuple>

#include "analyzer/order/conflicts.h"
#include "tests/unit/analyzer/order/drawn_accesses.h"
#include "tests/unit/drawn_cases.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::analyzer {
namespace {

namespace made = recorder::made;
using recorder::CallNumber;

using Seen = std::tuple<std::size_t, std::string, std::string, bool, drawn::Access>;
using Event = std::tuple<std::size_t, std::uint64_t, int, std::uint32_t, std::string>;

class Events : public EventSink {
 public:
  void event(std::size_t process, std::uint64_t number, EventKind kind, std::uint32_t file,
             const recorder::Call& call) override {
    all.emplace_back(process, number, static_cast<int>(kind), file, call.name());
  }
  std::vector<Event> all;
};

std::vector<Seen> accesses_of(const TraceAccesses& trace) {
  std::vector<Seen> found;
  for (std::size_t process = 0; process < trace.processes.size(); ++process) {
    const ProcessAccesses& of = trace.processes[process];
    for (const AccessRun& run : of.runs) {
      for (const drawn::Access& one : drawn::expanded({run})) {
        found.emplace_back(process, trace.files[run.file].path, site_text(of.sites[run.site]),
                           run.write, one);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void expect_same(const std::string& path) {
  const auto index = recorder::index_trace(path);
  ASSERT_TRUE(index);
  Events by_pattern, by_call;
  const std::span traces(&*index, 1);
  const TraceAccesses patterns = read_accesses(traces, &by_pattern, Reading::kByPattern);
  const TraceAccesses calls = read_accesses(traces, &by_call, Reading::kByCall);
  EXPECT_EQ(by_pattern.all, by_call.all) << path;
  const std::vector<Seen> these = accesses_of(patterns), those = accesses_of(calls);
  ASSERT_EQ(these.size(), those.size()) << path;
  for (std::size_t i = 0; i < these.size(); ++i) ASSERT_EQ(these[i], those[i]) << path;
  for (std::size_t i = 0; i < calls.processes.size(); ++i) {
    EXPECT_EQ(patterns.processes[i].events, calls.processes[i].events) << path;
  }
}

// A rank that writes and reads regularly, with syncs and seeks between.
class DrawnRank {
 public:
  explicit DrawnRank(std::uint64_t seed) : draw_(seed) {}

  made::RingBytes batch(bool first, bool last) {
    made::RingBytes ring;
    if (first) open(ring);
    for (std::int64_t parts = between(1, 5); parts > 0; --parts) add_part(ring);
    if (last) {
      ring.add(CallNumber::kclose, {now_ += 10, 5}, {5, 1}, {0}, {}, true);
      ring.add(CallNumber::kMPI_File_close, {now_ += 10, 5}, {}, {777, 0}, {}, true);
    }
    return ring;
  }

 private:
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(draw_);
  }
  void call(made::RingBytes& ring, CallNumber number, std::vector<std::int64_t> keys,
            std::vector<std::int64_t> numbers, std::uint8_t layers = 0) {
    ring.add(number, {now_ += 20, 10}, std::move(keys), std::move(numbers), {}, false, layers);
  }

  void open(made::RingBytes& ring) {
    const std::string posix = "/scratch/posix.dat", mpi = "/scratch/mpi.dat";
    ring.add(CallNumber::kopen, {now_ += 10, 5}, {}, {66, 0, 5}, posix, true);
    ring.add(CallNumber::kiotune_file, {now_ += 10, 0}, {1}, {5, 3}, posix, true);
    ring.add(CallNumber::kopen, {now_ += 10, 5}, {}, {66, 0, 6}, mpi, true, 2);
    ring.add(CallNumber::kiotune_file, {now_ += 10, 0}, {2}, {6, 3}, mpi, true);
    ring.add(CallNumber::kMPI_File_open, {now_ += 10, 15}, {}, {1, 2, 0, 777, 0}, "mpi.dat", true);
    ring.add(CallNumber::kiotune_file, {now_ += 10, 0}, {3}, {777, 1}, mpi, true);
  }

  void add_part(made::RingBytes& ring) {
    const std::int64_t what = between(0, 4), step = between(0, 3) * 8;
    // What goes on as it began is counted by the ring, and stands in the trace as turns.
    const bool counted = between(0, 1) == 0 && what != 3;
    const std::int64_t calls = counted ? 1 : between(1, 40);
    std::int64_t at = between(0, 100) * 8;
    for (std::int64_t k = 0; k < calls; ++k, at += step) {
      switch (what) {
        case 0:
          call(ring, CallNumber::kpwrite, {5, 1}, {8, at, 8});
          break;
        case 1:
          call(ring, CallNumber::kpwrite, {5, 1}, {8, at, 8});
          call(ring, CallNumber::kfsync, {5, 1}, {0});
          call(ring, CallNumber::kpread, {5, 1}, {4, at + 4, 4});
          break;
        case 2:
          call(ring, CallNumber::kpwrite, {6, 2}, {8, at, 8}, 2);
          call(ring, CallNumber::kMPI_File_write_at, {}, {777, at, 8, 1275068685, 0, 1});
          break;
        case 3:
          call(ring, CallNumber::klseek, {5, 1}, {at, 0, at});
          call(ring, CallNumber::kread, {5, 1}, {16, between(0, 1) * 8, at});
          break;
        default:
          call(ring, CallNumber::kpread, {6, 2}, {8, at, 8}, 2);
          call(ring, CallNumber::kMPI_File_read_at, {}, {777, at, 8, 1275068685, 0, 1});
          call(ring, CallNumber::kMPI_File_sync, {}, {777, 0});
      }
    }
    if (!counted) return;
    const std::vector<std::int64_t> posix = {0, step, 0}, mpi = {0, step, 0, 0, 0, 0};
    const std::vector<std::vector<std::vector<std::int64_t>>> strides = {
        {posix}, {posix, {0}, posix}, {posix, mpi}, {}, {posix, mpi, {0, 0}}};
    const auto& own = strides[static_cast<std::size_t>(what)];
    // A call ends inside the one around it, which ends too.
    const bool nested = what == 2 || what == 4;
    const std::int64_t more = between(1, 50) * (nested ? static_cast<std::int64_t>(own.size()) : 1);
    now_ += 20 * static_cast<std::uint64_t>(more);
    ring.repeat(static_cast<std::uint64_t>(more), own, now_);
  }

  std::mt19937_64 draw_;
  std::uint64_t now_ = 1000;
};

TEST(AccessReader, PatternsAreWhatTheCallsAre) {
  const made::Folder folder;
  for (std::uint64_t seed = 0; seed < testing::drawn_cases(300); ++seed) {
    auto trace = made::trace_head();
    for (int rank = 0; rank < 2; ++rank) {
      made::add_block(trace, recorder::BlockType::kProcess,
                      made::bytes_of(made::process_text(100 + rank, rank)));
      DrawnRank drawn(2 * seed + static_cast<std::uint64_t>(rank));
      for (std::uint32_t batch = 0; batch < 3; ++batch) {
        const made::RingBytes ring = drawn.batch(batch == 0, batch == 2);
        made::add_block(trace, recorder::BlockType::kEvents,
                        made::encoded(ring.bytes(), 0, batch, false));
      }
      made::add_block(trace, recorder::BlockType::kEnd, made::bytes_of("end=exit\n"));
    }
    expect_same(folder.file("t.iotrace", trace));
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(AccessReader, KeptTracesAreReadAlikeBothWays) {
  for (const char* name : {"four-ranks-hdf5", "merged-ranks", "serial-posix"}) {
    expect_same(std::string(IOTUNE_TEST_DATA) + "/v3/" + name + ".iotrace");
  }
}

}  // namespace
}  // namespace iotune::analyzer
