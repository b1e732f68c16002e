// Two properties, by the first byte of the input:
// - any bytes: reading them, passing over them and reading them as runs agree, and stay in their
//   buffers;
// - any values: what is encoded comes back, within the promised size.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "patterns/tuple_loops.h"

namespace {

using namespace iotune::patterns;
using Values = std::vector<std::int64_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

// The tuples of runs, each its count, its first tuple and what each next one adds.
Values expanded(std::span<const std::int64_t> runs, unsigned dims) {
  Values values;
  for (std::size_t at = 0; at < runs.size(); at += 2 * std::size_t{dims} + 1) {
    for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(runs[at]); ++k) {
      for (unsigned d = 0; d < dims; ++d) {
        const auto first = static_cast<std::uint64_t>(runs[at + 1 + d]);
        const auto adds = static_cast<std::uint64_t>(runs[at + 1 + dims + d]);
        values.push_back(static_cast<std::int64_t>(first + k * adds));
      }
    }
  }
  return values;
}

void any_bytes(std::span<const std::byte> bytes, std::size_t n, unsigned dims) {
  Values out(n * dims);
  ByteReader in(bytes);
  const bool ok = decode_tuples(in, n, dims, out);
  require(ok == !in.failed());
  ByteReader over(bytes);
  require(skip_tuples(over, n, dims) == ok && (!ok || over.bytes_used() == in.bytes_used()));
  Values runs(n * (2 * std::size_t{dims} + 1));
  ByteReader by_runs(bytes);
  const std::size_t found = decode_tuple_runs(by_runs, n, dims, runs);
  if (found == 0) return;
  require(ok && by_runs.bytes_used() == in.bytes_used());
  runs.resize(found * (2 * std::size_t{dims} + 1));
  require(expanded(runs, dims) == out);
}

void any_values(std::span<const std::byte> bytes, unsigned dims, unsigned options) {
  if (dims == 0) return;
  // Bytes as small differences: loops are found in them now and then.
  Values values;
  for (const std::byte b : bytes) {
    const auto step = static_cast<std::int8_t>(b);
    const std::size_t size = values.size();
    const auto before = size < dims ? 0U : static_cast<std::uint64_t>(values[size - dims]);
    const auto scale = (options & 1U) != 0 ? 0x0400000000000001U : 1U;
    values.push_back(static_cast<std::int64_t>(before + static_cast<std::uint64_t>(step) * scale));
  }
  const std::size_t n = values.size() / dims;
  values.resize(n * dims);
  std::vector<std::byte> scratch(scratch_bytes(n, dims));
  std::vector<std::byte> buffer(plain_bytes(values, n, dims) + 1);
  ByteWriter out(buffer);
  require(encode_tuples(values, n, dims, scratch, out, {options % 90 + 1}));
  ByteReader in(out.written());
  Values back(n * dims);
  require(decode_tuples(in, n, dims, back));
  require(in.bytes_left() == 0 && back == values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::span<const std::byte> rest = std::as_bytes(std::span(data + 4, size - 4));
  const unsigned dims = data[1] % 20U;
  if (data[0] % 2 == 0) {
    any_bytes(rest, data[2] + 256U * (data[3] % 4U), dims);
  } else {
    any_values(rest, dims, data[2]);
  }
  return 0;
}
