#include "recorder/preload/file_sample.h"
#include "recorder/preload/hooks_hdf5.h"
#include "recorder/preload/object_table.h"
#include "recorder/preload/path_filter.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/process_text.h"

namespace iotune::recorder {
namespace {

// What HookState::object says of a file.
constexpr std::int64_t kNotTraced = 0, kTraced = 1;

FileUse use_of(unsigned flags) noexcept {
  constexpr unsigned kReadWrite = 1;  // H5F_ACC_RDWR
  return (flags & kReadWrite) != 0 ? FileUse::kChanges : FileUse::kReads;
}

// What is opened now will be: calls on another file that is open have to be recorded.
bool is_the_only_file(Provider& provider) noexcept {
  constexpr Hid kEverything = 0x1f;    // H5F_OBJ_ALL: of all files
  constexpr unsigned kFiles = 0x0001;  // H5F_OBJ_FILE
  if (provider.asynchronous.load(std::memory_order_relaxed)) return false;
  if (is_another_hdf5_in_use(provider)) return false;
  const Hdf5Api* const api = hdf5_api(provider);
  return api != nullptr && api->H5Fget_obj_count(kEverything, kFiles) == 0;
}

void before_open(Provider& provider, HookState& hook, const char* name, FileUse use,
                 Hid& fapl) noexcept {
  const OwnCode own;
  t_thread.unrecorded = ThreadState::Unrecorded::kNothing;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  hook.object = path_is_traced(path.c_str()) && start_buffer() ? kTraced : kNotTraced;
  if (const Hdf5Api* const api = hdf5_version()[0] == '\0' ? hdf5_api(provider) : nullptr) {
    unsigned version[3] = {};
    api->H5get_libversion(&version[0], &version[1], &version[2]);
    set_hdf5_version(version[0], version[1], version[2]);
  }
  hook.open.recorded = Recorded::kWhole;
  if (hook.object == kTraced) {
    const Recorded recorded = recorded_of(path.c_str(), use);
    if (recorded != Recorded::kWhole && is_the_only_file(provider)) {
      hook.open.recorded = recorded;
      t_thread.unrecorded = ThreadState::Unrecorded::kInside;
    }
  }
  const bool creating = use == FileUse::kMakes;
  g_advice.before_hdf5_open(provider, path.c_str(), creating, fapl, hook.open);
}

void after_open(Provider& provider, HookState& hook, const char* name, FileUse use,
                Hid file) noexcept {
  const OwnCode own;
  const Recorded recorded = hook.open.recorded;
  ShortText<4096> path;
  absolute_path_of_mpi(name, path);
  const bool traced = file >= 0 && hook.object == kTraced;
  // Without it the trace's readers hold none of these calls for the file's, whose time and bytes
  // they know already.
  if (traced && recorded != Recorded::kOpening) {
    RecordWriter record(CallNumber::kiotune_file, ticks_now());
    record.key(next_file_number());
    record.number(static_cast<std::int64_t>(file));
    record.number(static_cast<std::int64_t>(Layer::kHdf5));
    record.text(path.c_str());
    record.commit();
  }
  if (traced && recorded == Recorded::kDecision) {
    RecordWriter record(CallNumber::kiotune_unsampled, ticks_now());
    record.number(static_cast<std::int64_t>(file));
    record.commit();
  }
  if (traced && recorded != Recorded::kWhole) count_sampled_out();
  if (traced && recorded != Recorded::kOpening) remember_opened(path.c_str(), use);
  g_advice.after_hdf5_open(provider, path.c_str(), hook.pending ? kPendingFile : file, hook.open);
  if (recorded == Recorded::kWhole) return;
  const bool open = file >= 0 && !hook.pending;
  // A number that is still known may be that of an id which is given out again: the hooks see to
  // it.
  const bool untouched = knows_no_objects() && g_advice.leaves_datasets_alone();
  t_thread.unrecorded = !open       ? ThreadState::Unrecorded::kNothing
                        : untouched ? ThreadState::Unrecorded::kUntouched
                                    : ThreadState::Unrecorded::kAll;
  t_thread.unrecorded_file = file;
}

}  // namespace

void before_H5Fcreate(Provider& provider, HookState& hook, const char*& name, unsigned&, Hid&,
                      Hid& fapl) noexcept {
  before_open(provider, hook, name, FileUse::kMakes, fapl);
}
void after_H5Fcreate(Provider& provider, HookState& hook, Hid file, const char* name, unsigned, Hid,
                     Hid) noexcept {
  after_open(provider, hook, name, FileUse::kMakes, file);
}
void before_H5Fopen(Provider& provider, HookState& hook, const char*& name, unsigned& flags,
                    Hid& fapl) noexcept {
  before_open(provider, hook, name, use_of(flags), fapl);
}
void after_H5Fopen(Provider& provider, HookState& hook, Hid file, const char* name, unsigned flags,
                   Hid) noexcept {
  after_open(provider, hook, name, use_of(flags), file);
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
  if (result >= 0) g_advice.hdf5_property(provider, CallNumber::kH5Fclose, words, 2);
}

void after_H5Fget_access_plist(Provider& provider, Hid fapl, Hid file) noexcept {
  const OwnCode own;
  const std::int64_t words[] = {file, fapl};
  if (fapl >= 0) g_advice.hdf5_property(provider, CallNumber::kH5Fget_access_plist, words, 2);
}

}  // namespace iotune::recorder
