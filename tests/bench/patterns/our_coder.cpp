#include "tests/bench/patterns/our_coder.h"

#include "tests/generators/workload_log.h"

namespace iotune::bench {

std::vector<std::byte> encode(const generators::Workload& of) {
  return generators::encode_log(of);
}

std::vector<generators::Stream> decode(std::span<const std::byte> bytes) {
  return generators::decode_log(bytes);
}

}  // namespace iotune::bench
