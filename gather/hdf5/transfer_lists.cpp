#include "gather/hdf5/transfer_lists.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "gather/hdf5/hdf5_functions.h"

namespace iotune::gather {
namespace {

// Lists whose values were the default ones. HDF5 writes into a list what came of a transfer with
// it, and it is equal to no other one then. Some libraries make a list for each transfer: the
// latest ones are known.
struct KnownLists {
  std::mutex lock;
  Hid ids[16];
  unsigned next;
};
KnownLists g_known;

void remember(Hid list) noexcept {
  const std::lock_guard lock(g_known.lock);
  g_known.ids[g_known.next++ % std::size(g_known.ids)] = list;
}

}  // namespace

bool is_known_independent(Hid list) noexcept {
  const std::lock_guard lock(g_known.lock);
  const auto end = std::cend(g_known.ids);
  return std::find(std::cbegin(g_known.ids), end, list) != end;
}

bool is_independent(Hid list) noexcept {
  if (list == 0 || is_known_independent(list)) return true;  // 0: H5P_DEFAULT
  const OwnId plain(new_transfer_list(false), g_h5.H5Pclose);
  const QuietQuestions quiet;
  if (plain < 0 || g_h5.H5Pequal(list, plain) <= 0) return false;
  remember(list);
  return true;
}

void list_is_new(Hid list, Hid list_class) noexcept {
  if (list > 0 && list_class == transfer_class()) remember(list);
}

void forget_list(Hid list) noexcept {
  const std::lock_guard lock(g_known.lock);
  std::replace(std::begin(g_known.ids), std::end(g_known.ids), list, Hid{0});
}

}  // namespace iotune::gather
