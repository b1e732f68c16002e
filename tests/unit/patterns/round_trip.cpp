#include "round_trip.h"

#include <gtest/gtest.h>

#include "tuple_at.h"

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

Read decode_terms(const Bytes& bytes, std::size_t n, unsigned dims) {
  Read read;
  TermSpace space;
  if (!measure_terms(ByteReader(bytes), n, dims, space)) return read;
  const OwnedTree owned = read_tree(bytes, n, dims);
  if (owned.tree.rows != n) return read;
  read.values.resize(n * dims);
  for (std::size_t row = 0; row < n; ++row) {
    const bool found = tuple_at(owned.tree, row, std::span(read.values).subspan(row * dims, dims));
    if (!found) return read;
  }
  ByteReader in(bytes);
  std::vector<Term> terms(space.terms);
  Values values(space.values);
  TermTree tree;
  read.ok = read_terms(in, n, dims, terms, values, tree) && in.bytes_left() == 0;
  return read;
}

OwnedTree read_tree(const Bytes& bytes, std::size_t n, unsigned dims) {
  OwnedTree owned;
  TermSpace space;
  if (!measure_terms(ByteReader(bytes), n, dims, space)) return owned;
  owned.terms.resize(space.terms);
  owned.values.resize(space.values);
  ByteReader in(bytes);
  EXPECT_TRUE(read_terms(in, n, dims, owned.terms, owned.values, owned.tree));
  return owned;
}

std::size_t expect_round_trip(const Values& values, unsigned dims, EncodeOptions options) {
  const std::size_t n = values.size() / dims;
  const Bytes bytes = encode(values, dims, options);
  const Read back = decode(bytes, n, dims);
  EXPECT_TRUE(back.ok);
  EXPECT_TRUE(back.values == values);
  const Read by_terms = decode_terms(bytes, n, dims);
  EXPECT_TRUE(by_terms.ok);
  EXPECT_TRUE(by_terms.values == values);
  EXPECT_LE(bytes.size(), plain_bytes(values, n, dims) + 1);
  return bytes.size();
}

}  // namespace iotune::patterns::testing
