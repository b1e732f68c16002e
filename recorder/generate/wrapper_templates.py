"""The C++ of the generated wrappers: one template a kind, and the parts that they share.

fill() puts in what stands behind a dollar. A name alone on its line may bring several lines, which
are indented as it is, or none. In a list, ${arguments_} brings the comma behind it and ${_given}
the one in front, where there is anything to separate.
"""

from __future__ import annotations

import re

FILE = """\
// Generated from recorder/calls.table: wrappers of layer $layer, $which.
#include <bit>

#include "recorder/wrappers/$layer/hooks_$layer.h"
$more_headers
#include "recorder/wrappers/plain_call.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

$wrappers

}  // extern "C"
"""

HDF5_HEADERS = '#include "recorder/wrappers/hdf5/known_selections.h"'
MPI_HEADERS = '#include "recorder/wrappers/mpi/order_call.h"'

# --- The kinds of wrappers ---------------------------------------------------

# A call of which nothing is recorded but its arguments and its result. All calls of one shape share
# one plain_call (plain_call.h).
PLAIN = """\
$hot$result IOTUNE_EXPORT $name($parameters) {
  $straight
  return plain_call<Layer::$layer, $result$kinds>(
      ${arguments_}{$description},
      __builtin_return_address(0));
}
"""

# The same of a call that changes what a dataspace selects (known_selections.h).
SPACE_CHANGE = """\
$hot$result IOTUNE_EXPORT $name($parameters) {
  $straight
  const void* const caller = __builtin_return_address(0);
  const SelectionChange change($symbol.find("$name", caller), $space, $selects);
  const $result result = plain_call<Layer::$layer, $result$kinds>(
      ${arguments_}{$description}, caller);
  $noted
  return result;
}
"""
NOTED_HYPERSLAB = """\
if (result >= 0) {
  change.set_hyperslab(arg_op, arg_start, arg_stride, arg_count, arg_block);
}
"""

# A call with hooks or with more to record, under its own name and under each of its aliases.
ALONE = """\
$symbol_definition
$hot$result IOTUNE_EXPORT $exported($parameters) {
  CallerSymbol& symbol = $symbol;
  $body
}
"""

# The same for calls that are made for every dataset: a small function in front, which sets up no
# frame where the call is passed straight on.
WATCHED = """\
$symbol_definition
[[gnu::noinline]] static $result watched_$exported(${parameters_}const void* caller);
$hot$result IOTUNE_EXPORT $exported($parameters) {
  $straight
  return watched_$exported(${arguments_}__builtin_return_address(0));
}
static $result watched_$exported(${parameters_}const void* caller) {
  CallerSymbol& symbol = $symbol;
  $body
}
"""

# A call of MPI has two names, MPI_ and PMPI_, whose wrappers share what they do.
SHARED = """\
[[${hot_}gnu::noinline]] static $result shared_$name($shared_parameters) {
  $body
}
"""
SHARED_PARAMETERS = "${parameters_}CallerSymbol& symbol, const char* exported, const void* caller"
NAME_OF_SHARED = """\
$symbol_definition
$hot$result IOTUNE_EXPORT $exported($parameters) {
  $straight
  return shared_$name(${arguments_}$symbol, "$exported", __builtin_return_address(0));
}
"""

# A call that orders processes: all of one shape share one order_call (order_call.h).
ORDER = """\
int IOTUNE_EXPORT $exported($parameters) {
  return order_call<$kinds>(
      ${arguments_}{$description}, __builtin_return_address(0));
}
"""

# --- Their parts ---------------------------------------------------------------

SYMBOL_DEFINITION = "static constinit CallerSymbol $symbol;"

# The real call at once, where nothing is recorded now and the function is known for this place of
# the program.
STRAIGHT = """\
if ($condition) {
  if (void* const passed = $symbol.$find(__builtin_return_address(0))) {
    $guard
    return reinterpret_cast<$result (*)($types)>(passed)($arguments);
  }
}
"""

# What a wrapper does: guard, real call, record. A hook may replace the arguments that are given to
# the real function; what is recorded is what the program passed.
BODY = """\
$find_real
$mark
$joint
CallScope scope(Layer::$layer$ignored);
if (goes_straight_through(scope, found)) return real($arguments);
$provider
$before
$closing
$ordered
scope.start();
$const$result result = real($given);
$again
scope.stop();
$pending
$record
$after
return result;
"""

# Defines `found` and `real`. $caller is a return address in the program.
FIND_REAL = """\
const RealFunction found = symbol.find($own_name, $caller);
auto* const real = reinterpret_cast<$result (*)($types)>(found.function);
if (real == nullptr) return say_missing($own_name), -1;
"""
# The same for a call with a large count, which an MPI older than 4 has only with an int.
FIND_REAL_OF_LARGE_COUNT = """\
static constinit CallerSymbol small_symbols[2];
RealFunction found = symbol.find($own_name, $caller);
const bool is_small = found.function == nullptr;
if (is_small) found = find_small_form(small_symbols, $own_name, $caller);
if (found.function == nullptr) return say_missing($own_name), -1;
const auto real = [&]($typed_words) {
  if (!is_small) return reinterpret_cast<$result (*)($types)>(
      found.function)($words);
  if ($count != static_cast<int>($count)) return kCountTooLarge;
  return reinterpret_cast<$result (*)($small_types)>(
      found.function)($small_words);
};
"""

# Of a call on an MPI file, in every mode (core/abi/mpi_file_mark.h).
MARK = "const MpiFileMark mark;"
MARK_OF_NAME = "const MpiFileMark mark(arg_name, 0);"
MARK_OF_OPEN = "const MpiFileMark mark(arg_name, ranks_of_open(found.provider, arg_comm));"

# Around a call that opens or closes an MPI file (recorder/hooks/service.h).
JOINT_OPEN = "const JointOpen joint(found.provider, arg_comm, arg_$file);"
JOINT_CLOSE = "const JointClose joint(found.provider, arg_$file);"

PROVIDER = "Provider& provider = *found.provider;"

BEFORE = """\
HookState hook{};
$copies
before_$hooks(provider, hook${_given});
"""
AGAIN = "while (again_$hooks(provider, hook, result${_given})) result = real($given);"
PENDING = "hook.pending = result >= 0 && is_pending(provider, arg_events);"
AFTER = "after_$hooks(provider${_hook}, result${_passed});"

# Handles that the call makes invalid are read before it.
CLOSING_FILE = "const Word closing_$argument = $argument == nullptr ? 0 : *$argument;"
CLOSING_SESSION = "const Word closing_$argument = handle_at(provider, $argument);"
ORDERED = "prepare_ordered(provider, $file);"

RECORD = """\
$condition{
  RecordWriter record(scope, CallNumber::k$name, Times::$times);
  $words
  $extras
  record.commit();
}
"""
EXTRAS = "extras_$hooks(provider${_hook}, record, result${_passed});"
TYPE_BYTES = "append_type_bytes(provider, record, result, arg_file, arg_type);"

_PLACE = re.compile(r"^( *)\$(\w+)\n|\$(\w+)|\$\{(\w+)\}", re.MULTILINE)


def fill(template: str, **texts: str) -> str:
    """Return the template with `texts` put in. A name without a text is a KeyError."""

    def text_for(place: re.Match[str]) -> str:
        indent, alone, *within = place.groups()
        if not alone:
            return texts[within[0] or within[1]]
        lines = texts[alone].splitlines()
        return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)

    return _PLACE.sub(text_for, template)
