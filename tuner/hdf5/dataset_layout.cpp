#include "tuner/hdf5/dataset_layout.h"

#include <cstring>

#include "core/os/mapped_file.h"
#include "core/os/short_text.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/agreement.h"
#include "tuner/decision/program_settings.h"

namespace iotune::tuner {
namespace {

using recorder::DatasetCall;

constexpr int kContiguousLayout = 1;           // H5D_CONTIGUOUS
constexpr int kFillNever = 1, kFillIfSet = 2;  // H5D_FILL_TIME_NEVER, _IFSET
constexpr int kDefaultFillValue = 1;           // H5D_FILL_VALUE_DEFAULT
constexpr int kMaxDimensions = 32;
constexpr std::uint64_t kLargestChunkBytes = 4294967295;
// With MPI-IO HDF5 allocates all chunks within H5Dcreate.
constexpr std::uint64_t kMostChunks = 1 << 20;
constexpr std::size_t kRefusalBytes = 175;

int parse_list(const char* text, std::uint64_t (&numbers)[kMaxDimensions]) noexcept {
  int n = 0;
  while (n < kMaxDimensions) {
    numbers[n++] = parse_decimal(text);
    text = std::strchr(text, ',');
    if (text == nullptr) break;
    ++text;
  }
  return n;
}

Reason why_no_chunk(const Provider& hdf5, const Hdf5Api& api, const DatasetCall& call,
                    const Setting& setting) noexcept {
  if (call.dcpl != 0) {
    const bool own = (settings_of(hdf5, call.dcpl).set_by_program & kSetLayout) != 0;
    if (own || api.H5Pget_layout(call.dcpl) != kContiguousLayout ||
        api.H5Pget_external_count(call.dcpl) != 0) {
      return Reason::kProgramSetALayout;
    }
    // Transfers that several ranks make independently fail on filtered chunks.
    if (api.H5Pget_nfilters(call.dcpl) > 0) return Reason::kFiltersWouldApply;
  }
  std::uint64_t chunk[kMaxDimensions], dims[kMaxDimensions], most[kMaxDimensions];
  const int n = parse_list(setting.value, chunk);
  if (api.H5Sget_simple_extent_ndims(call.space) != n) {
    return Reason::kOtherDimensions;
  }
  api.H5Sget_simple_extent_dims(call.space, dims, most);
  std::uint64_t bytes = api.H5Tget_size(call.type), chunks = 1;
  for (int i = 0; i < n; ++i) {
    // The program's own call fails there, and is to fail on.
    if (most[i] != dims[i]) return Reason::kMayGrow;
    if (chunk[i] == 0 || chunk[i] > dims[i]) return Reason::kChunkTooLarge;
    if (bytes == 0 || chunk[i] > kLargestChunkBytes / bytes) return Reason::kChunkOf4GiB;
    bytes *= chunk[i];
    const std::uint64_t here = dims[i] / chunk[i] + (dims[i] % chunk[i] != 0 ? 1 : 0);
    if (here > kMostChunks / chunks) return Reason::kTooManyChunks;
    chunks *= here;
  }
  return Reason::kNone;
}

// A contiguous dataset whose fill value nobody set is never filled by HDF5, a chunked one is. So
// with our chunks, and only there, no fill promises exactly what the program's own layout did.
Reason why_fill(const Hdf5Api& api, const DatasetCall& call,
                const LayoutInProgress& layout) noexcept {
  if (layout.chunk == nullptr || layout.chunk_refused != Reason::kNone) {
    return Reason::kFillWithoutChunks;
  }
  if (call.dcpl == 0) return Reason::kNone;
  int when = -1, value = -1;
  api.H5Pget_fill_time(call.dcpl, &when);
  api.H5Pfill_value_defined(call.dcpl, &value);
  const bool plain = when == kFillIfSet && value == kDefaultFillValue;
  return plain ? Reason::kNone : Reason::kProgramSetTheFill;
}

// A list to set properties on: a copy of the program's, or a fresh one for H5P_DEFAULT.
Hid build_list(Provider& hdf5, const Hdf5Api& api, Hid given,
               const LayoutInProgress& layout) noexcept {
  std::uint64_t chunk[kMaxDimensions];
  const int n = parse_list(layout.chunk->value, chunk);
  Hid list = -1;
  if (given != 0) {
    list = api.H5Pcopy(given);
  } else {
    const Hid list_class = iotune::list_class(hdf5, ListClass::kDatasetCreate);
    if (list_class >= 0) list = api.H5Pcreate(list_class);
  }
  if (list < 0) return -1;
  bool good = api.H5Pset_chunk(list, n, chunk) >= 0;
  if (good && layout.fill_time != nullptr && layout.fill_time_refused == Reason::kNone &&
      std::strcmp(layout.fill_time->value, "never") == 0) {
    good = api.H5Pset_fill_time(list, kFillNever) >= 0;
  }
  if (good) return list;
  api.H5Pclose(list);
  return -1;
}

// nullptr: no longer possible. The same on all ranks: a communicator is freed by all or by none.
const MpiApi* mpi_of(const FilePlan& plan, Word& comm) noexcept {
  comm = __atomic_load_n(&plan.comm, __ATOMIC_RELAXED);
  Provider* const world = world_provider();
  return world == nullptr || comm == 0 ? nullptr : mpi_api(*world);
}

}  // namespace

void set_layout(Provider& hdf5, const Hdf5Api& api, const FilePlan& plan, DatasetCall& call,
                LayoutInProgress& layout) noexcept {
  if (layout.chunk != nullptr) {
    layout.chunk_refused = why_no_chunk(hdf5, api, call, *layout.chunk);
  }
  if (layout.fill_time != nullptr) layout.fill_time_refused = why_fill(api, call, layout);
  if (layout.chunk == nullptr) return;
  const bool wanted = layout.chunk_refused == Reason::kNone;
  Hid list = wanted ? build_list(hdf5, api, call.dcpl, layout) : -1;
  if (plan.mpio) {
    Word comm = 0;
    const MpiApi* const mpi = mpi_of(plan, comm);
    std::uint64_t hash = hash_text(kHashStart, wanted ? layout.chunk->value : "");
    const bool fill = layout.fill_time != nullptr && layout.fill_time_refused == Reason::kNone;
    hash = hash_text(hash, fill ? layout.fill_time->value : "");
    if (mpi == nullptr || !all_agree(*mpi, comm, list >= 0 || !wanted, hash)) {
      if (list >= 0) api.H5Pclose(list);
      list = -1;
      if (wanted) layout.chunk_refused = Reason::kRanksDisagree;
    }
  }
  if (list < 0) {
    if (layout.chunk_refused == Reason::kNone) {
      layout.chunk_refused = Reason::kNoList;
    }
    if (layout.fill_time != nullptr && layout.fill_time_refused == Reason::kNone) {
      layout.fill_time_refused = layout.chunk_refused;
    }
    return;
  }
  layout.given_dcpl = call.dcpl;
  layout.tuned_dcpl = list;
  call.dcpl = list;
}

void keep_refusal(const Hdf5Api& api, LayoutInProgress& layout) noexcept {
  if (layout.words == nullptr) {
    layout.words = static_cast<char*>(private_memory(kRefusalBytes));
  }
  if (layout.words != nullptr) copy_last_words(api, layout.words, kRefusalBytes);
}

// Making the call again is safe: HDF5 replaces no link, so that what the first call did make (and
// what was there before) fails the second one.
bool try_own_layout(const Hdf5Api& api, const FilePlan& plan, Hid dataset, Hid& dcpl,
                    LayoutInProgress& layout) noexcept {
  if (layout.tuned_dcpl == 0) return false;
  const bool failed = dataset < 0;
  if (failed) keep_refusal(api, layout);
  const Hid stack = failed ? api.H5Eget_current_stack() : -1;
  bool all_failed = failed;
  if (plan.mpio) {
    Word comm = 0;
    const MpiApi* const mpi = mpi_of(plan, comm);
    all_failed = mpi != nullptr && all_agree(*mpi, comm, failed, 0);
  }
  if (!failed) return false;
  if (!all_failed) {
    const bool heard = layout.errors.hidden;
    show_errors(api, layout.errors);
    if (stack >= 0) api.H5Eset_current_stack(stack);
    if (heard) call_handler(layout.errors);
    return false;
  }
  if (stack >= 0) api.H5Eset_current_stack(stack);  // closes it
  api.H5Eclear2(0);
  api.H5Pclose(layout.tuned_dcpl);
  layout.tuned_dcpl = 0;
  dcpl = layout.given_dcpl;
  layout.chunk_refused = Reason::kHdf5RefusesIt;
  if (layout.fill_time != nullptr && layout.fill_time_refused == Reason::kNone) {
    layout.fill_time_refused = Reason::kHdf5RefusesIt;
  }
  return true;
}

void close_layout(const Hdf5Api& api, LayoutInProgress& layout) noexcept {
  if (layout.tuned_dcpl > 0) api.H5Pclose(layout.tuned_dcpl);
  if (layout.words != nullptr) unmap(layout.words, kRefusalBytes);
}

}  // namespace iotune::tuner
