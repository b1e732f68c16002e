#include "recorder/preload/hooks_hdf5.h"
#include "recorder/preload/object_table.h"
#include "recorder/preload/path_filter.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/process_text.h"

namespace iotune::recorder {
namespace {

void before_open(Provider& provider, HookState& hook, const char* name, bool creating,
                 Hid& fapl) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  hook.object = path_is_traced(path.c_str()) && start_buffer() ? 1 : 0;
  if (const Hdf5Api* const api = hdf5_version()[0] == '\0' ? hdf5_api(provider) : nullptr) {
    unsigned version[3] = {};
    api->H5get_libversion(&version[0], &version[1], &version[2]);
    set_hdf5_version(version[0], version[1], version[2]);
  }
  g_advice.before_hdf5_open(provider, path.c_str(), creating, fapl, hook.open);
}

void after_open(Provider& provider, HookState& hook, const char* name, Hid file) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  if (file >= 0 && hook.object == 1) {
    RecordWriter record(CallNumber::kiotune_file, ticks_now());
    record.key(next_file_number());
    record.number(static_cast<std::int64_t>(file));
    record.number(static_cast<std::int64_t>(Layer::kHdf5));
    record.text(path.c_str());
    record.commit();
  }
  g_advice.after_hdf5_open(provider, path.c_str(), hook.pending ? kPendingFile : file, hook.open);
}

}  // namespace

void before_H5Fcreate(Provider& provider, HookState& hook, const char*& name, unsigned&, Hid&,
                      Hid& fapl) noexcept {
  before_open(provider, hook, name, true, fapl);
}
void after_H5Fcreate(Provider& provider, HookState& hook, Hid file, const char* name, unsigned, Hid,
                     Hid) noexcept {
  after_open(provider, hook, name, file);
}
void before_H5Fopen(Provider& provider, HookState& hook, const char*& name, unsigned&,
                    Hid& fapl) noexcept {
  before_open(provider, hook, name, false, fapl);
}
void after_H5Fopen(Provider& provider, HookState& hook, Hid file, const char* name, unsigned,
                   Hid) noexcept {
  after_open(provider, hook, name, file);
}

void after_H5Fclose(Provider& provider, int result, Hid file) noexcept {
  // Whether the id is gone now would be asked.
  if (provider.asynchronous.load(std::memory_order_relaxed)) return;
  const OwnCode own;
  const std::int64_t words[] = {file, result};
  if (result >= 0) g_advice.hdf5_property(provider, CallNumber::kH5Fclose, words, 2);
}

void after_H5Fget_access_plist(Provider& provider, Hid fapl, Hid file) noexcept {
  const OwnCode own;
  const std::int64_t words[] = {file, fapl};
  if (fapl >= 0) g_advice.hdf5_property(provider, CallNumber::kH5Fget_access_plist, words, 2);
}

}  // namespace iotune::recorder
