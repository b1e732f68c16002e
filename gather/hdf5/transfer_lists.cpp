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
struct KnownList {
  Hid id;
  bool was_written_with;
};
struct KnownLists {
  std::mutex lock;
  KnownList all[16];
  unsigned next;

  KnownList* find(Hid list) noexcept {
    const auto end = std::end(all);
    const auto found = std::find_if(all, end, [&](const KnownList& one) { return one.id == list; });
    return found == end ? nullptr : found;
  }
};
KnownLists g_known;

void remember(const KnownList& list) noexcept {
  const std::lock_guard lock(g_known.lock);
  g_known.all[g_known.next++ % std::size(g_known.all)] = list;
}

}  // namespace

bool was_written_with(Hid list) noexcept {
  const std::lock_guard lock(g_known.lock);
  const KnownList* const known = g_known.find(list);
  return known != nullptr && known->was_written_with;
}

bool writes_independently(Hid list) noexcept {
  if (list == 0) return true;  // H5P_DEFAULT
  {
    const std::lock_guard lock(g_known.lock);
    KnownList* const known = g_known.find(list);
    if (known != nullptr) return known->was_written_with = true;
  }
  const OwnId plain(new_transfer_list(false), g_h5.H5Pclose);
  const QuietQuestions quiet;
  if (plain < 0 || g_h5.H5Pequal(list, plain) <= 0) return false;
  remember({list, true});
  return true;
}

void list_is_new(Hid list, Hid list_class) noexcept {
  if (list > 0 && list_class == transfer_class()) remember({list, false});
}

void forget_list(Hid list) noexcept {
  const std::lock_guard lock(g_known.lock);
  if (KnownList* const known = g_known.find(list)) *known = {};
}

}  // namespace iotune::gather
