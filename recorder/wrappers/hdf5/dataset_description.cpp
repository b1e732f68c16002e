#include "recorder/wrappers/hdf5/dataset_description.h"

#include "core/os/short_text.h"
#include "core/process/process_facts.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {
namespace {

// H5D_layout_t
constexpr int kContiguousLayout = 1;
constexpr int kChunkedLayout = 2;

// A dataset that has a place in its file lies there in one piece: without chunks and filters. HDF5
// tells that at once, and copies a whole property list, some 5 us, for who asks it for the layout.
bool lies_in_one_piece(const Hdf5Api& api, Hid dataset) noexcept {
  constexpr std::uint64_t kUndefined = ~std::uint64_t{0};  // HADDR_UNDEF
  return api.H5Dget_offset != nullptr && api.H5Dget_offset(dataset) != kUndefined;
}

void append_dims(const Hdf5Api& api, RecordWriter& record, Hid dataset) noexcept {
  std::uint64_t dims[kMaxDimensions] = {};
  const Hid space = api.H5Dget_space(dataset);
  const int n = space < 0 ? -1 : api.H5Sget_simple_extent_dims(space, dims, nullptr);
  record.array(dims, n);
  if (space >= 0) api.H5Sclose(space);
}

// Where its header stands in the file, by which two names of one dataset are known: -1 where HDF5
// does not say. A reference to itself costs no look at the header, which H5Oget_info would read: by
// all ranks together, where the program asked for that.
std::int64_t address_of(const Hdf5Api& api, Hid dataset) noexcept {
  constexpr int kToObject = 0;     // H5R_OBJECT
  std::int64_t address[4] = {-1};  // an hobj_ref_t has 8 bytes
  if (api.H5Rcreate == nullptr || api.H5Rcreate(address, dataset, ".", kToObject, -1) < 0) {
    return -1;
  }
  return address[0];
}

// The pseudo call iotune_dataset: what a later reader must know of this dataset.
void define_dataset(const Hdf5Api& api, Hid dataset, std::int64_t object) noexcept {
  const QuietProbes quiet(api);
  char file[4096], path[2048];
  file[0] = path[0] = '\0';  // all of them would be 6 KB of cold memory a dataset
  api.H5Fget_name(dataset, file, sizeof file);
  api.H5Iget_name(dataset, path, sizeof path);
  ShortText<4096> absolute;
  absolute_path_of_mpi(file, absolute);

  std::size_t element_bytes = 0;
  int type_class = -1;
  if (const Hid type = api.H5Dget_type(dataset); type >= 0) {
    element_bytes = api.H5Tget_size(type);
    type_class = api.H5Tget_class(type);
    api.H5Tclose(type);
  }
  int layout = -1, filters = 0, chunk_dimensions = -1;
  std::uint64_t chunk[kMaxDimensions] = {};
  if (lies_in_one_piece(api, dataset)) {
    layout = kContiguousLayout;
  } else if (const Hid dcpl = api.H5Dget_create_plist(dataset); dcpl >= 0) {
    layout = api.H5Pget_layout(dcpl);
    filters = api.H5Pget_nfilters(dcpl);
    if (layout == kChunkedLayout) {
      chunk_dimensions = api.H5Pget_chunk(dcpl, kMaxDimensions, chunk);
    }
    api.H5Pclose(dcpl);
  }
  RecordWriter record(CallNumber::kiotune_dataset, ticks_now());
  record.key(object);
  record.number(static_cast<std::int64_t>(dataset));
  record.number(static_cast<std::int64_t>(element_bytes));
  record.number(std::int64_t{type_class});
  record.number(std::int64_t{layout});
  record.number(std::int64_t{filters});
  append_dims(api, record, dataset);
  record.array(chunk, chunk_dimensions);
  record.number(address_of(api, dataset));
  record.text(absolute.c_str());
  record.text(path);
  record.commit();
}

}  // namespace

std::int64_t object_of(Provider& provider, Hid dataset) noexcept {
  const std::int64_t known = find_object(provider.number, dataset);
  if (known != 0 || !buffer_exists()) return known;
  if (provider.asynchronous.load(std::memory_order_relaxed)) return 0;
  const Hdf5Api* const api = hdf5_api(provider);
  constexpr int kDatasetId = 5;  // H5I_DATASET
  if (api == nullptr || api->H5Iget_type(dataset) != kDatasetId) return 0;
  const std::int64_t object = add_object(provider.number, dataset);
  define_dataset(*api, dataset, object);
  return object;
}

void describe_again(Provider& provider, Hid dataset) noexcept {
  const std::int64_t known = find_object(provider.number, dataset);
  if (known == 0 || provider.asynchronous.load(std::memory_order_relaxed)) return;
  const Hdf5Api* const api = hdf5_api(provider);
  if (api != nullptr) define_dataset(*api, dataset, known);
}

const ChunkShape& chunk_shape(const Hdf5Api& api, Hid dataset, std::int64_t object) noexcept {
  struct Known {
    std::int64_t object;
    ChunkShape shape;
  };
  static __thread Known known __attribute__((tls_model("initial-exec")));
  ChunkShape& shape = known.shape;
  if (object != 0 && known.object == object) return shape;
  known.object = object;
  shape.dimensions = -1;
  shape.element_bytes = 0;
  const QuietProbes quiet(api);
  if (const Hid type = api.H5Dget_type(dataset); type >= 0) {
    shape.element_bytes = api.H5Tget_size(type);
    api.H5Tclose(type);
  }
  if (lies_in_one_piece(api, dataset)) return shape;
  if (const Hid dcpl = api.H5Dget_create_plist(dataset); dcpl >= 0) {
    if (api.H5Pget_layout(dcpl) == kChunkedLayout) {
      shape.dimensions = api.H5Pget_chunk(dcpl, kMaxDimensions, shape.chunk);
    }
    api.H5Pclose(dcpl);
  }
  return shape;
}

}  // namespace iotune::recorder
