// The calls of recorder/calls.table as data, for code that prints or analyses them.
// call_table.cpp is generated from the table at build time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/process/layer.h"
#include "recorder/call_meaning.h"

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
  bool transfer;  // moves data of a file or a dataset
  bool writes;    // a transfer into it
  NumberStyle result_style;
  std::span<const ArgumentSignature> arguments;
  std::span<const std::string_view> extras;  // names of the numbers after the result
  std::span<const std::string_view> texts;   // names of the texts after the arguments' texts
  CallMeaning meaning;
};

// The word of calls.table.
std::string_view name_of(Verb verb) noexcept;
std::string_view name_of(Thing thing) noexcept;

// All calls in the table's order, the pseudo calls of iotune last. An index into it is the
// function number of ring records.
std::span<const CallSignature> call_table() noexcept;

// The names alone, without the rest of the table: all that the preload needs of it, and free
// of relocations. `number` is below call_count().
std::string_view call_name(std::size_t number) noexcept;
std::size_t call_count() noexcept;

// What the names of pseudo calls begin with, those of newer iotunes too (FORMAT.md).
constexpr bool is_pseudo_call(std::string_view name) noexcept {
  return name.starts_with("iotune_");
}

// nullptr where the table has no such call (a trace of a newer iotune).
const CallSignature* find_call(std::string_view name) noexcept;

// CRC-32C of the names in order, each with its NUL: `table` of a PROCESS block.
std::uint32_t call_table_crc() noexcept;

}  // namespace iotune::recorder
