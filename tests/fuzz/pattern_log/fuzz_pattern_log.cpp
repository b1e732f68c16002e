// Two properties, by the first byte of the input:
// - any bytes: reading a log ends, in its memory;
// - any streams: what is encoded comes back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "analyzer/pattern_log/pattern_log.h"

namespace {

using namespace iotune::analyzer;
using iotune::patterns::Extent;

void require(bool holds) {
  if (!holds) std::abort();
}

void any_bytes(std::span<const std::byte> bytes) {
  const auto log = PatternLogReader::open(bytes);
  if (!log) return;
  std::vector<Extent> batch(64);
  const auto streams = static_cast<std::uint32_t>(log->streams().size());
  for (std::uint32_t stream = 0; stream < std::min(streams, 4U); ++stream) {
    PatternLogReader::Accesses accesses = log->accesses(stream);
    // A damaged count may make a loop endless.
    for (int i = 0; i < 8 && accesses.read(batch) > 0; ++i) {
    }
  }
}

void any_streams(std::span<const std::byte> bytes, unsigned options) {
  // Bytes as small differences: loops are found in them now and then.
  const unsigned ranks = options % 5 + 1;
  std::vector<std::vector<Extent>> streams(ranks);
  const std::uint64_t scale = (options & 128U) != 0 ? 0x0400000000000001U : 1U;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const auto step = static_cast<std::int8_t>(bytes[i]);
    offset += static_cast<std::uint64_t>(step) * scale;
    std::vector<Extent>& to = streams[i * ranks / bytes.size()];
    const Extent access{static_cast<std::int64_t>(offset), static_cast<std::int8_t>(bytes[i + 1])};
    // Runs, as bytes alone seldom have them.
    to.insert(to.end(), (options & 64U) != 0 && step > 100 ? 40 : 1, access);
  }
  PatternLogWriter writer({.leaves_held = (options & 32U) != 0 ? 30U : 100000U});
  for (unsigned s = 0; s < ranks; ++s) {
    const auto stream =
        writer.add_stream(s, std::string(bytes.size() % 7, 'a') + std::to_string(s));
    writer.add(stream, streams[s]);
    if ((options & 16U) != 0) writer.end_stream(stream);
  }
  const std::vector<std::byte> log = writer.finish();
  const auto reader = PatternLogReader::open(log);
  require(reader && reader->streams().size() == ranks);
  for (unsigned s = 0; s < ranks; ++s) {
    std::vector<Extent> back(streams[s].size() + 1);
    PatternLogReader::Accesses accesses = reader->accesses(s);
    require(accesses.read(back) == streams[s].size() && !accesses.failed());
    back.pop_back();
    require(back == streams[s]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::span<const std::byte> rest = std::as_bytes(std::span(data + 2, size - 2));
  if (data[0] % 2 == 0) {
    any_bytes(rest);
  } else {
    any_streams(rest, data[1]);
  }
  return 0;
}
