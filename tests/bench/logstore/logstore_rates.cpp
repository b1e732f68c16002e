// How small the index of an application's shared file is, by the papers' rate: 56 bytes an access
// (PLFS's entry in memory) over the index's bytes.
//
//   logstore_rates list              the applications, tab, what the papers print (0: nothing)
//   logstore_rates rates NAME SEED   simulated: accesses of tests/generators, drawn times
//   logstore_rates map NAME          the same accesses as a map: CSV, as `iotune log map` writes
//   logstore_rates container DIR     of a container that a program really wrote
//
// `rates` and `container` print lines "name value".
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/baselines/he2013/global_index.h"
#include "analyzer/index/index_file.h"
#include "logstore/read/container.h"
#include "logstore/write/log_writer.h"
#include "tests/bench/logstore/arm.h"
#include "tests/bench/logstore/simulated_run.h"
#include "tests/generators/applications.h"

namespace iotune::bench {
namespace {

using generators::Stream;
using generators::Workload;
using logstore::LogMap;
using logstore::LogWriter;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "logstore_rates: %s\n", what.c_str());
  std::exit(1);
}

struct Application {
  const char* name;
  double paper_rate;
  Workload (*make)();
};
// FLASH on 16 ranks, so that a machine of two cores can really run it.
constexpr Application kApplications[] = {
    {"MILC-A", 37.0, [] { return generators::milc_a(); }},
    {"MILC-B", 3.0, [] { return generators::milc_b(); }},
    {"MILC-C", 3.6, [] { return generators::milc_c(); }},
    {"BT-IO", 0, [] { return generators::btio({.ranks = 16, .extent = 64, .dumps = 4}); }},
    {"FLASH", 0, [] { return generators::flash({.ranks = 16}); }},
    {"Pagoda", 2.9, [] { return generators::pagoda(); }},
};

Workload made(const std::string& name) {
  for (const Application& application : kApplications) {
    if (name == application.name) return application.make();
  }
  fail(name + ": there is no such application");
}

void print_map(const LogMap& map, double accesses, double disk_bytes) {
  const auto file = static_cast<double>(analyzer::write_index(map.index()).size());
  const auto memory = static_cast<double>(map.memory_bytes());
  print("accesses", accesses);
  print("memory_bytes", memory);
  print("file_bytes", file);
  print("disk_bytes", disk_bytes);
  print("nests", static_cast<double>(map.index().nests() + map.index().segments()));
}

void print_he2013(const Workload& of) {
  std::vector<he2013::LocalIndex> locals;
  std::size_t local_bytes = 0;
  for (const Stream& stream : of.streams) {
    locals.emplace_back(stream.rank);
    for (const patterns::Extent& access : stream.accesses) locals.back().add(access);
    locals.back().close();
    local_bytes += locals.back().memory_bytes();
  }
  print("he2013_bytes", static_cast<double>(he2013::GlobalIndex(locals).memory_bytes()));
  print("he2013_local_bytes", static_cast<double>(local_bytes));
}

struct Index {
  std::vector<std::byte> bytes;
};

