#include "tuner/hdf5/hdf5_backend.h"

namespace iotune::tuner {
namespace {

constexpr int kNative = 0;  // H5_VOL_NATIVE

bool is_native(const Hdf5Api& api, Hid connector) noexcept {
  int value = -1;
  if (api.H5VLget_value != nullptr) {
    return api.H5VLget_value(connector, &value) >= 0 && value == kNative;
  }
  // HDF5 1.12, whose connectors have one id each.
  if (api.H5VLget_connector_id_by_value == nullptr) return false;
  const Hid native = api.H5VLget_connector_id_by_value(kNative);
  if (native >= 0) api.H5VLclose(native);
  return native == connector;
}

}  // namespace

bool has_native_connector(const Hdf5Api& api, Hid fapl) noexcept {
  // HDF5 1.10 has no connectors.
  if (api.H5Pget_vol_id == nullptr || api.H5VLclose == nullptr) return true;
  const QuietProbes quiet(api);
  Hid connector = -1;
  if (api.H5Pget_vol_id(fapl, &connector) < 0 || connector < 0) return false;
  const bool native = is_native(api, connector);
  api.H5VLclose(connector);
  return native;
}

Hid serial_list(Provider& hdf5, const Hdf5Api& api, Hid fapl) noexcept {
  const QuietProbes quiet(api);
  const Hid list_class = iotune::list_class(hdf5, ListClass::kFileAccess);
  const Hid fresh = list_class < 0 ? -1 : api.H5Pcreate(list_class);
  if (fresh < 0) return -1;
  const Hid given = fapl == 0 ? fresh : fapl;
  const Hid driver = api.H5Pget_driver(given);
  // The driver of a fresh list may be the environment's: sec2 has a number only once it is asked
  // for.
  bool known = driver >= 0 && has_native_connector(api, given);
  known = known && api.H5Pset_fapl_sec2(fresh) >= 0 && api.H5Pget_driver(fresh) == driver;
  if (known && fapl == 0) return fresh;
  api.H5Pclose(fresh);
  return known ? api.H5Pcopy(fapl) : -1;
}

}  // namespace iotune::tuner
