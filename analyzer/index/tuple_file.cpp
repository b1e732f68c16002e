#include "analyzer/index/tuple_file.h"

#include "patterns/tuple_loops.h"

namespace iotune::analyzer {

void append_varint(std::vector<std::byte>& to, std::uint64_t value) {
  std::byte bytes[patterns::kMaxVarintBytes];
  patterns::ByteWriter writer(bytes);
  writer.varint(value);
  to.insert(to.end(), writer.written().begin(), writer.written().end());
}

void append_tuples(std::vector<std::byte>& to, std::span<const std::int64_t> values,
                   unsigned dims) {
  const std::size_t n = values.size() / dims;
  append_varint(to, n);
  if (n == 0) return;
  std::vector<std::byte> scratch(patterns::scratch_bytes(n, dims));
  const std::size_t before = to.size();
  to.resize(before + patterns::plain_bytes(values, n, dims) + 1);
  patterns::ByteWriter writer(std::span<std::byte>(to).subspan(before));
  patterns::encode_tuples(values, n, dims, scratch, writer);
  to.resize(before + writer.bytes_used());
}

bool read_tuples(patterns::ByteReader& in, unsigned dims, std::size_t most,
                 std::vector<std::int64_t>& values) {
  const std::uint64_t n = in.varint();
  if (in.failed() || n > most || n > patterns::kMaxTuples) return false;
  values.clear();
  if (n == 0) return true;
  // Passed over first: damage is found before memory is taken for it.
  patterns::ByteReader ahead = in;
  if (!patterns::skip_tuples(ahead, n, dims)) return false;
  values.resize(n * dims);
  return patterns::decode_tuples(in, n, dims, values);
}

}  // namespace iotune::analyzer
