#include "tuner/hdf5/file_buffers.h"

#include "tuner/hdf5/cache_budget.h"

namespace iotune::tuner {
namespace {

// What HDF5 has for a file without being asked, about.
constexpr std::uint64_t kUsualBytes = std::uint64_t{2} << 20;

Reason unfit_memory(std::uint64_t bytes) noexcept {
  const bool fits = bytes <= kUsualBytes || bytes <= file_buffer_bytes(own_cache_budget_bytes());
  return fits ? Reason::kNone : Reason::kTooLittleMemory;
}

// The head of H5AC_cache_config_t, version 1, the same from HDF5 1.8 to 2.2; the rest is more than
// it has left.
struct CacheConfig {
  int version;
  unsigned char reports, opens_trace, closes_trace;
  char trace_name[1025];
  unsigned char evicts, sets_initial;
  std::size_t initial_bytes;
  double least_clean;
  std::size_t most_bytes, least_bytes;
  unsigned char rest[512];
};
static_assert(offsetof(CacheConfig, initial_bytes) == 1040);
constexpr int kConfigVersion = 1;                           // H5AC__CURR_CACHE_CONFIG_VERSION
constexpr std::size_t kMostCache = std::size_t{128} << 20;  // H5C__MAX_MAX_CACHE_SIZE

// Whether it is what the struct above says: a library of another layout would show here.
bool is_plausible(const CacheConfig& config) noexcept {
  return config.version == kConfigVersion && config.evicts <= 1 && config.sets_initial <= 1 &&
         config.least_clean >= 0 && config.least_clean <= 1 && config.least_bytes >= 1024 &&
         config.least_bytes <= config.initial_bytes && config.initial_bytes <= config.most_bytes &&
         config.most_bytes <= kMostCache;
}

}  // namespace

Reason unfit_page_buffer(const Hdf5Api& api, bool mpio, bool only_reads,
                         std::uint64_t bytes) noexcept {
  if (api.H5Pset_page_buffer_size == nullptr || api.H5Pget_page_buffer_size == nullptr) {
    return Reason::kNoPageBuffer;
  }
  if (mpio) return Reason::kNoPageBufferOverMpiIo;
  if (!only_reads) return Reason::kForReadingAlone;
  return unfit_memory(bytes);
}

Reason unfit_metadata_cache(const Hdf5Api& api, std::uint64_t bytes) noexcept {
  if (api.H5Pset_mdc_config == nullptr || api.H5Pget_mdc_config == nullptr ||
      api.H5Fget_mdc_size == nullptr) {
    return Reason::kNoMetadataCache;
  }
  return unfit_memory(bytes);
}

Reason unfit_evict_on_close(const Hdf5Api& api) noexcept {
  if (api.H5Pset_evict_on_close == nullptr) return Reason::kNoEviction;
  // The build, not the file: such a build refuses it for a file of one process too.
  if (api.H5Pset_fapl_mpio != nullptr) return Reason::kNoEvictionWithMpi;
  return Reason::kNone;
}

void set_page_buffer(const Hdf5Api& api, Hid fapl, std::uint64_t bytes) noexcept {
  api.H5Pset_page_buffer_size(fapl, bytes, 0, 0);
}

bool get_page_buffer(const Hdf5Api& api, Hid fapl, std::uint64_t& bytes) noexcept {
  std::size_t found = 0;
  unsigned metadata = 0, raw = 0;
  if (api.H5Pget_page_buffer_size == nullptr ||
      api.H5Pget_page_buffer_size(fapl, &found, &metadata, &raw) < 0) {
    return false;
  }
  bytes = found;
  return true;
}

void set_metadata_cache(const Hdf5Api& api, Hid fapl, std::uint64_t bytes) noexcept {
  CacheConfig config{};
  config.version = kConfigVersion;
  if (api.H5Pget_mdc_config(fapl, &config) < 0 || !is_plausible(config)) return;
  config.sets_initial = 1;
  config.initial_bytes = bytes;
  if (config.most_bytes < bytes) config.most_bytes = bytes;
  if (config.least_bytes > bytes) config.least_bytes = bytes;
  api.H5Pset_mdc_config(fapl, &config);
}

bool get_metadata_cache(const Hdf5Api& api, Hid file, std::uint64_t& bytes) noexcept {
  std::size_t most = 0, clean = 0, held = 0;
  int entries = 0;
  if (api.H5Fget_mdc_size == nullptr ||
      api.H5Fget_mdc_size(file, &most, &clean, &held, &entries) < 0) {
    return false;
  }
  bytes = most;
  return true;
}

}  // namespace iotune::tuner
