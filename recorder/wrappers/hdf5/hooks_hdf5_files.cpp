#include <link.h>

#include "core/process/process_facts.h"
#include "recorder/gather/process_text.h"
#include "recorder/hooks/decisions.h"
#include "recorder/ring/file_sample.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/hdf5/hooks_hdf5.h"
#include "recorder/wrappers/hdf5/known_selections.h"
#include "recorder/wrappers/object_table.h"

namespace iotune::recorder {
namespace {

// What HookState::object says of a file.
constexpr std::int64_t kNotTraced = 0, kTraced = 1, kSampledOut = 2;
// Not traced, and known to be what the calls until its close are about.
constexpr std::int64_t kPassedOver = 3;

// What is opened now will be: calls on another file that is open have to be recorded.
bool is_the_only_file(Provider& provider) noexcept {
  constexpr Hid kEverything = 0x1f;    // H5F_OBJ_ALL: of all files
  constexpr unsigned kFiles = 0x0001;  // H5F_OBJ_FILE
  if (provider.asynchronous.load(std::memory_order_relaxed)) return false;
  if (is_another_hdf5_in_use(provider)) return false;
  const Hdf5Api* const api = hdf5_api(provider);
  return api != nullptr && api->H5Fget_obj_count(kEverything, kFiles) == 0;
}

void before_open(Provider& provider, HookState& hook, const char* name, Hdf5Making making,
                 Hid& fapl) noexcept {
  const OwnCode own;
  t_thread.unrecorded = ThreadState::Unrecorded::kNothing;
  // Of a file that is sampled out no calls were seen; and after H5close identifiers begin anew.
  forget_selections();
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  hook.object = path_is_traced(path.c_str()) && start_buffer() ? kTraced : kNotTraced;
  if (const Hdf5Api* const api = hdf5_version()[0] == '\0' ? hdf5_api(provider) : nullptr) {
    unsigned version[3] = {};
    api->H5get_libversion(&version[0], &version[1], &version[2]);
    // The library stays while one of its functions is called.
    const LoadedObject* const object = provider.object.load(std::memory_order_acquire);
    if (object != nullptr) set_hdf5_library(object->l_name);
    set_hdf5_version(version[0], version[1], version[2]);
  }
  const bool traced = hook.object == kTraced;
  const bool passes = traced ? is_sampled_out(path.c_str()) : one_thread_records();
  if (passes && is_the_only_file(provider)) {
    hook.object = traced ? kSampledOut : kPassedOver;
    t_thread.unrecorded = ThreadState::Unrecorded::kInside;
  }
  hook.open.named_relatively = is_relative_to_mpi(name);
  g_decisions.hdf5.before_open(provider, path.c_str(), making, fapl, hook.open);
}

bool again(Provider& provider, HookState& hook, const char* name, Hid file, Hid& fapl) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  return g_decisions.hdf5.again_open(provider, path.c_str(), file, fapl, hook.open);
}

void after_open(Provider& provider, HookState& hook, const char* name, Hid file) noexcept {
  const OwnCode own;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  if (file >= 0 && (hook.object == kTraced || hook.object == kSampledOut)) {
    RecordWriter record(CallNumber::kiotune_file, ticks_now());
    record.key(next_file_number());
    record.number(static_cast<std::int64_t>(file));
    record.number(static_cast<std::int64_t>(Layer::kHdf5));
    record.text(path.c_str());
    record.commit();
  }
  if (file >= 0 && hook.object == kSampledOut) {
    RecordWriter record(CallNumber::kiotune_unsampled, ticks_now());
    record.number(static_cast<std::int64_t>(file));
    record.commit();
    count_sampled_out();
  }
  g_decisions.hdf5.after_open(provider, path.c_str(), hook.pending ? kPendingFile : file,
                              hook.open);
  if (hook.object != kSampledOut && hook.object != kPassedOver) return;
  const bool open = file >= 0 && !hook.pending;
  // A number that is still known may be that of an id which is given out again: the hooks see to
  // it.
  const bool untouched = knows_no_objects() && g_decisions.hdf5.leaves_datasets_alone();
  t_thread.unrecorded = !open       ? ThreadState::Unrecorded::kNothing
                        : untouched ? ThreadState::Unrecorded::kUntouched
                                    : ThreadState::Unrecorded::kAll;
  t_thread.unrecorded_file = file;
}

}  // namespace

void before_H5Fcreate(Provider& provider, HookState& hook, const char*& name, unsigned& flags, Hid&,
                      Hid& fapl) noexcept {
  constexpr unsigned kTruncate = 0x2;  // H5F_ACC_TRUNC; without it H5F_ACC_EXCL is the default
  const bool empties = (flags & kTruncate) != 0;
  before_open(provider, hook, name, empties ? Hdf5Making::kEmpties : Hdf5Making::kMakesNew, fapl);
}
bool again_H5Fcreate(Provider& provider, HookState& hook, Hid file, const char*& name, unsigned&,
                     Hid&, Hid& fapl) noexcept {
  return again(provider, hook, name, file, fapl);
}
void after_H5Fcreate(Provider& provider, HookState& hook, Hid file, const char* name, unsigned, Hid,
                     Hid) noexcept {
  after_open(provider, hook, name, file);
}
void before_H5Fopen(Provider& provider, HookState& hook, const char*& name, unsigned& flags,
                    Hid& fapl) noexcept {
  constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY; SWMR readers set a bit beside it
  before_open(provider, hook, name, flags == kReadOnly ? Hdf5Making::kReads : Hdf5Making::kOpens,
              fapl);
}
bool again_H5Fopen(Provider& provider, HookState& hook, Hid file, const char*& name, unsigned&,
                   Hid& fapl) noexcept {
  return again(provider, hook, name, file, fapl);
}
void after_H5Fopen(Provider& provider, HookState& hook, Hid file, const char* name, unsigned,
                   Hid) noexcept {
  after_open(provider, hook, name, file);
}

void before_H5Fclose(Provider&, HookState&, Hid& file) noexcept {
  // Its close is recorded again, but not what HDF5 does in there.
  if (is_outside_sample() && t_thread.unrecorded_file == file) {
    t_thread.unrecorded = ThreadState::Unrecorded::kInside;
  }
}

void after_H5Fclose(Provider& provider, HookState&, int result, Hid file) noexcept {
  if (t_thread.unrecorded == ThreadState::Unrecorded::kInside) {
    t_thread.unrecorded = ThreadState::Unrecorded::kNothing;
  }
  // Whether the id is gone now would be asked.
  if (provider.asynchronous.load(std::memory_order_relaxed)) return;
  const OwnCode own;
  const std::int64_t words[] = {file, result};
  if (result >= 0) g_decisions.hdf5.property(provider, CallNumber::kH5Fclose, words, 2);
}

void after_H5Fget_access_plist(Provider& provider, Hid fapl, Hid file) noexcept {
  const OwnCode own;
  const std::int64_t words[] = {file, fapl};
  if (fapl >= 0) g_decisions.hdf5.property(provider, CallNumber::kH5Fget_access_plist, words, 2);
}

}  // namespace iotune::recorder
