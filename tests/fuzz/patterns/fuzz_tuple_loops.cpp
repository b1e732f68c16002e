// Two properties, by the first byte of the input:
// - any bytes: the two readers of an encoding agree and stay in their buffers;
// - any values: what is encoded comes back, within the promised size.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "patterns/loop_terms.h"
#include "patterns/tuple_loops.h"
#include "tests/unit/patterns/tuple_at.h"

namespace {

using namespace iotune::patterns;
using iotune::patterns::testing::tuple_at;
using Values = std::vector<std::int64_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

// Expands by way of the terms; false where they cannot be read.
bool expand_terms(std::span<const std::byte> bytes, std::size_t n, unsigned dims, Values& values) {
  TermSpace space;
  if (!measure_terms(ByteReader(bytes), n, dims, space)) return false;
  std::vector<Term> terms(space.terms);
  Values room(space.values);
  TermTree tree;
  ByteReader in(bytes);
  require(read_terms(in, n, dims, terms, room, tree));
  for (std::size_t row = 0; row < n; ++row) {
    require(tuple_at(tree, row, std::span(values).subspan(row * dims, dims)));
  }
  return true;
}

void any_bytes(std::span<const std::byte> bytes, std::size_t n, unsigned dims) {
  Values out(n * dims);
  ByteReader in(bytes);
  const bool ok = decode_tuples(in, n, dims, out);
  require(ok == !in.failed());
  ByteReader over(bytes);
  require(skip_tuples(over, n, dims) == ok && (!ok || over.bytes_used() == in.bytes_used()));
  Values by_terms(n * dims);
  require(expand_terms(bytes, n, dims, by_terms) == ok);
  if (ok) require(out == by_terms);
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
  Values by_terms(n * dims);
  require(expand_terms(out.written(), n, dims, by_terms) && by_terms == values);
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
