#include "recorder/preload/selection_capture.h"

namespace iotune::recorder {
namespace {

constexpr int kMaxDimensions = 32;  // H5S_MAX_RANK

enum SelectionKind : std::int64_t {
  kUnknown = -1,
  kNothing = 0,
  kAll = 1,
  kRegular = 2,
  kBlocks = 3,
  kPoints = 4,
  kTooLarge = 5
};
// H5S_sel_type of hdf5.h
constexpr int kSelNone = 0, kSelPoints = 1, kSelHyperslabs = 2, kSelAll = 3;

// Numbers of a list that one record can carry (its ring holds 32 Ki words).
constexpr std::int64_t kMaxListWords = 16384;

void append_bounds(const Hdf5Api& api, RecordWriter& record, Hid space, std::size_t n) noexcept {
  std::uint64_t first[kMaxDimensions] = {}, last[kMaxDimensions] = {};
  api.H5Sget_select_bounds(space, first, last);
  record.number(std::int64_t{kTooLarge});
  record.number(static_cast<std::int64_t>(n));
  record.values(first, n);
  record.values(last, n);
}

// H5Soffset_simple moves a selection without changing what HDF5 says of it, and nothing asks for
// that offset: only the bounds have it in them. h5py moves one selection from row to row so.
// `low` is the lowest corner of what HDF5 says; 0 where the bounds cannot be had.
void offset_from_bounds(const Hdf5Api& api, Hid space, std::size_t n, const std::uint64_t* low,
                        std::uint64_t* offset) noexcept {
  std::uint64_t first[kMaxDimensions] = {}, last[kMaxDimensions] = {};
  const bool known = api.H5Sget_select_bounds(space, first, last) >= 0;
  // Modulo 2^64, so that an offset may be negative.
  for (std::size_t d = 0; d < n; ++d) offset[d] = known ? first[d] - low[d] : 0;
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

void append_hyperslab(const Hdf5Api& api, RecordWriter& record, Hid space, std::size_t n) noexcept {
  if (api.H5Sis_regular_hyperslab(space) > 0) {
    std::uint64_t parts[4][kMaxDimensions] = {};
    api.H5Sget_regular_hyperslab(space, parts[0], parts[1], parts[2], parts[3]);
    std::uint64_t offset[kMaxDimensions];
    offset_from_bounds(api, space, n, parts[0], offset);
    for (std::size_t d = 0; d < n; ++d) parts[0][d] += offset[d];
    record.number(std::int64_t{kRegular});
    record.number(static_cast<std::int64_t>(n));
    for (const auto& part : parts) record.values(part, n);
    return;
  }
  const std::int64_t blocks = api.H5Sget_select_hyper_nblocks(space);
  if (blocks < 0 || blocks * 2 * static_cast<std::int64_t>(n) > kMaxListWords) {
    append_bounds(api, record, space, n);
    return;
  }
  record.number(std::int64_t{kBlocks});
  record.number(static_cast<std::int64_t>(n));
  record.number(blocks);
  append_list(api, record, space, n, blocks, 2 * n,
              [&](std::uint64_t at, std::uint64_t count, std::uint64_t* to) {
                api.H5Sget_select_hyper_blocklist(space, at, count, to);
              });
}

void append_points(const Hdf5Api& api, RecordWriter& record, Hid space, std::size_t n) noexcept {
  const std::int64_t points = api.H5Sget_select_elem_npoints(space);
  if (points < 0 || points * static_cast<std::int64_t>(n) > kMaxListWords) {
    append_bounds(api, record, space, n);
    return;
  }
  record.number(std::int64_t{kPoints});
  record.number(static_cast<std::int64_t>(n));
  record.number(points);
  append_list(api, record, space, n, points, n,
              [&](std::uint64_t at, std::uint64_t count, std::uint64_t* to) {
                api.H5Sget_select_elem_pointlist(space, at, count, to);
              });
}

void append_space(const Hdf5Api& api, RecordWriter& record, Hid space, bool all) noexcept {
  const int n = api.H5Sget_simple_extent_ndims(space);
  if (n < 0 || n > kMaxDimensions) {
    append_unknown_selection(record);
    return;
  }
  record.number(api.H5Sget_select_npoints(space));
  const auto dimensions = static_cast<std::size_t>(n);
  const int type = all ? kSelAll : api.H5Sget_select_type(space);
  if (type == kSelAll) {
    std::uint64_t dims[kMaxDimensions] = {};
    api.H5Sget_simple_extent_dims(space, dims, nullptr);
    record.number(std::int64_t{kAll});
    record.number(std::int64_t{n});
    record.values(dims, dimensions);
  } else if (type == kSelHyperslabs && n > 0) {
    append_hyperslab(api, record, space, dimensions);
  } else if (type == kSelPoints && n > 0) {
    append_points(api, record, space, dimensions);
  } else {
    record.number(std::int64_t{type == kSelNone ? kNothing : kUnknown});
    record.number(std::int64_t{n});
  }
}

}  // namespace

void append_unknown_selection(RecordWriter& record) noexcept {
  record.number(std::int64_t{-1});
  record.number(std::int64_t{kUnknown});
  record.number(std::int64_t{0});
}

void append_selection(const Hdf5Api& api, RecordWriter& record, Hid dataset,
                      Hid file_space) noexcept {
  if (file_space != 0) {
    append_space(api, record, file_space, false);
    return;
  }
  const Hid space = api.H5Dget_space(dataset);
  if (space < 0) {
    append_unknown_selection(record);
    return;
  }
  append_space(api, record, space, true);
  api.H5Sclose(space);
}

}  // namespace iotune::recorder
