// make_trace SHAPE RANKS ACCESSES FILE: a trace of a run of any size, written without running it.
// Every rank writes ACCESSES times to one shared file.
//   strided   one loop: records of 4 KiB, dealt out to the ranks in turns
//   nested    three loops: a block of a grid, in rows of 64 and planes of 64 rows
//   random    offsets and lengths that nothing foretells
#include <cstdio>
#include <cstdlib>
#include <string>

#include "recorder/write/access_writer.h"

namespace iotune::recorder {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

void place(const std::string& shape, std::uint64_t rank, std::uint64_t ranks, std::uint64_t k,
           NewAccess& access) {
  if (shape == "strided") {
    access.offset = static_cast<std::int64_t>((k * ranks + rank) * 4096);
    access.length = 4096;
  } else if (shape == "nested") {
    const std::uint64_t row = k / 64 % 64, plane = k / 4096;
    access.offset =
        static_cast<std::int64_t>(((plane * 64 + row) * ranks + rank) * 65536 + k % 64 * 1024);
    access.length = 512;
  } else {
    const std::uint64_t drawn = mixed(k * ranks + rank + 1);
    access.offset = static_cast<std::int64_t>(drawn >> 24U);
    access.length = static_cast<std::int64_t>(1 + drawn % 100000);
  }
}

int run(const std::string& shape, std::uint64_t ranks, std::uint64_t accesses,
        const std::string& file) {
  AccessWriter writer(file, KeptTimes::kPattern, true);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t process = writer.trace().add_process({{"rank", std::to_string(rank)},
                                                              {"size", std::to_string(ranks)},
                                                              {"pid", std::to_string(1000 + rank)},
                                                              {"host", "node"},
                                                              {"program", "made"}});
    NewAccess access;
    access.kind = AccessKind::kWrite;
    access.path = "/scratch/shared";
    for (std::uint64_t k = 0; k < accesses; ++k) {
      place(shape, rank, ranks, k, access);
      access.start_ns = 1'000'000'000 + k * 1000;
      access.end_ns = access.start_ns + 500;
      if (!writer.add(process, 0, access)) break;
    }
  }
  const auto written = writer.finish();
  if (!written) {
    std::fprintf(stderr, "make_trace: %s\n", written.error().text().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace iotune::recorder

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "make_trace strided|nested|random RANKS ACCESSES FILE\n");
    return 2;
  }
  return iotune::recorder::run(argv[1], std::strtoull(argv[2], nullptr, 10),
                               std::strtoull(argv[3], nullptr, 10), argv[4]);
}
