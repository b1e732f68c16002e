// What look-ups in an index cost, and how large one is. Each call is one arm:
//   index_lookups ARM SEED   prints lines "name value"
// Look-ups depend on each other's results, so that times are latencies and not throughput.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analyzer/baselines/he2013/global_index.h"
#include "analyzer/index/index_builder.h"
#include "analyzer/index/index_file.h"
#include "tests/generators/applications.h"

namespace {

using namespace iotune;
using analyzer::BatchTimes;
using analyzer::IndexBuilder;
using analyzer::IndexPiece;
using analyzer::OffsetIndex;
using patterns::Extent;

constexpr std::size_t kLookups = 1'000'000;
constexpr std::int64_t kRecord = 4096;

using Random = std::mt19937_64;

std::int64_t below(Random& random, std::int64_t end) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
}

void must(const std::optional<analyzer::Error>& wrong) {
  if (!wrong) return;
  std::fprintf(stderr, "index_lookups: %s\n", wrong->text().c_str());
  std::exit(1);
}

OffsetIndex built(const IndexBuilder& builder) {
  auto index = builder.build();
  if (!index) must(index.error());
  return *std::move(index);
}

double cpu_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Nanoseconds of CPU time a look-up at offsets below `end`.
template <class LookUp>
double nanoseconds(std::int64_t end, Random& random, LookUp&& look_up) {
  std::vector<std::int64_t> offsets(kLookups);
  for (std::int64_t& offset : offsets) offset = below(random, end);
  std::int64_t last = 0;
  const double began = cpu_nanoseconds();
  // last >> 62 is 0, which the compiler cannot know.
  for (const std::int64_t offset : offsets) last = look_up(offset + (last >> 62));
  const double took = cpu_nanoseconds() - began;
  if (last < 0) std::puts("");  // keeps the loop
  return took / static_cast<double>(kLookups);
}

void print(const char* name, double value) {
  std::printf("%s %.17g\n", name, value);
}

void time_index(const OffsetIndex& index, Random& random) {
  print("ns", nanoseconds(index.end(), random, [&](std::int64_t offset) {
          const IndexPiece piece = index.at(offset);
          return piece.physical + piece.length % 2;
        }));
  print("nests", static_cast<double>(index.nests()));
  print("segments", static_cast<double>(index.segments()));
  print("bytes", static_cast<double>(index.memory_bytes()));
}

// The loop of nanoseconds() alone.
void floor_arm(Random& random) {
  print("ns", nanoseconds(1 << 30, random, [](std::int64_t offset) { return offset; }));
}

// FS-TEST: record k of rank r lies at (k * ranks + r) * record; a stream per rank, by `stream_of`.
OffsetIndex fs_test(
    std::int64_t ranks, std::int64_t writes, std::int64_t record, std::int64_t gap,
    const std::function<void(IndexBuilder&, std::uint32_t, std::vector<Extent>&)>& add) {
  IndexBuilder builder;
  std::vector<Extent> accesses(static_cast<std::size_t>(writes));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t k = 0; k < writes; ++k) {
      accesses[static_cast<std::size_t>(k)] = {(k * ranks + rank) * (record + gap), record};
    }
    add(builder, static_cast<std::uint32_t>(rank), accesses);
  }
  return built(builder);
}

void add_plainly(IndexBuilder& builder, std::uint32_t rank, std::vector<Extent>& accesses) {
  must(builder.add(rank, accesses));
}

