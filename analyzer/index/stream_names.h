// The names of many streams' logs in little room: what a file of 512 ranks needs to open its logs
// is mostly names, and these differ in a few numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/index/packed_array.h"
#include "patterns/bytes.h"

namespace iotune::analyzer {

// A name is taken apart into decimal numbers and the texts between them. Names with equal sequences
// of numbers and texts share a form: columns of packed numbers, and of indices into one list of
// texts. What has no form with others is a text as a whole.
class StreamNames {
 public:
  StreamNames() = default;
  explicit StreamNames(const std::vector<std::string>& names);

  std::size_t size() const noexcept { return row_.size(); }
  std::string operator[](std::size_t i) const;  // i < size()
  std::size_t memory_bytes() const noexcept;

  void write(std::vector<std::byte>& to) const;
  // False on damage, and where names would need more than `most_bytes` together.
  static bool read(patterns::ByteReader& in, std::size_t most_bytes, StreamNames& to);

 private:
  struct Column {
    PackedArray values;
    bool is_text;
    std::uint8_t digits;  // of each number, with leading zeros; 0: as many as it has
  };
  struct Form {
    std::vector<Column> columns;
    std::size_t rows = 0;
  };

  class Builder;
  std::string text(std::size_t i) const;
  bool valid() const;

  std::vector<Form> forms_;
  PackedArray form_;  // of each name
  PackedArray row_;   // of each name, in its form
  std::string texts_;
  PackedArray text_ends_;
};

}  // namespace iotune::analyzer
