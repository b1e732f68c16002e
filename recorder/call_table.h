// The calls of recorder/calls.table as data, for whoever prints or analyses them.
// call_table.cpp is generated from the table at build time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/process/layer.h"

namespace iotune::recorder {

// How an argument stands in a recorded call (FORMAT.md, "Numbers of a call").
enum class ArgumentForm : std::uint8_t {
  kKey,     // one key
  kNumber,  // one number
  kArray,   // a length (-1 for NULL), then so many numbers
  kText,    // one of the texts
  kNone     // not recorded (a pointer)
};

// How a number reads best.
enum class NumberStyle : std::uint8_t { kSigned, kUnsigned, kHandle, kHex, kDouble };

struct ArgumentSignature {
  std::string_view name;
  ArgumentForm form;
  NumberStyle style;
};

struct CallSignature {
  std::string_view name;
  Layer layer;
  bool transfer;  // moves data
  bool writes;    // a transfer into the file
  NumberStyle result_style;
  std::span<const ArgumentSignature> arguments;
  std::span<const std::string_view> extras;  // names of the numbers after the result
  std::span<const std::string_view> texts;   // names of the texts after the arguments' texts
  // Names of the numbers that are file offset and length in bytes, or empty.
  std::string_view access_offset, access_length;
};

// All calls in the table's order, the pseudo calls of iotune last. An index into it is the
// function number of ring records.
std::span<const CallSignature> call_table() noexcept;

// The names alone, without the rest of the table: all that the preload needs of it, and free
// of relocations. `number` is below call_count().
std::string_view call_name(std::size_t number) noexcept;
std::size_t call_count() noexcept;

// nullptr where the table has no such call (a trace of a newer iotune).
const CallSignature* find_call(std::string_view name) noexcept;

// CRC-32C of the names in order, each with its NUL: `table` of a PROCESS block.
std::uint32_t call_table_crc() noexcept;

}  // namespace iotune::recorder
