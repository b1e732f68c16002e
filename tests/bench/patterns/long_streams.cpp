#include "tests/bench/patterns/long_streams.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "analyzer/pattern_log/pattern_log.h"
#include "tests/generators/drawing.h"

namespace iotune::bench {
namespace {

using patterns::Extent;

constexpr std::size_t kPiece = 1 << 14;  // accesses made at a time

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Extent strided(std::uint64_t k) {
  return {static_cast<std::int64_t>(k) * 64 * 4096, 4096};
}

Extent nested(std::uint64_t k) {
  const auto x = static_cast<std::int64_t>(k % 64);
  const auto y = static_cast<std::int64_t>(k / 64 % 64);
  const auto z = static_cast<std::int64_t>(k / 4096);
  return {z * (1 << 24) + y * 100000 + x * 1024, 512};
}

// Calls use(accesses, first index) for piece after piece.
template <typename Make, typename Use>
void in_pieces(std::uint64_t count, Make&& make, Use&& use) {
  std::vector<Extent> piece;
  for (std::uint64_t first = 0; first < count; first += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, count - first)));
    for (std::size_t k = 0; k < piece.size(); ++k) piece[k] = make(first + k);
    use(piece, first);
  }
}

void check(bool holds) {
  if (!holds) throw std::runtime_error("a long stream does not come back as it was");
}

}  // namespace

LongStream one_long_stream(const std::string& shape, std::uint64_t accesses) {
  const auto make = shape == "nested" ? nested : strided;
  analyzer::PatternLogWriter log;
  const std::uint32_t stream = log.add_stream(0, "");
  double seconds = 0;
  in_pieces(accesses, make, [&](const std::vector<Extent>& piece, std::uint64_t) {
    const double begun = cpu_seconds();
    log.add(stream, piece);
    seconds += cpu_seconds() - begun;
  });
  const double begun = cpu_seconds();
  const std::vector<std::byte> bytes = log.finish();
  seconds += cpu_seconds() - begun;

  const auto reader = analyzer::PatternLogReader::open(bytes);
  check(reader.has_value());
  auto back = reader->accesses(0);
  std::vector<Extent> read(kPiece);
  in_pieces(accesses, make, [&](const std::vector<Extent>& piece, std::uint64_t) {
    std::size_t got = 0;
    while (got < piece.size()) {
      const std::size_t n = back.read(std::span(read).subspan(got, piece.size() - got));
      check(n > 0);
      got += n;
    }
    check(std::equal(piece.begin(), piece.end(), read.begin()));
  });
  check(back.read(read) == 0 && !back.failed());
  return {accesses, seconds, bytes.size()};
}

LongStream logs_of_fs_test(std::uint32_t ranks, std::uint64_t writes, std::uint64_t seed) {
  constexpr std::int64_t kRecord = 4096;
  generators::Drawing draw(seed);
  std::vector<std::uint32_t> order(ranks);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t k = order.size(); k > 1; --k) {
    std::swap(order[k - 1], order[static_cast<std::size_t>(draw.next() % k)]);
  }
  const auto access = [ranks](std::uint32_t rank, std::uint64_t k) {
    return Extent{(static_cast<std::int64_t>(k) * ranks + rank) * kRecord, kRecord};
  };
  analyzer::PatternLogWriter log;
  std::vector<std::string> names;
  double seconds = 0;
  std::vector<std::int64_t> places;
  for (const std::uint32_t rank : order) {
    char name[96];
    std::snprintf(name, sizeof name, "dropping.data.%lld.%06d.rr%03u.localdomain.%d",
                  1350314425LL + draw.between(0, 1), static_cast<int>(draw.between(0, 999999)),
                  1 + rank / 8, static_cast<int>(draw.between(2000, 32767)));
    names.emplace_back(name);
    const std::uint32_t stream = log.add_stream(rank, names.back());
    in_pieces(
        writes, [&](std::uint64_t k) { return access(rank, k); },
        [&](const std::vector<Extent>& piece, std::uint64_t first) {
          places.resize(piece.size());
          for (std::size_t k = 0; k < piece.size(); ++k) {
            places[k] = static_cast<std::int64_t>(first + k) * kRecord;
          }
          const double begun = cpu_seconds();
          log.add(stream, piece, places);
          seconds += cpu_seconds() - begun;
        });
    log.end_stream(stream);
  }
  const double begun = cpu_seconds();
  const std::vector<std::byte> bytes = log.finish();
  seconds += cpu_seconds() - begun;

  const auto reader = analyzer::PatternLogReader::open(bytes);
  check(reader.has_value() && reader->streams().size() == ranks);
  std::vector<Extent> read(kPiece);
  places.resize(kPiece);
  for (std::uint32_t s = 0; s < ranks; ++s) {
    check(reader->streams()[s].rank == order[s] && reader->streams()[s].name == names[s]);
    auto back = reader->accesses(s);
    std::uint64_t k = 0;
    for (std::size_t n = back.read(read, places); n > 0; n = back.read(read, places)) {
      for (std::size_t i = 0; i < n; ++i, ++k) {
        check(read[i] == access(order[s], k) &&
              places[i] == static_cast<std::int64_t>(k) * kRecord);
      }
    }
    check(k == writes && !back.failed());
  }
  return {writes * ranks, seconds, bytes.size()};
}

}  // namespace iotune::bench
