#include <cstdlib>
#include <cstring>

#include "recorder/hooks/decisions.h"
#include "recorder/wrappers/hdf5/dataset_description.h"
#include "recorder/wrappers/hdf5/hooks_hdf5.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {

bool has_other_connector(const Provider& provider) noexcept {
  if (provider.connector_set.load(std::memory_order_relaxed)) return true;
  const char* const wanted = std::getenv("HDF5_VOL_CONNECTOR");
  return wanted != nullptr && wanted[0] != '\0' && std::strncmp(wanted, "native", 6) != 0;
}

namespace {

void after_open(Provider& provider, Hid object, const char* name) noexcept {
  if (object < 0) return;
  forget_object(provider.number, object);
  const Hdf5Api* const api = hdf5_api(provider);
  // Of what may still be under way nothing is asked.
  if (api == nullptr || provider.asynchronous.load(std::memory_order_relaxed) ||
      has_other_connector(provider)) {
    return;
  }
  constexpr int kDataset = 5;  // H5I_DATASET
  const OwnCode own;
  if (api->H5Iget_type(object) != kDataset) return;
  // It takes no access list and has the file's settings. What became of them is reported as of
  // others.
  DatasetCall call{object, 0, 0, name == nullptr ? "" : name, false, false, 0, 0};
  OpenState state{};
  g_decisions.hdf5.before_dataset(provider, call, state);
  g_decisions.hdf5.after_dataset(provider, object, state);
}

}  // namespace

void after_H5Pset_vol(Provider& provider, int result, Hid, Hid connector, void*) noexcept {
  const Hdf5Api* const api = result < 0 ? nullptr : hdf5_api(provider);
  if (api == nullptr) return;
  constexpr int kNative = 0;  // H5_VOL_NATIVE
  const OwnCode own;
  int value = -1;
  const bool native = api->H5VLget_value != nullptr && api->H5VLget_value(connector, &value) >= 0 &&
                      value == kNative;
  if (!native) provider.connector_set.store(true, std::memory_order_relaxed);
}

// With HDF5's own connector an asynchronous call is over when it returns, and never enters the
// event set. What did enter it is under way: an id that such a call gave names an object
// that may not be there yet, and any question about it would wait, or come between operations in
// an order that nobody asked for.
//
// Ranks must come to the same answer, because reading back what a file was opened with is
// collective: with another connector it does not depend on the event set, which may be H5ES_NONE
// on one rank only.
bool is_pending(Provider& provider, Hid events) noexcept {
  if (provider.asynchronous.load(std::memory_order_relaxed)) return true;
  if (events != 0) {  // H5ES_NONE
    const Hdf5Api* const api = hdf5_api(provider);
    if (api == nullptr || api->H5ESget_count == nullptr) return true;
    const OwnCode own;
    std::size_t count = 0;
    if (api->H5ESget_count(events, &count) < 0 || count > 0) {
      provider.asynchronous.store(true, std::memory_order_relaxed);
      return true;
    }
  }
  return has_other_connector(provider);
}

void after_H5Oopen(Provider& provider, Hid object, Hid, const char* name, Hid) noexcept {
  after_open(provider, object, name);
}
void after_H5Oopen_by_addr(Provider& provider, Hid object, Hid, std::uint64_t) noexcept {
  after_open(provider, object, "");
}
void after_H5Oopen_by_idx(Provider& provider, Hid object, Hid, const char*, int, int, std::uint64_t,
                          Hid) noexcept {
  after_open(provider, object, "");
}
// A dataset that was made without a name, and transferred before it gets one.
void after_H5Olink(Provider& provider, int result, Hid object, Hid, const char*, Hid,
                   Hid) noexcept {
  if (result < 0) return;
  const OwnCode own;
  describe_again(provider, object);
}
void after_H5Oclose(Provider& provider, int result, Hid object) noexcept {
  if (result >= 0) forget_object(provider.number, object);
}

}  // namespace iotune::recorder
