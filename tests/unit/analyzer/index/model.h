// What an index must answer, byte by byte: slow, and too simple to be wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/index/index_builder.h"
#include "patterns/extent.h"

namespace iotune::analyzer::testing {

using Extents = std::vector<patterns::Extent>;

// One batch of a stream, with a time for each access, or with none for the whole.
struct Batch {
  std::uint32_t stream;
  Extents accesses;
  std::vector<std::int64_t> times;
};

class Model {
 public:
  void add(const Batch& batch);
  // The same cut into pieces: bytes of one access in a row.
  std::vector<IndexPiece> pieces(std::int64_t offset, std::int64_t length) const;
  std::int64_t end() const { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  struct Byte {
    WriteOrder order;
    std::int64_t physical = 0;
    bool written = false;
  };
  std::vector<Byte> bytes_;
  std::map<std::uint32_t, StreamEnd> ends_;
  std::int64_t clock_ = 0;
};

OffsetIndex built(const IndexBuilder& builder);

// Compares all of the file by at(), by ranges and behind its end.
void expect_same(const OffsetIndex& index, const Model& model, const std::string& what);

}  // namespace iotune::analyzer::testing
