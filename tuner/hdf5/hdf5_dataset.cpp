#include "tuner/hdf5/hdf5_dataset.h"

#include "core/os/short_text.h"
#include "tuner/decision/file_plan.h"
#include "tuner/decision/file_timer.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/decision/program_settings.h"
#include "tuner/hdf5/cache_budget.h"
#include "tuner/hdf5/dataset_layout.h"

namespace iotune::tuner {
namespace {

using recorder::DatasetCall;
using recorder::OpenState;

constexpr int kChunkedLayout = 2;   // H5D_CHUNKED
constexpr unsigned kReadWrite = 1;  // H5F_ACC_RDWR
constexpr int kMaxDimensions = 32;
constexpr int kIndividualIo = 1;  // H5FD_MPIO_INDIVIDUAL_IO
constexpr double kOwnW0 = -1;     // H5D_CHUNK_CACHE_W0_DEFAULT: the file's

// What one H5Dcreate or H5Dopen keeps from before to after, in OpenState.
struct DatasetInProgress {
  FilePlan* plan;
  LayoutInProgress layout;
  Hid given_dapl, tuned_dapl;  // tuned: 0 where there is none
  const Setting* cache;
  Reason cache_refused;
  std::uint64_t cache_bytes;  // as applied
};
static_assert(sizeof(DatasetInProgress) <= sizeof(OpenState));
DatasetInProgress& in_progress(OpenState& state) noexcept {
  return *reinterpret_cast<DatasetInProgress*>(state.words);
}

// What a transfer keeps: the plan, by which the after hook knows that it has a setting to take
// back.
struct TransferInProgress {
  FilePlan* plan;
  Hid dxpl;
  int own;  // the list's H5FD_mpio_collective_opt_t before
};
TransferInProgress& transfer_of(OpenState& state) noexcept {
  return *reinterpret_cast<TransferInProgress*>(state.words);
}

// Words of the OpenState behind that: when a transfer of the timed file began, and its mode.
constexpr int kTimerStart = 8, kTimerMode = 9;
static_assert(sizeof(TransferInProgress) <= kTimerStart * sizeof(OpenState::words[0]));

bool ends_with_name(const char* path, const char* name) noexcept {
  if (std::strcmp(path, name) == 0) return true;
  const char* const slash = std::strrchr(path, '/');
  return slash != nullptr && std::strcmp(slash + 1, name) == 0;
}

// The setting for that dataset: one that names the dataset comes before one for all datasets.
const Setting* find_for(const SettingList& list, const char* parameter,
                        const char* dataset) noexcept {
  const Setting* found = nullptr;
  for (int i = 0; i < list.count; ++i) {
    const Setting& setting = list.settings[i];
    if (std::strcmp(setting.name, parameter) != 0) continue;
    if (setting.dataset[0] == '\0') {
      if (found == nullptr) found = &setting;
    } else if (dataset[0] != '\0' && ends_with_name(dataset, setting.dataset)) {
      found = &setting;
    }
  }
  return found;
}

// A list to set properties on: a copy of the program's, or a fresh one for H5P_DEFAULT.
Hid own_list(Provider& hdf5, const Hdf5Api& api, Hid given) noexcept {
  if (given != 0) return api.H5Pcopy(given);
  const Hid list_class = iotune::list_class(hdf5, ListClass::kDatasetAccess);
  return list_class < 0 ? -1 : api.H5Pcreate(list_class);
}

struct ChunkCache {
  std::size_t slots, bytes;
  double w0;
};

// HDF5's default, whatever the default of the file's datasets is.
ChunkCache default_cache(Provider& hdf5, const Hdf5Api& api) noexcept {
  ChunkCache cache{521, std::size_t{1} << 20, 0.75};
  const Hid fresh = own_list(hdf5, api, 0);
  if (fresh < 0) return cache;
  api.H5Pget_chunk_cache(fresh, &cache.slots, &cache.bytes, &cache.w0);
  api.H5Pclose(fresh);
  return cache;
}

// False where a list cannot be built.
bool pass_cache(Provider& hdf5, const Hdf5Api& api, const ChunkCache& cache, DatasetCall& call,
                DatasetInProgress& at) noexcept {
  const Hid list = own_list(hdf5, api, call.dapl);
  if (list < 0) return false;
  if (api.H5Pset_chunk_cache(list, cache.slots, cache.bytes, cache.w0) < 0) {
    api.H5Pclose(list);
    return false;
  }
  at.given_dapl = call.dapl;
  call.dapl = at.tuned_dapl = list;
  return true;
}

void set_chunk_cache(Provider& hdf5, const Hdf5Api& api, DatasetCall& call,
                     DatasetInProgress& at) noexcept {
  const bool own =
      call.dapl != 0 && (settings_of(hdf5, call.dapl).set_by_program & kSetChunkCache) != 0;
  if (own || at.plan->cache_set_by_program) {
    at.cache_refused = Reason::kProgramSetIt;
    return;
  }
  constexpr Hid kAllFiles = 0x1f;          // H5F_OBJ_ALL
  constexpr unsigned kOpenDatasets = 0x2;  // H5F_OBJ_DATASET
  const ssize_t open = api.H5Fget_obj_count(kAllFiles, kOpenDatasets);
  const std::uint64_t wanted = parse_decimal(at.cache->value), budget = own_cache_budget_bytes();
  at.cache_bytes =
      call.takes_dapl
          ? cache_share_bytes(budget, wanted, open < 0 ? 0 : static_cast<std::uint64_t>(open))
          : file_cache_bytes(budget, wanted);
  ChunkCache cache{chunk_slots(at.cache_bytes), at.cache_bytes, kOwnW0};
  if (at.cache_bytes < wanted) {
    const ChunkCache usual = default_cache(hdf5, api);
    if (at.cache_bytes <= usual.bytes && usual.bytes < wanted) {
      cache = usual;
      at.cache_refused = call.takes_dapl ? Reason::kOtherDatasetsHaveIt : Reason::kLessWithoutAList;
    }
  }
  if (!call.takes_dapl) return;  // it has the file's
  if (!pass_cache(hdf5, api, cache, call, at) && at.cache_refused == Reason::kNone) {
    at.cache_refused = Reason::kNoList;
  }
}

struct DatasetFacts {
  char name[512];
  int layout, filters, chunk_dimensions, fill_time;
  std::uint64_t chunk[kMaxDimensions];
  bool cache_known;
  std::size_t cache_bytes;
  unsigned intent;
};

void ask_dataset(const Hdf5Api& api, Hid dataset, Hid file, DatasetFacts& facts) noexcept {
  facts = {};
  const QuietProbes quiet(api);
  api.H5Iget_name(dataset, facts.name, sizeof facts.name);
  if (const Hid dcpl = api.H5Dget_create_plist(dataset); dcpl >= 0) {
    facts.layout = api.H5Pget_layout(dcpl);
    facts.filters = api.H5Pget_nfilters(dcpl);
    if (api.H5Pget_fill_time(dcpl, &facts.fill_time) < 0) facts.fill_time = -1;
    if (facts.layout == kChunkedLayout) {
      facts.chunk_dimensions = api.H5Pget_chunk(dcpl, kMaxDimensions, facts.chunk);
    }
    api.H5Pclose(dcpl);
  }
  if (const Hid dapl = api.H5Dget_access_plist(dataset); dapl >= 0) {
    std::size_t slots = 0;
    double w0 = 0;
    facts.cache_known = api.H5Pget_chunk_cache(dapl, &slots, &facts.cache_bytes, &w0) >= 0;
    api.H5Pclose(dapl);
  }
  if (api.H5Fget_intent != nullptr) api.H5Fget_intent(file, &facts.intent);
}

void note(const DatasetInProgress& at, const DatasetFacts& facts, const Setting& setting,
          const char* got, Verdict verdict, Reason reason) noexcept {
  const bool said = reason == Reason::kHdf5RefusesIt && at.layout.words != nullptr;
  note_setting(at.plan->path, setting.name, setting.value, got, verdict,
               {reason, said ? at.layout.words : "", facts.name});
}

void note_layout(const DatasetInProgress& at, const DatasetFacts& facts) noexcept {
  const LayoutInProgress& layout = at.layout;
  if (layout.chunk != nullptr) {
    ShortText<256> got;
    for (int i = 0; i < facts.chunk_dimensions; ++i) got << (i == 0 ? "" : ",") << facts.chunk[i];
    if (layout.chunk_refused != Reason::kNone) {
      note(at, facts, *layout.chunk, got.c_str(), Verdict::kRefused, layout.chunk_refused);
    } else if (std::strcmp(got.c_str(), layout.chunk->value) != 0) {
      note(at, facts, *layout.chunk, got.c_str(), Verdict::kWithoutEffect,
           Reason::kHdf5KeptAnother);
    } else {
      note(at, facts, *layout.chunk, got.c_str(), Verdict::kApplied, Reason::kNone);
    }
  }
  if (layout.fill_time != nullptr) {
    static constexpr const char* kTimes[] = {"alloc", "never", "ifset"};  // H5D_fill_time_t
    const bool known = facts.fill_time >= 0 && facts.fill_time < 3;
    const char* const got = known ? kTimes[facts.fill_time] : "";
    const bool same = std::strcmp(got, layout.fill_time->value) == 0;
    if (layout.fill_time_refused != Reason::kNone) {
      note(at, facts, *layout.fill_time, got, Verdict::kRefused, layout.fill_time_refused);
    } else {
      note(at, facts, *layout.fill_time, got, same ? Verdict::kApplied : Verdict::kWithoutEffect,
           same ? Reason::kNone : Reason::kHdf5KeptAnother);
    }
  }
}

void note_chunk_cache(const DatasetInProgress& at, const DatasetFacts& facts) noexcept {
  ShortText<32> got;
  if (facts.cache_known) got << facts.cache_bytes;
  Verdict verdict = Verdict::kApplied;
  Reason reason = Reason::kNone;
  if (at.cache_refused != Reason::kNone) {
    verdict = Verdict::kRefused;
    reason = at.cache_refused;
  } else if (facts.layout != kChunkedLayout) {
    verdict = Verdict::kWithoutEffect;
    reason = Reason::kNotChunked;
  } else if (at.plan->mpio && (facts.intent & kReadWrite) != 0 && facts.filters == 0) {
    verdict = Verdict::kWithoutEffect;
    reason = Reason::kNoSharedChunkCache;
  } else if (!facts.cache_known) {
    verdict = Verdict::kUnverifiable;
    reason = Reason::kDatasetListUnreadable;
  } else if (facts.cache_bytes != at.cache_bytes) {
    verdict = Verdict::kWithoutEffect;
    reason = Reason::kHdf5KeptAnotherValue;
  } else if (std::strcmp(got.c_str(), at.cache->value) != 0) {
    reason = Reason::kCutToMemory;
  }
  note(at, facts, *at.cache, got.c_str(), verdict, reason);
}

// H5FD_mpio_collective_opt_t of the list, -1 where it cannot be read. (HDF5 has no call for it.)
int collective_opt(const Hdf5Api& api, Hid dxpl) noexcept {
  const QuietProbes quiet(api);
  int value = -1;
  return api.H5Pget(dxpl, "mpio_collective_opt", &value) < 0 ? -1 : value;
}

// How HDF5 made the transfer, which it leaves in the list; -1 where it does not say.
int actual_io_mode(const Hdf5Api& api, Hid dxpl) noexcept {
  const QuietProbes quiet(api);
  int mode = -1;
  const bool known =
      api.H5Pget_mpio_actual_io_mode != nullptr && api.H5Pget_mpio_actual_io_mode(dxpl, &mode) >= 0;
  return known ? mode : -1;
}

void count_individual(const Hdf5Api& api, Hid dxpl, IndividualTransfers& transfers) noexcept {
  constexpr int kChunksIndependent = 1;  // H5D_MPIO_CHUNK_INDEPENDENT
  const auto count = [](int& counter) { __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); };
  if (collective_opt(api, dxpl) == kIndividualIo) count(transfers.kept);
  const int mode = actual_io_mode(api, dxpl);
  if (mode > kChunksIndependent) count(transfers.collective);
  if (mode >= 0 && mode <= kChunksIndependent) count(transfers.taken_apart);
  count(transfers.all);
}

}  // namespace

