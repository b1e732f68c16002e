#include "model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace iotune::analyzer::testing {

void Model::add(const Batch& batch) {
  StreamEnd& end = ends_[batch.stream];
  if (batch.times.empty() && !batch.accesses.empty()) ++clock_;
  for (std::size_t i = 0; i < batch.accesses.size(); ++i) {
    const patterns::Extent& access = batch.accesses[i];
    const std::int64_t time = batch.times.empty() ? clock_ : batch.times[i];
    clock_ = std::max(clock_, time);
    const WriteOrder order{time, batch.stream, end.position++};
    const auto to = static_cast<std::size_t>(access.offset + access.length);
    if (access.length > 0 && bytes_.size() < to) bytes_.resize(to);
    for (std::int64_t k = 0; k < access.length; ++k) {
      Byte& byte = bytes_[static_cast<std::size_t>(access.offset + k)];
      if (!byte.written || byte.order < order) byte = {order, end.physical + k, true};
    }
    end.physical += access.length;
  }
}

std::vector<IndexPiece> Model::pieces(std::int64_t offset, std::int64_t length) const {
  std::vector<IndexPiece> all;
  for (std::int64_t at = offset; at < offset + length; ++at) {
    IndexPiece piece{at, 1};
    if (at < end() && bytes_[static_cast<std::size_t>(at)].written) {
      const Byte& byte = bytes_[static_cast<std::size_t>(at)];
      piece = {at, 1, byte.order.stream, byte.order.position, byte.physical};
    }
    const bool goes_on =
        !all.empty() && all.back().stream == piece.stream && all.back().position == piece.position;
    if (goes_on) {
      ++all.back().length;
    } else {
      all.push_back(piece);
    }
  }
  return all;
}

OffsetIndex built(const IndexBuilder& builder) {
  auto index = builder.build();
  EXPECT_TRUE(index) << index.error().text();
  return index ? *std::move(index) : OffsetIndex();
}

namespace {

std::string text(const IndexPiece& p) {
  return "[" + std::to_string(p.offset) + " +" + std::to_string(p.length) + " stream " +
         (p.is_hole() ? "-" : std::to_string(p.stream)) + " position " +
         std::to_string(p.position) + " physical " + std::to_string(p.physical) + "]";
}

}  // namespace

void expect_same(const OffsetIndex& index, const Model& model, const std::string& what) {
  const std::int64_t end = model.end();
  ASSERT_EQ(index.end(), end) << what;
  const auto all = model.pieces(0, end);
  for (const IndexPiece& expected : all) {
    // At its first byte, its last, and one within.
    for (const std::int64_t skip : {std::int64_t{0}, expected.length - 1, expected.length / 2}) {
      IndexPiece rest = expected;
      rest.offset += skip;
      rest.length -= skip;
      if (!rest.is_hole()) rest.physical += skip;
      const IndexPiece found = index.at(rest.offset);
      ASSERT_EQ(found, rest) << what << ": " << text(found) << " for " << text(rest);
    }
  }
  ASSERT_EQ(index.pieces(0, end), all) << what;
  const std::int64_t from = end / 3;
  ASSERT_EQ(index.pieces(from, end), model.pieces(from, end)) << what;
  const IndexPiece behind = index.at(end);
  ASSERT_TRUE(behind.is_hole()) << what;
  ASSERT_EQ(behind.end(), INT64_MAX) << what;
}

}  // namespace iotune::analyzer::testing
