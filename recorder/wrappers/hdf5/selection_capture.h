// What a transfer selects, as the program asked for it, before HDF5 splits it.
#pragma once

#include "core/abi/hdf5_api.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/hdf5/dataset_description.h"

namespace iotune::recorder {

// Numbers of the lists that one record may carry: its ring holds 32 Ki words.
inline constexpr std::size_t kMostSelectionWords = 24576;

// Appends selection kind, number of dimensions and the selection (FORMAT.md, "Extras of
// H5Dread and H5Dwrite") in the file, preceded by the number of points, and then in memory. Lists
// of more than `most_words` together become bounds. `dataset` -1: it must not be asked.
void append_selections(const Hdf5Api& api, const Provider& provider, RecordWriter& record,
                       Hid dataset, Hid mem_space, Hid file_space, std::size_t most_words) noexcept;

// The same of one chunk, which lies in memory in one piece.
void append_chunk(const Hdf5Api& api, RecordWriter& record, Hid dataset, const ChunkShape& shape,
                  const std::uint64_t* offset) noexcept;

// For a call that failed: nothing may be asked, the error stack is the program's.
void append_unknown_selections(RecordWriter& record) noexcept;

}  // namespace iotune::recorder
