#include "recorder/preload/hooks_hdf5.h"

namespace iotune::recorder {
namespace {

template <std::size_t N>
void tell(Provider& provider, CallNumber call, const std::int64_t (&words)[N]) noexcept {
  const OwnCode own;
  if (words[N - 1] >= 0) g_advice.hdf5_property(provider, call, words, static_cast<int>(N));
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
  if (result >= 0) g_advice.hdf5_fapl_mpio(provider, fapl, comm, info);
}
void after_H5Pset_libver_bounds(Provider& provider, int result, Hid fapl, int low,
                                int high) noexcept {
  tell(provider, CallNumber::kH5Pset_libver_bounds, {fapl, low, high, result});
}
void after_H5Pset_alignment(Provider& provider, int result, Hid fapl, std::uint64_t threshold,
                            std::uint64_t alignment) noexcept {
  tell(provider, CallNumber::kH5Pset_alignment,
       {fapl, static_cast<std::int64_t>(threshold), static_cast<std::int64_t>(alignment), result});
}
void after_H5Pset_meta_block_size(Provider& provider, int result, Hid fapl,
                                  std::uint64_t bytes) noexcept {
  tell(provider, CallNumber::kH5Pset_meta_block_size,
       {fapl, static_cast<std::int64_t>(bytes), result});
}
void after_H5Pset_sieve_buf_size(Provider& provider, int result, Hid fapl,
                                 std::size_t bytes) noexcept {
  tell(provider, CallNumber::kH5Pset_sieve_buf_size,
       {fapl, static_cast<std::int64_t>(bytes), result});
}
void after_H5Pset_cache(Provider& provider, int result, Hid fapl, int, std::size_t slots,
                        std::size_t bytes, double) noexcept {
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
void after_H5Pset_chunk_cache(Provider& provider, int result, Hid dapl, std::size_t slots,
                              std::size_t bytes, double) noexcept {
  tell(provider, CallNumber::kH5Pset_chunk_cache,
       {dapl, static_cast<std::int64_t>(slots), static_cast<std::int64_t>(bytes), result});
}
void after_H5Pset_coll_metadata_write(Provider& provider, int result, Hid fapl,
                                      bool collective) noexcept {
  tell(provider, CallNumber::kH5Pset_coll_metadata_write, {fapl, collective ? 1 : 0, result});
}

}  // namespace iotune::recorder