[[gnu::hot]] void before_hdf5_dataset(Provider& hdf5, DatasetCall& call,
                                      OpenState& state) noexcept {
  DatasetInProgress& at = in_progress(state);
  // Mostly there is no plan, and looking that up must touch no more memory.
  const Hdf5Api* const api = any_file_plan() ? hdf5_api(hdf5) : nullptr;
  if (api == nullptr) return;
  at.plan = find_file_plan(hdf5, *api, call.location);
  if (at.plan == nullptr) return;
  const char* const name = call.name == nullptr ? "" : call.name;
  at.cache = find_for(at.plan->settings, "chunk_cache", name);
  // A file that exists keeps its layouts: they are not noted at each open.
  if (call.creating) {
    at.layout.chunk = find_for(at.plan->settings, "chunk", name);
    at.layout.fill_time = find_for(at.plan->settings, "fill_time", name);
  }
  {
    const QuietProbes quiet(*api);
    set_layout(hdf5, *api, *at.plan, call, at.layout);
    if (at.cache != nullptr) set_chunk_cache(hdf5, *api, call, at);
  }
  if (at.layout.tuned_dcpl > 0 || at.tuned_dapl > 0) hide_errors(*api, at.layout.errors);
}

// Tries again, first without our layout, then without our chunk cache. The chunk cache concerns
// this process alone: a rank without memory for it fails before the collective part of the call,
// which its second call then takes part in.
[[gnu::hot]] bool again_hdf5_dataset(Provider& hdf5, std::int64_t dataset, std::int64_t& dcpl,
                                     std::int64_t& dapl, OpenState& state) noexcept {
  DatasetInProgress& at = in_progress(state);
  if (at.plan == nullptr) return false;
  const Hdf5Api* const api = hdf5_api(hdf5);
  if (api == nullptr) return false;
  const bool again = try_own_layout(*api, *at.plan, dataset, dcpl, at.layout);
  const bool without_cache = !again && at.tuned_dapl > 0 && dataset < 0 && at.layout.errors.hidden;
  if (without_cache) {
    keep_refusal(*api, at.layout);
    at.cache_refused = Reason::kHdf5RefusesIt;
    api->H5Pclose(at.tuned_dapl);
    at.tuned_dapl = 0;
    dapl = at.given_dapl;
  }
  if (!again || at.tuned_dapl <= 0) show_errors(*api, at.layout.errors);
  return again || without_cache;
}

