#include "gather/hdf5/selection.h"

#include <algorithm>

namespace iotune::gather {
namespace {

constexpr unsigned kHdf5Dimensions = 32;              // H5S_MAX_RANK
constexpr int kDataspace = 4;                         // H5I_DATASPACE
constexpr int kSelectHyperslabs = 2, kSelectAll = 3;  // H5S_SEL_*

// H5Soffset_simple moves what is selected, and only the bounds tell.
bool add_offset(Hid space, unsigned n, Hyperslab& slab) noexcept {
  std::uint64_t low[kHdf5Dimensions], high[kHdf5Dimensions];
  if (g_h5.H5Sget_select_bounds(space, low, high) < 0) return false;
  std::copy(low, low + n, slab.start);
  return true;
}

}  // namespace

bool extent_of(Hid space, Extent& extent) noexcept {
  std::uint64_t dims[kHdf5Dimensions];
  const int n = g_h5.H5Sget_simple_extent_dims(space, dims, nullptr);
  if (n < 1 || n > static_cast<int>(kMostDimensions)) return false;
  extent.n = static_cast<unsigned>(n);
  std::copy(dims, dims + n, extent.dims);
  return extent.elements() != UINT64_MAX;
}

bool selection_of(Hid space, Selection& selection) noexcept {
  if (g_h5.H5Iget_type(space) != kDataspace || !extent_of(space, selection.extent)) return false;
  const unsigned n = selection.extent.n;
  Hyperslab& slab = selection.slab;
  const int kind = g_h5.H5Sget_select_type(space);
  if (kind == kSelectAll) {
    slab = whole(selection.extent);
  } else if (kind != kSelectHyperslabs || g_h5.H5Sis_regular_hyperslab(space) <= 0 ||
             g_h5.H5Sget_regular_hyperslab(space, slab.start, slab.stride, slab.count, slab.block) <
                 0 ||
             !add_offset(space, n, slab)) {
    return false;
  }
  if (!slab.fits(selection.extent)) return false;
  selection.elements = slab.elements(n);
  return true;
}

bool is_plain(Hid type) noexcept {
  // H5T_class_t.
  enum { kInteger, kFloat, kTime, kString, kBitfield, kOpaque, kCompound, kReference, kEnum };
  constexpr int kArray = 10;
  switch (g_h5.H5Tget_class(type)) {
    case kInteger:
    case kFloat:
    case kTime:
    case kBitfield:
    case kOpaque:
    case kEnum:
      return true;
    case kString:
      return g_h5.H5Tis_variable_str(type) == 0;
    case kArray: {
      const OwnId base(g_h5.H5Tget_super(type), g_h5.H5Tclose);
      return base >= 0 && is_plain(base);
    }
    case kCompound: {
      const int members = g_h5.H5Tget_nmembers(type);
      for (int i = 0; i < members; ++i) {
        const OwnId member(g_h5.H5Tget_member_type(type, static_cast<unsigned>(i)), g_h5.H5Tclose);
        if (member < 0 || !is_plain(member)) return false;
      }
      return members > 0;
    }
    default:
      return false;
  }
}

}  // namespace iotune::gather