std::vector<std::byte> written(const Stream& stream, RankTimes times, std::uint64_t id,
                               std::int64_t& log_bytes) {
  static std::vector<std::uint64_t> arena(LogWriter::arena_bytes() / 8 + 1);
  struct Clock {
    RankTimes times;
    RankTimes::Interval interval;
    bool inside = true;
  } clock{times, {times.now_ns(), times.now_ns()}};
  const logstore::LogFile nowhere{nullptr,
                                  [](void*, const void*, std::size_t size, std::int64_t) noexcept {
                                    return static_cast<std::int64_t>(size);
                                  },
                                  [](void*) noexcept { return 0; }};
  Index index;
  const logstore::LogFile file{
      &index,
      [](void* self, const void* from, std::size_t size, std::int64_t offset) noexcept {
        auto& to = static_cast<Index*>(self)->bytes;
        const auto at = static_cast<std::size_t>(offset);
        if (to.size() < at + size) to.resize(at + size);
        std::memcpy(to.data() + at, from, size);
        return static_cast<std::int64_t>(size);
      },
      [](void*) noexcept { return 0; }};
  const logstore::LogClock look{&clock, [](void* self) noexcept {
                                  auto& own = *static_cast<Clock*>(self);
                                  own.inside = !own.inside;
                                  if (!own.inside) return own.interval.end_ns;
                                  own.interval = own.times.next();
                                  return own.interval.begin_ns;
                                }};
  LogWriter writer(nowhere, file, look, std::as_writable_bytes(std::span(arena)));
  if (writer.begin(id) != 0) fail("begin");
  for (const patterns::Extent& access : stream.accesses) {
    const auto size = static_cast<std::size_t>(access.length);
    if (writer.append(access.offset, nullptr, size) != access.length) fail("append");
  }
  if (writer.close() != 0) fail("close");
  log_bytes = writer.log_bytes();
  return std::move(index.bytes);
}

void rates(const std::string& name, std::uint64_t seed) {
  const Workload of = made(name);
  const SimulatedRun run{static_cast<std::uint32_t>(of.streams.size()), 1, 1, Pace::even, seed};
  const auto names = writer_names(run);
  std::vector<std::vector<std::byte>> indexes;
  std::vector<logstore::WriterBytes> writers;
  std::size_t disk_bytes = 0;
  for (std::size_t i = 0; i < of.streams.size(); ++i) {
    std::int64_t log_bytes = 0;
    indexes.push_back(
        written(of.streams[i], RankTimes(run, static_cast<std::uint32_t>(i)), 1, log_bytes));
    disk_bytes += indexes.back().size();
    writers.push_back({names[i], {}, log_bytes});
  }
  for (std::size_t i = 0; i < writers.size(); ++i) writers[i].index = indexes[i];
  std::vector<logstore::WriterReport> reports;
  const auto map = LogMap::merge(1, std::move(writers), reports);
  if (!map) fail(map.error().text());
  print_map(*map, static_cast<double>(of.accesses()), static_cast<double>(disk_bytes));
  print_he2013(of);
}

void print_csv(const std::string& name) {
  const Workload of = made(name);
  std::puts("writer,rank,offset,length,time_ns,physical");
  for (const Stream& stream : of.streams) {
    std::int64_t physical = 0;
    std::int64_t time = 0;
    for (const patterns::Extent& access : stream.accesses) {
      std::printf("w%u,%u,%lld,%lld,%lld,%lld\n", stream.rank, stream.rank,
                  static_cast<long long>(access.offset), static_cast<long long>(access.length),
                  static_cast<long long>(time += 10'000), static_cast<long long>(physical));
      physical += access.length;
    }
  }
}

void container(const std::string& path) {
  const auto opened = logstore::Container::open(path);
  if (!opened) fail(opened.error().text());
  double entries = 0;
  for (const auto& report : opened->reports()) entries += static_cast<double>(report.entries);
  double disk_bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == logstore::kIndexEnding) {
      disk_bytes += static_cast<double>(entry.file_size());
    }
  }
  print_map(opened->map(), entries, disk_bytes);
}

}  // namespace
}  // namespace iotune::bench

int main(int argc, char** argv) {
  using namespace iotune::bench;
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "list" && argc == 2) {
    for (const auto& application : kApplications) {
      std::printf("%s\t%.1f\n", application.name, application.paper_rate);
    }
  } else if (mode == "rates" && argc == 4) {
    rates(argv[2], std::strtoull(argv[3], nullptr, 10));
  } else if (mode == "map" && argc == 3) {
    print_csv(argv[2]);
  } else if (mode == "container" && argc == 3) {
    container(argv[2]);
  } else {
    std::fputs("usage: logstore_rates list | rates NAME SEED | map NAME | container DIR\n", stderr);
    return 2;
  }
  return 0;
}
