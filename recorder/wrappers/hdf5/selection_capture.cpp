#include "recorder/wrappers/hdf5/selection_capture.h"

#include "recorder/wrappers/hdf5/known_selections.h"
#include "recorder/wrappers/hdf5/selection_kinds.h"

namespace iotune::recorder {
namespace {

// Each question to HDF5 costs some 120 ns, so that numbers of points are computed where they can
// be.
enum class Points : std::uint8_t { kRecorded, kKnown };

// A place of a file, or counts, by dimension: of kMaxDimensions the first are there.
struct Corner {
  explicit Corner(std::size_t n) noexcept {
    for (std::size_t d = 0; d < n; ++d) at[d] = 0;  // where HDF5 fails to say
  }
  std::uint64_t at[kMaxDimensions];
};

// H5S_sel_type of hdf5.h
constexpr int kSelNone = 0, kSelPoints = 1, kSelHyperslabs = 2, kSelAll = 3;

void append_bounds(const Hdf5Api& api, RecordWriter& record, Hid space, std::size_t n,
                   Points points) noexcept {
  if (points == Points::kRecorded) record.number(api.H5Sget_select_npoints(space));
  Corner first(n), last(n);
  api.H5Sget_select_bounds(space, first.at, last.at);
  record.number(std::int64_t{kTooLarge});
  record.number(static_cast<std::int64_t>(n));
  record.values(first.at, n);
  record.values(last.at, n);
}

// H5Soffset_simple moves a selection without changing what HDF5 says of it, and nothing asks for
// that offset: only the bounds have it in them. h5py moves one selection from row to row so.
// `low` is the lowest corner of what HDF5 says; 0 where the bounds cannot be had.
void offset_from_bounds(const Hdf5Api& api, Hid space, std::size_t n, const std::uint64_t* low,
                        std::uint64_t* offset) noexcept {
  Corner first(n), last(n);
  const bool known = api.H5Sget_select_bounds(space, first.at, last.at) >= 0;
  // Modulo 2^64, so that an offset may be negative.
  for (std::size_t d = 0; d < n; ++d) offset[d] = known ? first.at[d] - low[d] : 0;
}

// Copies a list of `entries` × `words_each` in pieces that fit the stack.
// `words_each` is a multiple of n: corners of n coordinates.
template <typename Get>
void append_list(const Hdf5Api& api, RecordWriter& record, Hid space, std::size_t n,
                 std::int64_t entries, std::size_t words_each, Get get) noexcept {
  std::uint64_t piece[256];
  std::uint64_t low[kMaxDimensions], offset[kMaxDimensions];
  for (std::uint64_t& d : low) d = ~std::uint64_t{0};
  const auto step = static_cast<std::int64_t>(256 / words_each);
  for (const bool recording : {false, true}) {
    for (std::int64_t at = 0; at < entries; at += step) {
      const std::int64_t count = entries - at < step ? entries - at : step;
      const std::size_t words = static_cast<std::size_t>(count) * words_each;
      // A list of one piece is there already.
      if (!recording || entries > step) {
        get(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(count), piece);
      }
      for (std::size_t i = 0; i < words; ++i) {
        if (recording) {
          piece[i] += offset[i % n];
        } else if (piece[i] < low[i % n]) {
          low[i % n] = piece[i];
        }
      }
      if (recording) record.values(piece, words);
    }
    if (!recording) offset_from_bounds(api, space, n, low, offset);
  }
}

// Start, stride, count and block of each dimension. HDF5 1.10 says of some unions that they are
// regular, with blocks that overlap: they select what one block does.
void join_overlapping(std::uint64_t* parts, std::size_t n) noexcept {
  for (std::size_t d = 0; d < n; ++d) {
    std::uint64_t &stride = parts[n + d], &count = parts[2 * n + d], &block = parts[3 * n + d];
    if (count < 2 || stride == 0 || block <= stride) continue;
    block += (count - 1) * stride;
    stride = count = 1;
  }
}

void append_hyperslab(const Hdf5Api& api, const Provider& provider, RecordWriter& record, Hid space,
                      std::size_t n, Points points, std::size_t most_words) noexcept {
  if (api.H5Sis_regular_hyperslab(space) > 0) {
    std::uint64_t parts[4 * kMaxDimensions];
    for (std::size_t i = 0; i < 4 * n; ++i) parts[i] = 0;  // where HDF5 fails to say
    const std::uint64_t *const count = parts + 2 * n, *const block = parts + 3 * n;
    api.H5Sget_regular_hyperslab(space, parts, parts + n, parts + 2 * n, parts + 3 * n);
    join_overlapping(parts, n);
    std::uint64_t offset[kMaxDimensions], moved = 0;
    offset_from_bounds(api, space, n, parts, offset);
    for (std::size_t d = 0; d < n; ++d) {
      parts[d] += offset[d];
      moved |= offset[d];
    }
    if (points == Points::kRecorded) {
      record.number(static_cast<std::int64_t>(product(count, n) * product(block, n)));
    }
    record.number(std::int64_t{kRegular});
    record.number(static_cast<std::int64_t>(n));
    record.values(parts, 4 * n);
    keep_hyperslab(provider, space, static_cast<unsigned>(n), parts, moved != 0);
    return;
  }
  const std::int64_t blocks = api.H5Sget_select_hyper_nblocks(space);
  if (blocks < 0 ||
      blocks * 2 * static_cast<std::int64_t>(n) > static_cast<std::int64_t>(most_words)) {
    append_bounds(api, record, space, n, points);
    return;
  }
  if (points == Points::kRecorded) record.number(api.H5Sget_select_npoints(space));
  record.number(std::int64_t{kBlocks});
  record.number(static_cast<std::int64_t>(n));
  record.number(blocks);
  append_list(api, record, space, n, blocks, 2 * n,
              [&](std::uint64_t at, std::uint64_t count, std::uint64_t* to) {
                api.H5Sget_select_hyper_blocklist(space, at, count, to);
              });
}

void append_points(const Hdf5Api& api, RecordWriter& record, Hid space, std::size_t n,
                   Points points, std::size_t most_words) noexcept {
  const std::int64_t count = api.H5Sget_select_elem_npoints(space);
  if (count < 0 || count * static_cast<std::int64_t>(n) > static_cast<std::int64_t>(most_words)) {
    append_bounds(api, record, space, n, points);
    return;
  }
  if (points == Points::kRecorded) record.number(count);
  record.number(std::int64_t{kPoints});
  record.number(static_cast<std::int64_t>(n));
  record.number(count);
  append_list(api, record, space, n, count, n,
              [&](std::uint64_t at, std::uint64_t some, std::uint64_t* to) {
                api.H5Sget_select_elem_pointlist(space, at, some, to);
              });
}

// The selection of a dataspace, `type` its H5S_sel_type. It is kept where it is the program's.
void append_selected(const Hdf5Api& api, const Provider& provider, RecordWriter& record, Hid space,
                     int type, Points points, std::size_t most_words,
                     bool is_programs = true) noexcept {
  std::uint64_t dims[kMaxDimensions] = {};
  const int n = type == kSelAll ? api.H5Sget_simple_extent_dims(space, dims, nullptr)
                                : api.H5Sget_simple_extent_ndims(space);
  if (n < 0 || n > kMaxDimensions) {
    if (points == Points::kRecorded) record.number(std::int64_t{-1});
    record.numbers({kUnknown, 0});
    return;
  }
  const auto dimensions = static_cast<std::size_t>(n);
  if (type == kSelHyperslabs && n > 0) {
    append_hyperslab(api, provider, record, space, dimensions, points, most_words);
    return;
  }
  if (type == kSelPoints && n > 0) {
    append_points(api, record, space, dimensions, points, most_words);
    return;
  }
  // A null dataspace has no dimensions either, and no point.
  const bool has_dims = type == kSelAll && n > 0;
  if (points == Points::kRecorded) {
    record.number(has_dims ? static_cast<std::int64_t>(product(dims, dimensions))
                           : api.H5Sget_select_npoints(space));
  }
  const SelectionKind kind = type == kSelAll ? kAll : type == kSelNone ? kNothing : kUnknown;
  record.numbers({kind, n});
  if (!has_dims) return;
  record.values(dims, dimensions);
  if (is_programs) keep_whole(provider, space, static_cast<unsigned>(n), dims);
}

// H5S_ALL, H5S_BLOCK and H5S_PLIST are no dataspaces: asking of them is an error.
constexpr Hid kSpaceAll = 0, kSpaceBlock = 1, kSpaceOfList = 2;

void append_memory_space(const Hdf5Api& api, const Provider& provider, RecordWriter& record,
                         Hid space, std::size_t most_words) noexcept {
  if (space == kSpaceAll) {
    record.numbers({kAsInFile, 0});
    return;
  }
  if (space == kSpaceBlock) {
    record.numbers({kOneBlock, 0});
    return;
  }
  if (space == kSpaceOfList) {
    record.numbers({kUnknown, 0});
    return;
  }
  if (append_known_selection(record, provider, space, false)) return;
  append_selected(api, provider, record, space, api.H5Sget_select_type(space), Points::kKnown,
                  most_words);
}

}  // namespace

void append_unknown_selections(RecordWriter& record) noexcept {
  record.numbers({-1, kUnknown, 0, kUnknown, 0});
}

void append_selections(const Hdf5Api& api, const Provider& provider, RecordWriter& record,
                       Hid dataset, Hid mem_space, Hid file_space,
                       std::size_t most_words) noexcept {
  // A point of the file is one in memory, but unions need not be of as many blocks there.
  const std::size_t most_in_file = most_words / 3 * 2;
  if (file_space > kSpaceOfList) {
    if (!append_known_selection(record, provider, file_space, true)) {
      append_selected(api, provider, record, file_space, api.H5Sget_select_type(file_space),
                      Points::kRecorded, most_in_file);
    }
  } else if (const Hid space =
                 file_space == kSpaceAll && dataset >= 0 ? api.H5Dget_space(dataset) : -1;
             space >= 0) {
    append_selected(api, provider, record, space, kSelAll, Points::kRecorded, most_in_file, false);
    api.H5Sclose(space);
  } else {
    record.numbers({-1, kUnknown, 0});
  }
  append_memory_space(api, provider, record, mem_space, most_words - most_in_file);
}

void append_chunk(const Hdf5Api& api, RecordWriter& record, Hid dataset, const ChunkShape& shape,
                  const std::uint64_t* offset) noexcept {
  std::uint64_t dims[kMaxDimensions] = {};
  const Hid space = api.H5Dget_space(dataset);
  const int n = space < 0 ? -1 : api.H5Sget_simple_extent_dims(space, dims, nullptr);
  if (space >= 0) api.H5Sclose(space);
  if (n < 1 || n != shape.dimensions || offset == nullptr) {
    append_unknown_selections(record);
    return;
  }
  // A chunk at the edge reaches past the dataset; only what lies in it is data.
  std::uint64_t ones[kMaxDimensions], block[kMaxDimensions], points = 1;
  for (int d = 0; d < n; ++d) {
    const std::uint64_t left = dims[d] > offset[d] ? dims[d] - offset[d] : 0;
    ones[d] = 1;
    block[d] = shape.chunk[d] < left ? shape.chunk[d] : left;
    points *= block[d];
  }
  record.numbers({static_cast<std::int64_t>(points), kRegular, n});
  for (const std::uint64_t* part :
       {offset, const_cast<const std::uint64_t*>(ones), const_cast<const std::uint64_t*>(ones),
        const_cast<const std::uint64_t*>(block)}) {
    record.values(part, static_cast<std::size_t>(n));
  }
  record.numbers({kOneBlock, 0});
}

}  // namespace iotune::recorder
