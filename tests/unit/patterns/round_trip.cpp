#include "round_trip.h"

#include <gtest/gtest.h>

namespace iotune::patterns::testing {

Bytes encode(const Values& values, unsigned dims, EncodeOptions options) {
  const std::size_t n = dims == 0 ? 0 : values.size() / dims;
  Bytes scratch(scratch_bytes(n, dims));
  Bytes bytes(plain_bytes(values, n, dims) + 1);
  ByteWriter out(bytes);
  EXPECT_TRUE(encode_tuples(values, n, dims, scratch, out, options));
  EXPECT_FALSE(out.overflowed());
  bytes.resize(out.bytes_used());
  bytes.shrink_to_fit();
  return bytes;
}

Read decode(const Bytes& bytes, std::size_t n, unsigned dims) {
  Read read;
  read.values.assign(n * dims, 0x5a5a5a5a);
  ByteReader in(bytes);
  const bool ok = decode_tuples(in, n, dims, read.values);
  EXPECT_EQ(ok, !in.failed());
  ByteReader over(bytes);
  EXPECT_EQ(skip_tuples(over, n, dims), ok);
  if (ok) {
    EXPECT_EQ(over.bytes_used(), in.bytes_used());
  }
  read.ok = ok && in.bytes_left() == 0;
  return read;
}

std::size_t expect_round_trip(const Values& values, unsigned dims, EncodeOptions options) {
  const std::size_t n = values.size() / dims;
  const Bytes bytes = encode(values, dims, options);
  const Read back = decode(bytes, n, dims);
  EXPECT_TRUE(back.ok);
  EXPECT_TRUE(back.values == values);
  EXPECT_LE(bytes.size(), plain_bytes(values, n, dims) + 1);
  return bytes.size();
}

}  // namespace iotune::patterns::testing
