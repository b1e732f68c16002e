#include "recorder/hooks/decisions.h"
#include "recorder/wrappers/hdf5/hooks_hdf5.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {
namespace {

[[gnu::hot]] void before(Provider& provider, HookState& hook, DatasetCall& call) noexcept {
  if (provider.asynchronous.load(std::memory_order_relaxed)) return;
  const OwnCode own;
  g_decisions.hdf5.before_dataset(provider, call, hook.open);
}

[[gnu::hot]] bool again(Provider& provider, HookState& hook, Hid dataset, Hid& dcpl,
                        Hid& dapl) noexcept {
  const OwnCode own;
  return g_decisions.hdf5.again_dataset(provider, dataset, dcpl, dapl, hook.open);
}

[[gnu::hot]] void after(Provider& provider, HookState& hook, Hid dataset) noexcept {
  const OwnCode own;
  // An id may have been used before and been closed in a way that is not wrapped.
  if (dataset >= 0) forget_object(provider.number, dataset);
  g_decisions.hdf5.after_dataset(provider, hook.pending ? -1 : dataset, hook.open);
}

}  // namespace

void before_H5Dcreate1(Provider& provider, HookState& hook, Hid& loc, const char*& name, Hid& type,
                       Hid& space, Hid& dcpl) noexcept {
  DatasetCall call{loc, type, space, name, true, false, dcpl, 0};
  before(provider, hook, call);
  dcpl = call.dcpl;
}
bool again_H5Dcreate1(Provider& provider, HookState& hook, Hid dataset, Hid&, const char*&, Hid&,
                      Hid&, Hid& dcpl) noexcept {
  Hid none = 0;
  return again(provider, hook, dataset, dcpl, none);
}
void after_H5Dcreate1(Provider& provider, HookState& hook, Hid dataset, Hid, const char*, Hid, Hid,
                      Hid) noexcept {
  after(provider, hook, dataset);
}
void before_H5Dcreate2(Provider& provider, HookState& hook, Hid& loc, const char*& name, Hid& type,
                       Hid& space, Hid&, Hid& dcpl, Hid& dapl) noexcept {
  DatasetCall call{loc, type, space, name, true, true, dcpl, dapl};
  before(provider, hook, call);
  dcpl = call.dcpl;
  dapl = call.dapl;
}
bool again_H5Dcreate2(Provider& provider, HookState& hook, Hid dataset, Hid&, const char*&, Hid&,
                      Hid&, Hid&, Hid& dcpl, Hid& dapl) noexcept {
  return again(provider, hook, dataset, dcpl, dapl);
}
void after_H5Dcreate2(Provider& provider, HookState& hook, Hid dataset, Hid, const char*, Hid, Hid,
                      Hid, Hid, Hid) noexcept {
  after(provider, hook, dataset);
}
void before_H5Dcreate_anon(Provider& provider, HookState& hook, Hid& loc, Hid& type, Hid& space,
                           Hid& dcpl, Hid& dapl) noexcept {
  DatasetCall call{loc, type, space, "", true, true, dcpl, dapl};
  before(provider, hook, call);
  dcpl = call.dcpl;
  dapl = call.dapl;
}
bool again_H5Dcreate_anon(Provider& provider, HookState& hook, Hid dataset, Hid&, Hid&, Hid&,
                          Hid& dcpl, Hid& dapl) noexcept {
  return again(provider, hook, dataset, dcpl, dapl);
}
void after_H5Dcreate_anon(Provider& provider, HookState& hook, Hid dataset, Hid, Hid, Hid, Hid,
                          Hid) noexcept {
  after(provider, hook, dataset);
}
void before_H5Dopen1(Provider& provider, HookState& hook, Hid& loc, const char*& name) noexcept {
  DatasetCall call{loc, 0, 0, name, false, false, 0, 0};
  before(provider, hook, call);
}
void after_H5Dopen1(Provider& provider, HookState& hook, Hid dataset, Hid, const char*) noexcept {
  after(provider, hook, dataset);
}
[[gnu::hot]] void before_H5Dopen2(Provider& provider, HookState& hook, Hid& loc, const char*& name,
                                  Hid& dapl) noexcept {
  DatasetCall call{loc, 0, 0, name, false, true, 0, dapl};
  before(provider, hook, call);
  dapl = call.dapl;
}
bool again_H5Dopen2(Provider& provider, HookState& hook, Hid dataset, Hid&, const char*&,
                    Hid& dapl) noexcept {
  Hid none = 0;
  return again(provider, hook, dataset, none, dapl);
}
[[gnu::hot]] void after_H5Dopen2(Provider& provider, HookState& hook, Hid dataset, Hid, const char*,
                                 Hid) noexcept {
  after(provider, hook, dataset);
}

[[gnu::hot]] void after_H5Dclose(Provider& provider, int result, Hid dataset) noexcept {
  if (result >= 0) forget_object(provider.number, dataset);
}

}  // namespace iotune::recorder
