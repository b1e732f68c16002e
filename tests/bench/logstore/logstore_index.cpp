// The index of a log store for a simulated run of FS-TEST, ours and the plain one. Each call is one
// arm and prints lines "name value":
//
//   logstore_index make DIR RUN            a container, its logs sparse: sizes of its indexes
//   logstore_index make_plain DIR RUN      the plain indexes
//   logstore_index make_sorted FILE RUN    all plain entries in the order of the file
//   logstore_index open DIR RUN            read and merge: time, memory, look-ups
//   logstore_index open_plain DIR RUN
//   logstore_index compressed RUN          the plain entries by zlib in memory
//   logstore_index on_disk FILE RUN
//
// RUN is RANKS WRITES even|uneven SEED; records have 4 KiB. Look-ups are at random places, each
// waiting for the one before, and every answer is compared with the truth.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>

#include "logstore/read/container.h"
#include "logstore/write/log_writer.h"
#include "tests/bench/logstore/arm.h"
#include "tests/bench/logstore/plain_index.h"
#include "tests/bench/logstore/simulated_run.h"

namespace iotune::bench {
namespace {

using logstore::LogWriter;

constexpr std::int64_t kRecord = 4096;
constexpr std::size_t kLookups = 200'000;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "logstore_index: %s\n", what.c_str());
  std::exit(1);
}

// A log of which only the length is kept.
const logstore::LogFile kNowhere = {
    nullptr,
    [](void*, const void*, std::size_t size, std::int64_t) noexcept {
      return static_cast<std::int64_t>(size);
    },
    [](void*) noexcept { return 0; }};

struct Bytes {
  std::vector<std::byte> bytes;
  logstore::LogFile file() {
    return {this,
            [](void* self, const void* from, std::size_t size, std::int64_t offset) noexcept {
              auto& to = static_cast<Bytes*>(self)->bytes;
              const auto at = static_cast<std::size_t>(offset);
              if (to.size() < at + size) to.resize(at + size);
              std::memcpy(to.data() + at, from, size);
              return static_cast<std::int64_t>(size);
            },
            [](void*) noexcept { return 0; }};
  }
};

// Answers the writer's two looks at the clock around each write.
struct SimulatedClock {
  RankTimes times;
  RankTimes::Interval interval{};
  bool inside = true;

  logstore::LogClock clock() {
    return {this, [](void* self) noexcept {
              auto& own = *static_cast<SimulatedClock*>(self);
              own.inside = !own.inside;
              if (!own.inside) return own.interval.end_ns;
              own.interval = own.times.next();
              return own.interval.begin_ns;
            }};
  }
};

void write_file(const std::string& path, std::span<const std::byte> bytes, std::int64_t size) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool done = file >= 0 &&
                    write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                    (size < 0 || ftruncate(file, size) == 0);
  if (!done) fail(path + ": " + std::strerror(errno));
  close(file);
}

void make(const std::string& folder, const SimulatedRun& run) {
  constexpr std::uint64_t kId = 2013;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::array<std::byte, logstore::kHeadBytes> description{};
  logstore::write_description({kId, 0}, description);
  write_file(folder + "/" + logstore::kDescriptionName, description, -1);
  const auto names = writer_names(run);
  std::vector<std::uint64_t> arena(LogWriter::arena_bytes() / 8 + 1);
  std::int64_t running = 0;
  std::int64_t closed = 0;
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    Bytes index;
    SimulatedClock clock{RankTimes(run, rank)};
    clock.interval.end_ns = clock.times.now_ns();
    LogWriter writer(kNowhere, index.file(), clock.clock(),
                     std::as_writable_bytes(std::span(arena)));
    if (writer.begin(kId) != 0) fail("begin");
    for (std::int64_t k = 0; k < run.writes; ++k) {
      if (writer.append(run.offset(k, rank), nullptr, kRecord) != kRecord) fail("append");
    }
    running += writer.index_bytes();
    if (writer.close() != 0) fail("close");
    closed += writer.index_bytes();
    write_file(folder + "/" + names[rank] + logstore::kLogEnding, {}, run.writes * kRecord);
    write_file(folder + "/" + names[rank] + logstore::kIndexEnding, index.bytes, -1);
  }
  print("running_bytes", static_cast<double>(running));
  print("closed_bytes", static_cast<double>(closed));
  print("writer_bytes", static_cast<double>(LogWriter::arena_bytes() + sizeof(LogWriter)));
}

PlainEntry plain_entry(const SimulatedRun& run, std::uint32_t rank, std::int64_t k,
                       RankTimes& times, std::uint32_t id) {
  const RankTimes::Interval interval = times.next();
  return {run.offset(k, rank),
          k * kRecord,
          kRecord,
          static_cast<double>(interval.begin_ns) * 1e-9,
          static_cast<double>(interval.end_ns) * 1e-9,
          id,
          0};
}

void make_plain(const std::string& folder, const SimulatedRun& run) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto names = writer_names(run);
  std::int64_t running = 0;
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
    const std::string path = folder + "/" + names[rank];
    PlainWriter writer(path);
    RankTimes times(run, rank);
    for (std::int64_t k = 0; k < run.writes; ++k) {
      writer.add(plain_entry(run, rank, k, times, rank));
    }
    running += static_cast<std::int64_t>(std::filesystem::file_size(path));
    writer.flush();
  }
  print("running_bytes", static_cast<double>(running));
  print("closed_bytes", static_cast<double>(run.entries()) * sizeof(PlainEntry));
  print("writer_bytes", static_cast<double>(kPlainBuffer * sizeof(PlainEntry)));
}

