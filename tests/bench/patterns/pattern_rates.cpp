// What bench_patterns.py runs. One JSON line a workload: bytes by every method, each verified
// lossless, and CPU time an access.
//
//   pattern_rates list                  the catalogue's names
//   pattern_rates row NAME ROUNDS SEED  one row of the catalogue
//   pattern_rates drawn FIRST COUNT     nests drawn from the seeds FIRST, FIRST + 1, …; not timed
//   pattern_rates long SHAPE COUNT      one stream, see long_streams.h
//   pattern_rates logs RANKS WRITES SEED
//
// Exit status 1 and a line on stderr where a method loses something.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <tuple>

#include "analyzer/baselines/he2013/global_index.h"
#include "tests/bench/patterns/list_compression.h"
#include "tests/bench/patterns/long_streams.h"
#include "tests/bench/patterns/our_coder.h"
#include "tests/generators/catalogue.h"
#include "tests/generators/drawing.h"
#include "tests/generators/drawn_nest.h"

namespace iotune::bench {
namespace {

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::vector<he2013::LocalIndex> he2013_locals(const generators::Workload& of) {
  std::vector<he2013::LocalIndex> locals;
  locals.reserve(of.streams.size());
  for (const generators::Stream& stream : of.streams) {
    locals.emplace_back(stream.rank);
    for (const patterns::Extent& access : stream.accesses) locals.back().add(access);
    locals.back().close();
  }
  return locals;
}

// By rank and place in its log, as GlobalIndex::expand gives them.
std::vector<he2013::RawEntry> plain_entries(const generators::Workload& of) {
  std::vector<he2013::RawEntry> entries;
  entries.reserve(of.accesses());
  for (const generators::Stream& stream : of.streams) {
    std::int64_t physical = 0;
    for (const patterns::Extent& access : stream.accesses) {
      entries.push_back({stream.rank, access.offset, access.length, physical});
      physical += access.length;
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.chunk_id, a.physical) < std::tie(b.chunk_id, b.physical);
  });
  return entries;
}

void verify(const generators::Workload& of, const std::vector<he2013::LocalIndex>& locals,
            const he2013::GlobalIndex& global, const std::vector<std::byte>& ours) {
  if (global.expand() != plain_entries(of)) throw std::runtime_error("he2013 loses something");
  for (std::size_t s = 0; s < of.streams.size(); ++s) {
    const std::vector<he2013::RawEntry> entries = locals[s].expand();
    const auto& accesses = of.streams[s].accesses;
    if (!std::equal(accesses.begin(), accesses.end(), entries.begin(), entries.end(),
                    [](const patterns::Extent& a, const he2013::RawEntry& e) {
                      return a.offset == e.logical && a.length == e.length;
                    })) {
      throw std::runtime_error("he2013's local entries lose something");
    }
  }
  const std::vector<generators::Stream> back = decode(ours);
  if (!std::equal(of.streams.begin(), of.streams.end(), back.begin(), back.end(),
                  [](const generators::Stream& a, const generators::Stream& b) {
                    return a.rank == b.rank && a.accesses == b.accesses;
                  })) {
    throw std::runtime_error("ours loses something");
  }
}

const char* kind_name(generators::Kind kind) {
  switch (kind) {
    case generators::Kind::plain:
      return "plain";
    case generators::Kind::nested:
      return "nested";
    case generators::Kind::noisy:
      return "noisy";
    case generators::Kind::unstructured:
      return "unstructured";
  }
  return "";
}

// Without the closing brace, so that a caller can add fields. Texts here have no character that
// JSON escapes.
void print_sizes(const generators::Workload& of) {
  const std::vector<he2013::LocalIndex> locals = he2013_locals(of);
  const he2013::GlobalIndex global(locals);
  const std::vector<std::byte> ours = encode(of);
  verify(of, locals, global, ours);
  std::size_t local_bytes = 0;
  for (const auto& local : locals) local_bytes += local.memory_bytes();
  const CompressedBytes compressed = compressed_bytes(of);
  std::printf(
      "{\"name\": \"%s\", \"basis\": \"%s\", \"accesses\": %zu, \"streams\": %zu, "
      "\"plain\": %zu, \"he2013_local\": %zu, \"he2013_global\": %zu, \"he2013_ids\": %zu, "
      "\"ours\": %zu, \"zlib_9\": %zu, \"zstd_19\": %zu",
      of.name.c_str(), of.basis.c_str(), of.accesses(), of.streams.size(),
      he2013::kRawEntryBytes * of.accesses(), local_bytes, global.memory_bytes(),
      global.memory_bytes_ids_compressed(), ours.size(), compressed.zlib_9, compressed.zstd_19);
}

// Both arms in every round, in a drawn order. ns of CPU time an access.
void print_times(const generators::Workload& of, int rounds, std::uint64_t seed) {
  generators::Drawing draw(seed);
  std::vector<double> he2013;
  std::vector<double> ours;
  const auto accesses = static_cast<double>(of.accesses());
  // A small workload is done again and again, else the first page faults are what is measured.
  const int times = std::max(1, static_cast<int>(200000 / accesses));
  const auto time_he2013 = [&] {
    const double begun = cpu_ns();
    for (int k = 0; k < times; ++k) const auto made = he2013_locals(of);
    he2013.push_back((cpu_ns() - begun) / accesses / times);
  };
  const auto time_ours = [&] {
    const double begun = cpu_ns();
    for (int k = 0; k < times; ++k) const auto made = encode(of);
    ours.push_back((cpu_ns() - begun) / accesses / times);
  };
  for (int round = 0; round < rounds; ++round) {
    if (draw.percent(50)) {
      time_he2013();
      time_ours();
    } else {
      time_ours();
      time_he2013();
    }
  }
  const auto print = [](const char* arm, const std::vector<double>& numbers) {
    std::printf(", \"%s\": [", arm);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      std::printf("%s%.3f", k == 0 ? "" : ", ", numbers[k]);
    }
    std::printf("]");
  };
  print("he2013_ns", he2013);
  print("ours_ns", ours);
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto rows = generators::catalogue(generators::Size::table);
  if (mode == "list") {
    for (const generators::Row& row : rows) std::puts(row.name.c_str());
    return 0;
  }
  if (mode == "row" && argc == 5) {
    for (const generators::Row& row : rows) {
      if (row.name != argv[2]) continue;
      const generators::Workload made = row.make();
      print_sizes(made);
      print_times(made, std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10));
      std::printf(", \"kind\": \"%s\", \"paper\": %.1f}\n", kind_name(row.kind), row.paper_rate);
      return 0;
    }
    throw std::runtime_error("no such row");
  }
  if (mode == "drawn" && argc == 4) {
    const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
    const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const generators::DrawnNest drawn = generators::draw_nest(seed);
      print_sizes(generators::expand(drawn, seed));
      std::printf(", \"depth\": %zu, \"interleaved\": %s, \"noise\": %.1f}\n", drawn.depth(),
                  drawn.interleaved() ? "true" : "false", drawn.noise_percent);
      std::fflush(stdout);
    }
    return 0;
  }
  if ((mode == "long" && argc == 4) || (mode == "logs" && argc == 5)) {
    const std::uint64_t number = std::strtoull(argv[3], nullptr, 10);
    const LongStream made = mode == "long"
                                ? one_long_stream(argv[2], number)
                                : logs_of_fs_test(static_cast<std::uint32_t>(std::atoi(argv[2])),
                                                  number, std::strtoull(argv[4], nullptr, 10));
    std::printf("{\"accesses\": %llu, \"cpu_seconds\": %.4f, \"bytes\": %zu}\n",
                static_cast<unsigned long long>(made.accesses), made.cpu_seconds, made.bytes);
    return 0;
  }
  std::fprintf(stderr,
               "pattern_rates: list | row NAME ROUNDS SEED | drawn FIRST COUNT | long SHAPE COUNT "
               "| logs RANKS WRITES SEED\n");
  return 2;
}

}  // namespace
}  // namespace iotune::bench

int main(int argc, char** argv) {
  try {
    return iotune::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pattern_rates: %s\n", error.what());
    return 1;
  }
}
