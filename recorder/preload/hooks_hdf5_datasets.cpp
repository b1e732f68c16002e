#include "recorder/preload/hooks_hdf5.h"
#include "recorder/preload/object_table.h"

namespace iotune::recorder {
namespace {

void before(Provider& provider, HookState& hook, Hid location, const char* name, bool creating,
            Hid& dcpl, Hid& dapl) noexcept {
  const OwnCode own;
  g_advice.before_hdf5_dataset(provider, location, name, creating, dcpl, dapl, hook.open);
}

void after(Provider& provider, HookState& hook, Hid dataset) noexcept {
  const OwnCode own;
  // An id may have been used before and been closed in a way that is not wrapped.
  if (dataset >= 0) forget_object(provider.number, dataset);
  g_advice.after_hdf5_dataset(provider, dataset, hook.open);
}

}  // namespace

void before_H5Dcreate1(Provider& provider, HookState& hook, Hid& loc, const char*& name, Hid&, Hid&,
                       Hid& dcpl) noexcept {
  Hid no_list = 0;
  before(provider, hook, loc, name, true, dcpl, no_list);
}
void after_H5Dcreate1(Provider& provider, HookState& hook, Hid dataset, Hid, const char*, Hid, Hid,
                      Hid) noexcept {
  after(provider, hook, dataset);
}
void before_H5Dcreate2(Provider& provider, HookState& hook, Hid& loc, const char*& name, Hid&, Hid&,
                       Hid&, Hid& dcpl, Hid& dapl) noexcept {
  before(provider, hook, loc, name, true, dcpl, dapl);
}
void after_H5Dcreate2(Provider& provider, HookState& hook, Hid dataset, Hid, const char*, Hid, Hid,
                      Hid, Hid, Hid) noexcept {
  after(provider, hook, dataset);
}
void before_H5Dcreate_anon(Provider& provider, HookState& hook, Hid& loc, Hid&, Hid&, Hid& dcpl,
                           Hid& dapl) noexcept {
  before(provider, hook, loc, "", true, dcpl, dapl);
}
void after_H5Dcreate_anon(Provider& provider, HookState& hook, Hid dataset, Hid, Hid, Hid, Hid,
                          Hid) noexcept {
  after(provider, hook, dataset);
}
void before_H5Dopen1(Provider& provider, HookState& hook, Hid& loc, const char*& name) noexcept {
  Hid no_list = 0, no_other = 0;
  before(provider, hook, loc, name, false, no_other, no_list);
}
void after_H5Dopen1(Provider& provider, HookState& hook, Hid dataset, Hid, const char*) noexcept {
  after(provider, hook, dataset);
}
void before_H5Dopen2(Provider& provider, HookState& hook, Hid& loc, const char*& name,
                     Hid& dapl) noexcept {
  Hid no_list = 0;
  before(provider, hook, loc, name, false, no_list, dapl);
}
void after_H5Dopen2(Provider& provider, HookState& hook, Hid dataset, Hid, const char*,
                    Hid) noexcept {
  after(provider, hook, dataset);
}

void after_H5Dclose(Provider& provider, int result, Hid dataset) noexcept {
  if (result >= 0) forget_object(provider.number, dataset);
}

}  // namespace iotune::recorder