[[gnu::hot]] void after_hdf5_dataset(Provider& hdf5, std::int64_t dataset,
                                     OpenState& state) noexcept {
  DatasetInProgress& at = in_progress(state);
  if (at.plan == nullptr) return;
  const Hdf5Api* const api = hdf5_api(hdf5);
  if (api == nullptr) return;
  // The error stack of a failed call belongs to the program: closing our lists would empty it.
  const Hid failed_stack = dataset < 0 ? api->H5Eget_current_stack() : -1;
  const bool wanted =
      at.layout.chunk != nullptr || at.layout.fill_time != nullptr || at.cache != nullptr;
  if (dataset >= 0 && at.plan->notes && wanted &&
      __atomic_fetch_sub(&at.plan->notes_left, 1, __ATOMIC_RELAXED) > 0) {
    DatasetFacts facts;
    ask_dataset(*api, dataset, at.plan->file, facts);
    note_layout(at, facts);
    if (at.cache != nullptr) note_chunk_cache(at, facts);
  }
  close_layout(*api, at.layout);
  if (at.tuned_dapl > 0) api->H5Pclose(at.tuned_dapl);
  if (failed_stack >= 0) api->H5Eset_current_stack(failed_stack);
  release(at.plan);
}

// The program's own list is set for the time of its call, because HDF5 leaves in it what it
// really did (H5Pget_mpio_actual_io_mode), which a copy would keep from the program.
//
// Every rank of the file sets its list, whatever it held: were one left alone because its program
// asked for HDF5's default explicitly, the ranks' calls below would not match.
[[gnu::hot]] void before_hdf5_transfer(Provider& hdf5, std::int64_t dataset, std::int64_t dxpl,
                                       OpenState& state) noexcept {
  constexpr int kCollective = 1;  // H5FD_MPIO_COLLECTIVE
  const bool timed = file_timer_is_on(), individual = dxpl != 0 && any_individual_io();
  if (!timed && !individual) return;
  const Hdf5Api* const api = hdf5_api(hdf5);
  if (timed) {
    int asked = 0;
    if (dxpl != 0 && api != nullptr && api->H5Pget_dxpl_mpio != nullptr) {
      const QuietProbes quiet(*api);
      if (api->H5Pget_dxpl_mpio(dxpl, &asked) < 0) asked = 0;
    }
    state.words[kTimerStart] = file_timer_ns();
    state.words[kTimerMode] = asked == kCollective ? 1 : 0;
  }
  if (!individual || api == nullptr || api->H5Pset_dxpl_mpio_collective_opt == nullptr ||
      api->H5Pget_dxpl_mpio == nullptr) {
    return;
  }
  FilePlan* const plan = find_file_plan(hdf5, *api, dataset);
  if (plan == nullptr) return;
  int mode = 0;
  {
    const QuietProbes quiet(*api);
    if (!plan->individual_io || api->H5Pget_dxpl_mpio(dxpl, &mode) < 0) mode = 0;
  }
  // -1: it cannot be read, on no rank.
  const int own = mode == kCollective ? collective_opt(*api, dxpl) : kIndividualIo;
  if (own == kIndividualIo || own < 0 ||
      api->H5Pset_dxpl_mpio_collective_opt(dxpl, kIndividualIo) < 0) {
    release(plan);
    return;
  }
  transfer_of(state) = {plan, dxpl, own};
  // Noted at the second transfer, because a program may never close its file.
  if (__atomic_load_n(&plan->individual.all, __ATOMIC_RELAXED) == 1) note_individual_io(*plan);
}

[[gnu::hot]] void after_hdf5_transfer(Provider& hdf5, std::int64_t, int result,
                                      OpenState& state) noexcept {
  if (state.words[kTimerStart] != 0) {
    time_transfer(state.words[kTimerStart], state.words[kTimerMode] != 0);
  }
  const TransferInProgress at = transfer_of(state);
  const Hdf5Api* const api = at.plan == nullptr ? nullptr : hdf5_api(hdf5);
  if (api == nullptr) return;
  const Hid failed_stack = result < 0 ? api->H5Eget_current_stack() : -1;
  // Counted only: a note would come in the midst of the record that is being written.
  if (result >= 0) count_individual(*api, at.dxpl, at.plan->individual);
  api->H5Pset_dxpl_mpio_collective_opt(at.dxpl, at.own);
  if (failed_stack >= 0) api->H5Eset_current_stack(failed_stack);
  release(at.plan);
}

bool leaves_datasets_alone() noexcept {
  return !any_file_plan() && !any_individual_io() && !file_timer_is_on();
}

}  // namespace iotune::tuner
