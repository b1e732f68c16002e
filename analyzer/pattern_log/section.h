// What a pattern log holds of a span of time: terms of streams, and the streams that are new.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/pattern_log/shapes.h"

namespace iotune::analyzer::pattern_log {

// Who accesses what.
struct StreamKey {
  std::int64_t rank = 0;
  std::uint32_t name = 0;  // index of the log's names, in the order of first use
};

// A sequence of extents that belongs to a stream. What a stream is made of: channels.h.
struct Piece {
  std::uint32_t stream = 0;
  std::uint32_t channel = 0;
  TermList list;
  bool joined = false;  // join_cut_loop() was called
};

struct Section {
  std::vector<StreamKey> streams;  // those that no earlier section has, in their order
  std::vector<std::string> names;  // likewise
  Shapes shapes;
  std::vector<Piece> pieces;
};

// Pieces come back in another order, each with the accesses that it has. Changes their terms where
// others take less.
std::vector<std::byte> encode_section(Section& section);

// Reads streams and names only, or everything. False on damage: memory stays bounded, the content
// is unspecified.
bool decode_section(std::span<const std::byte> bytes, bool keys_only, Section& section);

}  // namespace iotune::analyzer::pattern_log
