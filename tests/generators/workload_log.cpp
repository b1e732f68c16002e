#include "tests/generators/workload_log.h"

#include <stdexcept>

#include "analyzer/pattern_log/pattern_log.h"

namespace iotune::generators {

std::vector<std::byte> encode_log(const Workload& of) {
  analyzer::PatternLogWriter log;
  for (const Stream& stream : of.streams) {
    const std::uint32_t number = log.add_stream(stream.rank, "");
    log.add(number, stream.accesses);
    log.end_stream(number);
  }
  return log.finish();
}

std::vector<Stream> decode_log(std::span<const std::byte> log) {
  const auto reader = analyzer::PatternLogReader::open(log);
  if (!reader) throw std::runtime_error("damaged log");
  std::vector<Stream> streams;
  std::vector<patterns::Extent> batch(4096);
  for (std::uint32_t number = 0; number < reader->streams().size(); ++number) {
    Stream stream{static_cast<std::uint32_t>(reader->streams()[number].rank), {}};
    analyzer::PatternLogReader::Accesses accesses = reader->accesses(number);
    while (const std::size_t got = accesses.read(batch)) {
      stream.accesses.insert(stream.accesses.end(), batch.begin(),
                             batch.begin() + static_cast<std::ptrdiff_t>(got));
    }
    if (accesses.failed()) throw std::runtime_error("damaged log");
    streams.push_back(std::move(stream));
  }
  return streams;
}

}  // namespace iotune::generators
