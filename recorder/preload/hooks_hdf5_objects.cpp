#include "recorder/preload/hooks_hdf5.h"
#include "recorder/preload/object_table.h"

namespace iotune::recorder {

// With HDF5's own connector an asynchronous call is over when it returns, and never enters the
// event set. What did enter it is under way: an id that such a call gave stands for an object
// that may not be there yet, and any question about it would wait, or come between operations in
// an order that nobody asked for.
bool is_pending(Provider& provider, Hid events) noexcept {
  if (events == 0) return false;  // H5ES_NONE
  if (provider.asynchronous.load(std::memory_order_relaxed)) return true;
  const Hdf5Api* const api = hdf5_api(provider);
  if (api == nullptr || api->H5ESget_count == nullptr) return true;
  const OwnCode own;
  std::size_t count = 0;
  if (api->H5ESget_count(events, &count) >= 0 && count == 0) return false;
  provider.asynchronous.store(true, std::memory_order_relaxed);
  return true;
}

void after_H5Oopen(Provider& provider, Hid object, Hid, const char*, Hid) noexcept {
  if (object >= 0) forget_object(provider.number, object);
}
void after_H5Oopen_by_addr(Provider& provider, Hid object, Hid, std::uint64_t) noexcept {
  if (object >= 0) forget_object(provider.number, object);
}
void after_H5Oopen_by_idx(Provider& provider, Hid object, Hid, const char*, int, int, std::uint64_t,
                          Hid) noexcept {
  if (object >= 0) forget_object(provider.number, object);
}
void after_H5Oclose(Provider& provider, int result, Hid object) noexcept {
  if (result >= 0) forget_object(provider.number, object);
}

}  // namespace iotune::recorder
