// Compacts a container, as the last close does: logstore_compact DIR. Prints lines "name value".
#include <cstdio>
#include <string>

#include "logstore/compact/compaction.h"
#include "tests/bench/logstore/arm.h"

int main(int argc, char** argv) {
  using namespace iotune;
  if (argc != 2) {
    std::fputs("usage: logstore_compact DIR\n", stderr);
    return 2;
  }
  const double began = bench::wall_ns();
  const auto done = logstore::compact(argv[1]);
  const double took = bench::wall_ns() - began;
  if (!done) {
    std::fprintf(stderr, "logstore_compact: %s\n", done.error().text().c_str());
    return 1;
  }
  bench::print("ns", took);
  bench::print("index_bytes_before", static_cast<double>(done->index_bytes_before));
  bench::print("index_bytes", static_cast<double>(done->index_bytes));
  bench::print("copied_bytes", static_cast<double>(done->copied_bytes));
  bench::print("peak_bytes", bench::peak_bytes());
  return 0;
}
