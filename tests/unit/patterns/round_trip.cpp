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

namespace {

struct Runs {
  std::size_t count;
  std::size_t bytes_used;
  Values values;
};

Runs decode_runs(const Bytes& bytes, std::size_t n, unsigned dims) {
  const std::size_t width = 2 * std::size_t{dims} + 1;
  Values runs(n * width);
  ByteReader in(bytes);
  Runs read{decode_tuple_runs(in, n, dims, runs), in.bytes_used(), {}};
  for (std::size_t at = 0; at < read.count * width; at += width) {
    for (std::int64_t k = 0; k < runs[at]; ++k) {
      for (unsigned d = 0; d < dims; ++d) {
        const auto moved =
            static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(runs[at + 1 + dims + d]);
        read.values.push_back(
            static_cast<std::int64_t>(static_cast<std::uint64_t>(runs[at + 1 + d]) + moved));
      }
    }
  }
  return read;
}

}  // namespace

std::size_t runs_in(const Bytes& bytes, std::size_t n, unsigned dims) {
  return decode_runs(bytes, n, dims).count;
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
  const Runs runs = decode_runs(bytes, n, dims);
  EXPECT_TRUE(ok || runs.count == 0);
  EXPECT_EQ(runs.bytes_used, runs.count > 0 ? in.bytes_used() : 0);
  if (runs.count > 0) {
    EXPECT_TRUE(runs.values == read.values);
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
