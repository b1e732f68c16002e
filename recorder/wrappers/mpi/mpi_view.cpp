// The pseudo call iotune_view: what a view means, once for each MPI_File_set_view.
//
// What an access under the view means is left to the reader: it follows the individual file
// pointers by the calls alone, because MPI moves them by what was asked for. MPI_File_get_position
// at every access would cost a call each, and MPI_File_get_byte_offset has crashed in OMPIO.
#include <strings.h>

#include <cstring>

#include "recorder/wrappers/mpi/hooks_mpi.h"
#include "recorder/wrappers/mpi/mpi_datatypes.h"

namespace iotune::recorder {
namespace {

enum class ViewKind : std::int8_t { kUnknown = -1, kWhole, kSubarray, kRuns, kFirstRuns };

const std::uint64_t* words(const std::int64_t* values) noexcept {
  return reinterpret_cast<const std::uint64_t*>(values);
}

void append_layout(const DatatypeRuns& layout, std::int64_t tile, RecordWriter& record) noexcept {
  const auto kind = [&](ViewKind value) { record.number(static_cast<std::int64_t>(value)); };
  const Subarray& array = layout.subarray();
  const auto n = static_cast<std::size_t>(array.dimensions);
  if (n > 0) {
    kind(ViewKind::kSubarray);
    record.number(static_cast<std::int64_t>(1 + 3 * n));
    record.number(array.element_bytes);
    record.values(words(array.sizes), n);
    record.values(words(array.subsizes), n);
    record.values(words(array.starts), n);
    return;
  }
  const Run* const runs = layout.runs();
  if (layout.size() == 1 && !layout.cut() && runs[0].offset == 0 && runs[0].count == 1 &&
      runs[0].bytes == tile) {
    kind(ViewKind::kWhole);
    record.number(std::int64_t{0});
    return;
  }
  kind(layout.cut() ? ViewKind::kFirstRuns : ViewKind::kRuns);
  record.number(static_cast<std::int64_t>(4 * layout.size()));
  record.values(words(&runs->offset), 4 * layout.size());
}

}  // namespace

void after_MPI_File_set_view(Provider& provider, int result, Word file, std::int64_t displacement,
                             Word etype, Word filetype, const char* datarep, Word) noexcept {
  const OwnCode own;
  // HDF5's own views say less than the selection above them, and come twice a transfer.
  if (result == 0) {
    // ROMIO takes the name and converts nothing (seen with MPICH 4.0 and 5.0).
    note_representation(file, abi_of(provider) == MpiAbi::kOpenMpi && datarep != nullptr &&
                                  strcasecmp(datarep, "external32") == 0);
  }
  if (result != 0 || (t_thread.layers & bit_of(Layer::kHdf5)) != 0) return;
  const MpiApi* const mpi = mpi_api(provider);
  if (mpi == nullptr) return;
  DatatypeRuns layout(*mpi);
  // Only the native representation has the sizes of memory.
  const bool native = datarep != nullptr &&
                      (std::strcmp(datarep, "native") == 0 || std::strcmp(datarep, "NATIVE") == 0);
  const bool known = native && displacement >= 0 && layout.flatten(filetype);
  std::int64_t element = 0, data = 0, lower = 0, tile = 0;
  if (known) {
    mpi->MPI_Type_size_x(etype, &element);
    mpi->MPI_Type_size_x(filetype, &data);
    mpi->MPI_Type_get_extent(filetype, &lower, &tile);
  }
  RecordWriter record(CallNumber::kiotune_view, ticks_now());
  record.number(static_cast<std::int64_t>(file));
  // MPI_DISPLACEMENT_CURRENT is another negative number in each ABI.
  record.number(displacement < 0 ? std::int64_t{-1} : displacement);
  record.number(element);
  record.number(data);
  record.number(tile);
  if (known) {
    append_layout(layout, tile, record);
  } else {
    record.number(static_cast<std::int64_t>(ViewKind::kUnknown));
    record.number(std::int64_t{0});
  }
  record.commit();
}

}  // namespace iotune::recorder