void nest_arm(Random& random) {
  time_index(fs_test(512, 195'313, kRecord, 0, add_plainly), random);  // 10^8 accesses
}

// Two of three bytes are in a hole: the look-up says how far it goes.
void holes_arm(Random& random) {
  time_index(fs_test(512, 16384, kRecord, 2 * kRecord, add_plainly), random);
}

// 10^5 accesses of random lengths one behind the other, by 64 streams in any order.
void segments_arm(Random& random) {
  std::vector<std::vector<Extent>> streams(64);
  std::int64_t end = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t length = 1 + below(random, 1 << 16);
    streams[random() % streams.size()].push_back({end, length});
    end += length;
  }
  IndexBuilder builder;
  for (std::uint32_t s = 0; s < streams.size(); ++s) {
    std::shuffle(streams[s].begin(), streams[s].end(), random);
    must(builder.add(s, streams[s]));
  }
  time_index(built(builder), random);
}

// 10^5 loops one behind the other, no two alike.
void loops_arm(Random& random) {
  IndexBuilder builder;
  std::int64_t end = 0;
  for (std::uint32_t s = 0; s < 100'000; ++s) {
    std::vector<Extent> accesses;
    const std::int64_t length = 1 + below(random, 5000);
    const std::int64_t stride = length + below(random, 5000);
    for (std::int64_t k = 4 + below(random, 30); k > 0; --k, end += stride) {
      accesses.push_back({end, length});
    }
    must(builder.add(s % 1024, accesses));
  }
  time_index(built(builder), random);
}

// 10^5 loops that all lie between each other over the whole file: each rank's share of a record is
// of another size, and so is the number of records it wrote.
void interleaved_arm(Random& random) {
  IndexBuilder builder;
  std::vector<std::int64_t> lengths(100'000);
  std::int64_t record = 0;
  for (std::int64_t& length : lengths) record += length = 1 + below(random, 5000);
  std::int64_t start = 0;
  for (std::uint32_t s = 0; s < lengths.size(); ++s) {
    std::vector<Extent> accesses;
    for (std::int64_t k = 0, n = 16 + below(random, 8); k < n; ++k) {
      accesses.push_back({start + k * record, lengths[s]});
    }
    must(builder.add(s, accesses));
    start += lengths[s];
  }
  time_index(built(builder), random);
}

// The same written over by 1,000 later accesses anywhere: times decide.
void overwritten_arm(Random& random) {
  IndexBuilder builder;
  const std::int64_t end = 512LL * 16384 * kRecord;
  std::vector<Extent> accesses(16384);
  for (std::uint32_t rank = 0; rank < 512; ++rank) {
    for (std::int64_t k = 0; k < 16384; ++k) {
      accesses[static_cast<std::size_t>(k)] = {(k * 512 + rank) * kRecord, kRecord};
    }
    must(builder.add(rank, accesses, BatchTimes(0, 16383)));
  }
  std::vector<Extent> later(1000);
  for (Extent& e : later) e = {below(random, end - (1 << 20)), 1 + below(random, 1 << 20)};
  must(builder.add(512, later, BatchTimes(20000, 30000)));
  time_index(built(builder), random);
}

// The papers' own look-up beside ours, on FS-TEST as its table has it.
void he2013_arm(Random& random) {
  const generators::Workload work = generators::fs_test();
  std::vector<he2013::LocalIndex> locals;
  for (const generators::Stream& stream : work.streams) {
    locals.emplace_back(stream.rank);
    for (const Extent& access : stream.accesses) locals.back().add(access);
    locals.back().close();
  }
  const he2013::GlobalIndex index(locals);
  const auto end = static_cast<std::int64_t>(work.accesses()) * kRecord;
  print("ns", nanoseconds(end, random, [&](std::int64_t offset) {
          const auto piece = index.find(offset);
          return piece ? piece->physical + piece->length % 2 : 0;
        }));
  print("bytes", static_cast<double>(index.memory_bytes()));
}

void ours_arm(Random& random) {
  time_index(fs_test(64, 16384, kRecord, 0, add_plainly), random);
}

// 512 ranks of 256K writes: all that is needed to open the logs, and to join with others by time.
// Names are PLFS's: dropping.data.SECONDS.MICROSECONDS.HOST.PID; ids come in any order. Ranks
// start within 0.1 s and end within 5 s.
void open_logs_arm(Random& random) {
  constexpr std::int64_t kRanks = 512;
  std::vector<std::uint32_t> ids(kRanks);
  for (std::uint32_t i = 0; i < kRanks; ++i) ids[i] = i;
  std::shuffle(ids.begin(), ids.end(), random);
  std::map<std::uint32_t, std::string> names;
  const std::int64_t began = 1'353'949'821'000'000;
  std::int64_t pid = 0;
  OffsetIndex index = fs_test(
      kRanks, 262'144, kRecord, 0,
      [&](IndexBuilder& builder, std::uint32_t rank, std::vector<Extent>& accesses) {
        if (rank % 16 == 0) pid = 1000 + below(random, 60'000);
        pid += 1 + below(random, 3);
        const std::int64_t first = began + below(random, 100'000);
        char name[80];
        std::snprintf(name, sizeof name, "dropping.data.%lld.%06lld.nid%05u.%lld",
                      static_cast<long long>(first / 1'000'000),
                      static_cast<long long>(first % 1'000'000), 2048 + rank / 16,
                      static_cast<long long>(pid));
        names[ids[rank]] = name;
        must(builder.add(ids[rank], accesses,
                         BatchTimes(first, first + 700'000'000 + below(random, 5'000'000))));
        builder.set_name(ids[rank], name);
      });
  print("nests", static_cast<double>(index.nests()));
  print("bytes", static_cast<double>(index.memory_bytes()));
  print("file_bytes", static_cast<double>(analyzer::write_index(index).size()));
  // Every log is found under its name, and every piece in its log.
  const std::int64_t record = below(random, 262'144);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const IndexPiece piece = index.at((record * kRanks + rank) * kRecord + 5);
    const bool right = piece.stream == ids[rank] && piece.position == record &&
                       piece.physical == record * kRecord + 5 && piece.length == kRecord - 5 &&
                       index.stream_name(piece.stream) == names[ids[rank]];
    if (!right) must(analyzer::Error{"", "a wrong answer"});
  }
  if (!index.seal()) must(analyzer::Error{"", "contested"});
  print("sealed_bytes", static_cast<double>(index.memory_bytes()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(Random&)> arms = {
      {"floor", floor_arm},
      {"nest", nest_arm},
      {"holes", holes_arm},
      {"segments", segments_arm},
      {"loops", loops_arm},
      {"interleaved", interleaved_arm},
      {"overwritten", overwritten_arm},
      {"he2013", he2013_arm},
      {"ours", ours_arm},
      {"open_logs", open_logs_arm},
  };
  const auto arm = arms.find(argc > 1 ? argv[1] : "");
  if (arm == arms.end() || argc != 3) {
    std::fputs("usage: index_lookups ARM SEED\n", stderr);
    return 2;
  }
  Random random(std::strtoull(argv[2], nullptr, 10));
  arm->second(random);
  return 0;
}
