// The recorded words of a call, by the names that its signature gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "recorder/read/call.h"

namespace iotune::recorder {

struct ArgumentValue {
  const ArgumentSignature* signature;
  std::span<const std::int64_t> numbers;  // one; of an array its values
  std::string_view text;
  bool null = false;  // an array that was NULL
};

// Points into the call.
struct CallArguments {
  std::vector<ArgumentValue> values;
  std::optional<std::int64_t> result;    // pseudo calls have none
  std::span<const std::int64_t> extras;  // names in the signature; the last one may be many
  std::vector<std::string_view> texts;   // those after the arguments' texts

  // The number called `name`, among the arguments, the extras or "result".
  std::optional<std::int64_t> number(const CallSignature& signature, std::string_view name) const;
  // The argument called `name`, nullptr if there is none.
  const ArgumentValue* find(std::string_view name) const;
};

// Nothing where the call has no signature or fewer words than its signature says.
std::optional<CallArguments> arguments_of(const Call& call);
// The same for one call after the other, into memory that is used again. False: nothing.
bool read_arguments(const Call& call, CallArguments& result);

// What a transfer selects, in the file or in memory (FORMAT.md).
struct Selection {
  enum class Kind : std::int8_t {
    kUnknown = -1,
    kNone = 0,
    kAll = 1,
    kRegular = 2,
    kBlocks = 3,
    kPoints = 4,
    kTooLarge = 5,
    kAsInFile = 6,  // in memory: what is selected in the file, of a space like the dataset's
    kOneBlock = 7   // in memory: one piece
  };
  Kind kind = Kind::kUnknown;
  std::size_t dimensions = 0;
  // all: dims; regular: start, stride, count, block; blocks: first and last corner of each;
  // points: coordinates of each; too large: first and last corner of them all.
  std::span<const std::int64_t> values;
  std::size_t entries = 0;  // of blocks and points

  std::span<const std::int64_t> row(std::size_t index) const {
    return values.subspan(index * dimensions, dimensions);
  }
};

// Extras of a transfer of HDF5, of one dataset.
struct TransferExtras {
  std::int64_t object = 0;
  std::int64_t mode = -1;
  std::int64_t type_bytes = 0;
  std::int64_t points = -1;
  Selection file, memory;  // memory: unknown in traces of earlier versions
  // What HDF5 made of a collective transfer, where it said so: H5D_mpio_actual_io_mode_t, and the
  // causes against collective I/O here and anywhere.
  struct Actual {
    std::int64_t io_mode, local_cause, global_cause;
  };
  std::optional<Actual> actual;
};

// One for each dataset of the call; none where the extras are too few or contradict themselves.
std::vector<TransferExtras> transfer_extras(const CallArguments& arguments);
std::vector<TransferExtras> transfer_extras(std::span<const std::int64_t> extras,
                                            std::size_t datasets);

}  // namespace iotune::recorder
