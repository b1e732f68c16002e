// FS-TEST and NERSC PatternIO: one stride a process.
#include "tests/generators/applications.h"

namespace iotune::generators {
namespace {

// Record k of rank r at (k·P + r)·record.
std::vector<Stream> records_in_turn(std::uint32_t ranks, std::int64_t writes, std::int64_t record) {
  std::vector<Stream> streams;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Stream stream{rank, {}};
    stream.accesses.reserve(static_cast<std::size_t>(writes));
    for (std::int64_t k = 0; k < writes; ++k) {
      stream.accesses.push_back({(k * ranks + rank) * record, record});
    }
    streams.push_back(std::move(stream));
  }
  return streams;
}

}  // namespace

Workload fs_test(const FsTest& of) {
  return {"FS-TEST N-1 strided",
          "HPDC 2013, 3.1: 4 KiB writes, strided; there 512 ranks with 16K to 256K writes each",
          records_in_turn(of.ranks, of.writes, of.record_bytes)};
}

Workload pattern_io(const PatternIo& of) {
  const std::int64_t block = of.blocks_of_64_kib * (64 << 10) + of.odd_bytes;
  return {"NERSC PatternIO",
          "HPDC 2013, 3.3: one fixed stride a process, one global pattern. Ranks and block sizes "
          "as the benchmark's runs at NERSC are described; the number of writes is our choice",
          records_in_turn(of.ranks, of.writes, block)};
}

}  // namespace iotune::generators
