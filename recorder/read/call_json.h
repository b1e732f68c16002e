// Calls as JSON for programs. Bytes that are not UTF-8 become lone surrogates (\udc80 to
// \udcff), as os.fsdecode makes them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "recorder/read/call.h"

namespace iotune::recorder {

// Each appends one JSON value to `to`.

void append_json_text(std::string& to, std::string_view text);

// An object: the arguments and extras by their names, without the result and the selection. A
// call without a signature, or whose words do not fit it, gives its words.
void append_arguments_json(std::string& to, const Call& call);

// Of a transfer of HDF5 of one dataset: an object with `kind` and what belongs to it, in the file;
// nothing of other calls.
void append_selection_json(std::string& to, const Call& call);

// Of a transfer of HDF5: a list with an object for each dataset of the call; nothing of other calls
// and where no selection was recorded. `path_of(object)`: the dataset's, empty where unknown.
void append_transfers_json(std::string& to, const Call& call,
                           const std::function<std::string_view(std::int64_t)>& path_of);

// An object with `keys`, `numbers` and `texts` as they were recorded.
void append_words_json(std::string& to, const Call& call);

}  // namespace iotune::recorder
