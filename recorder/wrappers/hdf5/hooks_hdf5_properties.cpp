#include <bit>

#include "recorder/hooks/decisions.h"
#include "recorder/wrappers/hdf5/hooks_hdf5.h"

namespace iotune::recorder {
namespace {

template <std::size_t N>
void tell(Provider& provider, CallNumber call, const std::int64_t (&words)[N]) noexcept {
  const OwnCode own;
  if (words[N - 1] >= 0) g_decisions.hdf5.property(provider, call, words, static_cast<int>(N));
}

// What a list holds for one property, as words of a HookState.
constexpr int kValueWords = 4;
using Value = std::uint64_t[kValueWords];
using ReadValue = bool (*)(const Hdf5Api& api, Hid list, Value& to);

constexpr int kValueKnown = kValueWords;  // index of the word behind the value

void keep_value(Provider& provider, HookState& hook, Hid list, ReadValue read) noexcept {
  hook.open = {};
  const Hdf5Api* const api = hdf5_api(provider);
  if (api == nullptr) return;
  const OwnCode own;
  const QuietProbes quiet(*api);
  Value value = {};
  if (!read(*api, list, value)) return;
  for (int i = 0; i < kValueWords; ++i) hook.open.words[i] = value[i];
  hook.open.words[kValueKnown] = 1;
}

// Whether the call left the list as it was. Libraries set properties to the values that they have
// just read (h5py does so for every file): that is not the program's choice.
bool changed_nothing(Provider& provider, const HookState& hook, Hid list, ReadValue read) noexcept {
  const Hdf5Api* const api = hdf5_api(provider);
  if (api == nullptr || hook.open.words[kValueKnown] == 0) return false;
  const OwnCode own;
  const QuietProbes quiet(*api);
  Value value = {};
  if (!read(*api, list, value)) return false;
  for (int i = 0; i < kValueWords; ++i) {
    if (hook.open.words[i] != value[i]) return false;
  }
  return true;
}

bool read_alignment(const Hdf5Api& api, Hid list, Value& to) {
  return api.H5Pget_alignment(list, &to[0], &to[1]) >= 0;
}
bool read_meta_block_size(const Hdf5Api& api, Hid list, Value& to) {
  return api.H5Pget_meta_block_size(list, &to[0]) >= 0;
}
bool read_sieve_buf_size(const Hdf5Api& api, Hid list, Value& to) {
  std::size_t bytes = 0;
  if (api.H5Pget_sieve_buf_size(list, &bytes) < 0) return false;
  to[0] = bytes;
  return true;
}
bool read_cache(const Hdf5Api& api, Hid list, Value& to) {
  int elements = 0;
  std::size_t slots = 0, bytes = 0;
  double w0 = 0;
  if (api.H5Pget_cache(list, &elements, &slots, &bytes, &w0) < 0) return false;
  to[0] = slots, to[1] = bytes, to[2] = std::bit_cast<std::uint64_t>(w0);
  return true;
}
bool read_chunk_cache(const Hdf5Api& api, Hid list, Value& to) {
  std::size_t slots = 0, bytes = 0;
  double w0 = 0;
  if (api.H5Pget_chunk_cache(list, &slots, &bytes, &w0) < 0) return false;
  to[0] = slots, to[1] = bytes, to[2] = std::bit_cast<std::uint64_t>(w0);
  return true;
}

}  // namespace

void extras_H5Pcreate(Provider& provider, RecordWriter& record, Hid plist,
                      Hid list_class) noexcept {
  const Hdf5Api* const api = plist < 0 ? nullptr : hdf5_api(provider);
  static constexpr std::size_t kNameBytes = 64;
  // The text must live until the record is committed.
  static __thread char name[kNameBytes];
  name[0] = '\0';
  if (api != nullptr) {
    const OwnCode own;
    if (char* const given = api->H5Pget_class_name(list_class)) {
      std::strncpy(name, given, kNameBytes - 1);
      api->H5free_memory(given);
    }
  }
  record.text(name);
}

void after_H5Pcreate(Provider& provider, Hid plist, Hid list_class) noexcept {
  tell(provider, CallNumber::kH5Pcreate, {list_class, plist});
}
void after_H5Pcopy(Provider& provider, Hid copy, Hid plist) noexcept {
  tell(provider, CallNumber::kH5Pcopy, {plist, copy});
}
void after_H5Pclose(Provider& provider, int result, Hid plist) noexcept {
  tell(provider, CallNumber::kH5Pclose, {plist, result});
}
void after_H5Pset_fapl_mpio(Provider& provider, int result, Hid fapl, Word comm,
                            Word info) noexcept {
  const OwnCode own;
  if (result >= 0) g_decisions.hdf5.fapl_mpio(provider, fapl, comm, info);
}
void after_H5Pset_mdc_config(Provider& provider, int result, Hid fapl, const void*) noexcept {
  tell(provider, CallNumber::kH5Pset_mdc_config, {fapl, result});
}
void after_H5Pset_page_buffer_size(Provider& provider, int result, Hid fapl, std::size_t bytes,
                                   unsigned, unsigned) noexcept {
  tell(provider, CallNumber::kH5Pset_page_buffer_size,
       {fapl, static_cast<std::int64_t>(bytes), result});
}
void after_H5Pset_evict_on_close(Provider& provider, int result, Hid fapl, bool evict) noexcept {
  tell(provider, CallNumber::kH5Pset_evict_on_close, {fapl, evict ? 1 : 0, result});
}
void after_H5Pset_libver_bounds(Provider& provider, int result, Hid fapl, int low,
                                int high) noexcept {
  tell(provider, CallNumber::kH5Pset_libver_bounds, {fapl, low, high, result});
}
void before_H5Pset_alignment(Provider& provider, HookState& hook, Hid& fapl, std::uint64_t&,
                             std::uint64_t&) noexcept {
  keep_value(provider, hook, fapl, read_alignment);
}
void after_H5Pset_alignment(Provider& provider, HookState& hook, int result, Hid fapl,
                            std::uint64_t threshold, std::uint64_t alignment) noexcept {
  if (result >= 0 && changed_nothing(provider, hook, fapl, read_alignment)) return;
  tell(provider, CallNumber::kH5Pset_alignment,
       {fapl, static_cast<std::int64_t>(threshold), static_cast<std::int64_t>(alignment), result});
}
void before_H5Pset_meta_block_size(Provider& provider, HookState& hook, Hid& fapl,
                                   std::uint64_t&) noexcept {
  keep_value(provider, hook, fapl, read_meta_block_size);
}
void after_H5Pset_meta_block_size(Provider& provider, HookState& hook, int result, Hid fapl,
                                  std::uint64_t bytes) noexcept {
  if (result >= 0 && changed_nothing(provider, hook, fapl, read_meta_block_size)) return;
  tell(provider, CallNumber::kH5Pset_meta_block_size,
       {fapl, static_cast<std::int64_t>(bytes), result});
}
void before_H5Pset_sieve_buf_size(Provider& provider, HookState& hook, Hid& fapl,
                                  std::size_t&) noexcept {
  keep_value(provider, hook, fapl, read_sieve_buf_size);
}
void after_H5Pset_sieve_buf_size(Provider& provider, HookState& hook, int result, Hid fapl,
                                 std::size_t bytes) noexcept {
  if (result >= 0 && changed_nothing(provider, hook, fapl, read_sieve_buf_size)) return;
  tell(provider, CallNumber::kH5Pset_sieve_buf_size,
       {fapl, static_cast<std::int64_t>(bytes), result});
}
void before_H5Pset_cache(Provider& provider, HookState& hook, Hid& fapl, int&, std::size_t&,
                         std::size_t&, double&) noexcept {
  keep_value(provider, hook, fapl, read_cache);
}
void after_H5Pset_cache(Provider& provider, HookState& hook, int result, Hid fapl, int,
                        std::size_t slots, std::size_t bytes, double) noexcept {
  if (result >= 0 && changed_nothing(provider, hook, fapl, read_cache)) return;
  tell(provider, CallNumber::kH5Pset_cache,
       {fapl, static_cast<std::int64_t>(slots), static_cast<std::int64_t>(bytes), result});
}
void after_H5Pset_layout(Provider& provider, int result, Hid dcpl, int layout) noexcept {
  tell(provider, CallNumber::kH5Pset_layout, {dcpl, layout, result});
}
void after_H5Pset_chunk(Provider& provider, int result, Hid dcpl, int rank,
                        const std::uint64_t*) noexcept {
  tell(provider, CallNumber::kH5Pset_chunk, {dcpl, rank, result});
}
void after_H5Pset_dxpl_mpio_collective_opt(Provider& provider, int result, Hid dxpl,
                                           int option) noexcept {
  tell(provider, CallNumber::kH5Pset_dxpl_mpio_collective_opt, {dxpl, option, result});
}
void before_H5Pset_chunk_cache(Provider& provider, HookState& hook, Hid& dapl, std::size_t&,
                               std::size_t&, double&) noexcept {
  keep_value(provider, hook, dapl, read_chunk_cache);
}
void after_H5Pset_chunk_cache(Provider& provider, HookState& hook, int result, Hid dapl,
                              std::size_t slots, std::size_t bytes, double) noexcept {
  if (result >= 0 && changed_nothing(provider, hook, dapl, read_chunk_cache)) return;
  tell(provider, CallNumber::kH5Pset_chunk_cache,
       {dapl, static_cast<std::int64_t>(slots), static_cast<std::int64_t>(bytes), result});
}
void after_H5Pset_coll_metadata_write(Provider& provider, int result, Hid fapl,
                                      bool collective) noexcept {
  tell(provider, CallNumber::kH5Pset_coll_metadata_write, {fapl, collective ? 1 : 0, result});
}

}  // namespace iotune::recorder