// In the order of the file, which a strided run needs no sort for.
void in_order(const SimulatedRun& run, const std::function<void(const PlainEntry&)>& use) {
  const auto numbers = writer_numbers(writer_names(run));
  std::vector<RankTimes> times;
  for (std::uint32_t rank = 0; rank < run.ranks; ++rank) times.emplace_back(run, rank);
  for (std::int64_t k = 0; k < run.writes; ++k) {
    for (std::uint32_t rank = 0; rank < run.ranks; ++rank) {
      use(plain_entry(run, rank, k, times[rank], numbers[rank]));
    }
  }
}

void make_sorted(const std::string& path, const SimulatedRun& run) {
  PlainWriter writer(path);
  in_order(run, [&](const PlainEntry& entry) { writer.add(entry); });
}

struct Place {
  std::uint32_t writer;
  std::int64_t physical;
};

// ns a look-up, CPU time. `find` returns the Place of a byte.
template <class Find>
void time_lookups(const SimulatedRun& run, std::size_t lookups, Find&& find) {
  const auto numbers = writer_numbers(writer_names(run));
  std::mt19937_64 draw(run.seed);
  std::vector<std::int64_t> offsets(lookups);
  for (std::int64_t& offset : offsets) {
    offset =
        static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(run.entries() * kRecord));
  }
  std::vector<Place> found(lookups);
  std::int64_t last = 0;
  const double began = cpu_ns();
  for (std::size_t i = 0; i < lookups; ++i) {
    found[i] = find(offsets[i] + (last >> 62));  // 0, which the compiler cannot know
    last = found[i].physical;
  }
  print("lookup_ns", (cpu_ns() - began) / static_cast<double>(lookups));
  for (std::size_t i = 0; i < lookups; ++i) {
    const std::int64_t record = offsets[i] / kRecord;
    const bool right = found[i].writer == numbers[static_cast<std::size_t>(record % run.ranks)] &&
                       found[i].physical == record / run.ranks * kRecord + offsets[i] % kRecord;
    if (!right) fail("a wrong answer at byte " + std::to_string(offsets[i]));
  }
}

Place place_in(const PlainEntry* entry, std::int64_t offset) {
  if (entry == nullptr) fail("no entry at byte " + std::to_string(offset));
  return {entry->id, entry->physical + offset - entry->logical};
}

void open_ours(const std::string& folder, const SimulatedRun& run) {
  const double before = peak_bytes();
  const double began = wall_ns();
  const auto container = logstore::Container::open(folder);
  const double took = wall_ns() - began;
  if (!container) fail(container.error().text());
  print("open_ns", took);
  print("peak_bytes", peak_bytes() - before);
  const logstore::LogMap& map = container->map();
  print("memory_bytes", static_cast<double>(map.memory_bytes()));
  print("nests", static_cast<double>(map.index().nests() + map.index().segments()));
  time_lookups(run, kLookups, [&](std::int64_t offset) {
    const analyzer::IndexPiece piece = map.index().at(offset);
    return Place{piece.stream, piece.physical};
  });
}

void open_plain(const std::string& folder, const SimulatedRun& run) {
  const double before = peak_bytes();
  const double began = wall_ns();
  const PlainMap map = PlainMap::load(folder);
  print("open_ns", wall_ns() - began);
  print("peak_bytes", peak_bytes() - before);
  print("memory_bytes", static_cast<double>(map.memory_bytes()));
  time_lookups(run, kLookups,
               [&](std::int64_t offset) { return place_in(map.find(offset), offset); });
}

void compressed(const SimulatedRun& run) {
  CompressedIndex index;
  in_order(run, [&](const PlainEntry& entry) { index.add(entry); });
  index.close();
  print("memory_bytes", static_cast<double>(index.memory_bytes()));
  time_lookups(run, kLookups / 100,
               [&](std::int64_t offset) { return place_in(index.find(offset), offset); });
}

void on_disk(const std::string& path, const SimulatedRun& run) {
  IndexOnDisk index(path);
  time_lookups(run, kLookups / 10, [&](std::int64_t offset) {
    const auto entry = index.find(offset);
    return place_in(entry ? &*entry : nullptr, offset);
  });
  print("reads", static_cast<double>(index.reads()) / static_cast<double>(kLookups / 10));
}

SimulatedRun run_of(char** words) {
  SimulatedRun run{static_cast<std::uint32_t>(std::strtoul(words[0], nullptr, 10)),
                   std::strtoll(words[1], nullptr, 10), kRecord,
                   std::strcmp(words[2], "uneven") == 0 ? Pace::uneven : Pace::even,
                   std::strtoull(words[3], nullptr, 10)};
  if (run.ranks == 0 || run.ranks > 100'000 || run.writes <= 0) fail("RUN: not a possible run");
  return run;
}

}  // namespace
}  // namespace iotune::bench

int main(int argc, char** argv) {
  using namespace iotune::bench;
  const std::map<std::string, void (*)(const std::string&, const SimulatedRun&)> arms = {
      {"make", make},      {"make_plain", make_plain}, {"make_sorted", make_sorted},
      {"open", open_ours}, {"open_plain", open_plain}, {"on_disk", on_disk},
  };
  const std::string name = argc > 1 ? argv[1] : "";
  const auto arm = arms.find(name);
  if (name == "compressed" && argc == 6) {
    compressed(run_of(argv + 2));
  } else if (arm != arms.end() && argc == 7) {
    arm->second(argv[2], run_of(argv + 3));
  } else {
    std::fputs("usage: logstore_index ARM [PATH] RANKS WRITES even|uneven SEED\n", stderr);
    return 2;
  }
  return 0;
}
