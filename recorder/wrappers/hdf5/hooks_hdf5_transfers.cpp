#include "recorder/hooks/decisions.h"
#include "recorder/wrappers/hdf5/dataset_description.h"
#include "recorder/wrappers/hdf5/hooks_hdf5.h"
#include "recorder/wrappers/hdf5/selection_capture.h"

namespace iotune::recorder {
namespace {

constexpr std::int64_t kCollective = 1;  // H5FD_MPIO_COLLECTIVE

std::int64_t transfer_mode(const Hdf5Api& api, Hid dxpl) noexcept {
  if (dxpl == 0) return 0;  // H5P_DEFAULT is independent
  if (api.H5Pget_dxpl_mpio == nullptr) return 0;
  int mode = 0;
  return api.H5Pget_dxpl_mpio(dxpl, &mode) < 0 ? -1 : mode;
}

// What HDF5 made of a collective transfer; it leaves that in the program's own list, so that
// asking is local.
void append_actual_mode(const Hdf5Api& api, RecordWriter& record, Hid dxpl) noexcept {
  if (api.H5Pget_mpio_actual_io_mode == nullptr || api.H5Pget_mpio_no_collective_cause == nullptr) {
    return;
  }
  int mode = -1;
  unsigned local = 0, global = 0;
  if (api.H5Pget_mpio_actual_io_mode(dxpl, &mode) < 0 ||
      api.H5Pget_mpio_no_collective_cause(dxpl, &local, &global) < 0) {
    return;
  }
  record.numbers({mode, local, global});
}

// Not where the file is sampled out, nor after a privilege drop.
bool records_hdf5() noexcept {
  return g_recording != kSealed && t_thread.unrecorded == ThreadState::Unrecorded::kNothing;
}

[[gnu::hot]] void before(Provider& provider, HookState& hook, Hid dataset, Hid dxpl) noexcept {
  const OwnCode own;
  if (records_hdf5()) hook.object = object_of(provider, dataset);
  if (provider.asynchronous.load(std::memory_order_relaxed)) return;
  g_decisions.hdf5.before_transfer(provider, dataset, dxpl, hook.open);
}

[[gnu::hot]] void after(Provider& provider, HookState& hook, Hid dataset, int result) noexcept {
  if (provider.asynchronous.load(std::memory_order_relaxed) && hook.open.words[0] == 0) return;
  g_decisions.hdf5.after_transfer(provider, dataset, result, hook.open);
}

[[gnu::hot]] void extras(Provider& provider, HookState& hook, RecordWriter& record, int result,
                         Hid dataset, Hid mem_type, Hid mem_space, Hid file_space,
                         Hid dxpl) noexcept {
  const OwnCode own;
  after(provider, hook, dataset, result);
  if (!record.wanted()) return;
  const Hdf5Api* const api = hdf5_api(provider);
  record.number(hook.object);
  if (api == nullptr || result < 0) {
    record.numbers({-1, 0});
    append_unknown_selections(record);
    return;
  }
  const std::int64_t mode = transfer_mode(*api, dxpl);
  record.numbers({mode, static_cast<std::int64_t>(api->H5Tget_size(mem_type))});
  append_selections(*api, provider, record, hook.pending ? -1 : dataset, mem_space, file_space,
                    kMostSelectionWords);
  if (mode == kCollective && !hook.pending) append_actual_mode(*api, record, dxpl);
}

void before_many(Provider& provider, HookState& hook, std::size_t count, const Hid* datasets,
                 Hid dxpl) noexcept {
  if (count == 0 || datasets == nullptr) return;
  const OwnCode own;
  for (std::size_t i = 0; records_hdf5() && i < count; ++i) object_of(provider, datasets[i]);
  before(provider, hook, datasets[0], dxpl);
}

// One record for the call, because it is one transfer with one time: the datasets' extras one
// after the other, and what HDF5 made of it at the end.
void extras_of_many(Provider& provider, HookState& hook, RecordWriter& record, int result,
                    std::size_t count, const Hid* datasets, const Hid* mem_types,
                    const Hid* mem_spaces, const Hid* file_spaces, Hid dxpl) noexcept {
  if (count == 0 || datasets == nullptr) return;
  const OwnCode own;
  after(provider, hook, datasets[0], result);
  if (!record.wanted()) return;
  const Hdf5Api* const api = hdf5_api(provider);
  if (api == nullptr || result < 0) return;
  const std::int64_t mode = transfer_mode(*api, dxpl);
  const std::size_t most_words = kMostSelectionWords / count;
  for (std::size_t i = 0; i < count; ++i) {
    record.numbers({object_of(provider, datasets[i]), mode,
                    static_cast<std::int64_t>(api->H5Tget_size(mem_types[i]))});
    append_selections(*api, provider, record, hook.pending ? -1 : datasets[i], mem_spaces[i],
                      file_spaces[i], most_words);
  }
  if (mode == kCollective && !hook.pending) append_actual_mode(*api, record, dxpl);
}

// A chunk as it lies in the file: its place is known, its bytes are what the filters made.
void extras_of_chunk(Provider& provider, HookState& hook, RecordWriter& record, int result,
                     Hid dataset, Hid dxpl, const std::uint64_t* offset) noexcept {
  const OwnCode own;
  after(provider, hook, dataset, result);
  if (!record.wanted()) return;
  const Hdf5Api* const api = hdf5_api(provider);
  record.number(hook.object);
  if (api == nullptr || result < 0 || hook.object == 0) {
    record.numbers({-1, 0});
    append_unknown_selections(record);
    return;
  }
  const ChunkShape& shape = chunk_shape(*api, dataset, hook.object);
  record.numbers({transfer_mode(*api, dxpl), static_cast<std::int64_t>(shape.element_bytes)});
  append_chunk(*api, record, dataset, shape, offset);
}

}  // namespace

[[gnu::hot]] void before_H5Dread(Provider& provider, HookState& hook, Hid& dataset, Hid&, Hid&,
                                 Hid&, Hid& dxpl, void*&) noexcept {
  before(provider, hook, dataset, dxpl);
}
[[gnu::hot]] void before_H5Dwrite(Provider& provider, HookState& hook, Hid& dataset, Hid&, Hid&,
                                  Hid&, Hid& dxpl, void*&) noexcept {
  before(provider, hook, dataset, dxpl);
}
[[gnu::hot]] void extras_H5Dread(Provider& provider, HookState& hook, RecordWriter& record,
                                 int result, Hid dataset, Hid mem_type, Hid mem_space,
                                 Hid file_space, Hid dxpl, void*) noexcept {
  extras(provider, hook, record, result, dataset, mem_type, mem_space, file_space, dxpl);
}
[[gnu::hot]] void extras_H5Dwrite(Provider& provider, HookState& hook, RecordWriter& record,
                                  int result, Hid dataset, Hid mem_type, Hid mem_space,
                                  Hid file_space, Hid dxpl, void*) noexcept {
  extras(provider, hook, record, result, dataset, mem_type, mem_space, file_space, dxpl);
}

void before_H5Dread_multi(Provider& provider, HookState& hook, std::size_t& count,
                          const Hid*& datasets, const Hid*&, const Hid*&, const Hid*&, Hid& dxpl,
                          void*&) noexcept {
  before_many(provider, hook, count, datasets, dxpl);
}
void before_H5Dwrite_multi(Provider& provider, HookState& hook, std::size_t& count,
                           const Hid*& datasets, const Hid*&, const Hid*&, const Hid*&, Hid& dxpl,
                           void*&) noexcept {
  before_many(provider, hook, count, datasets, dxpl);
}
void extras_H5Dread_multi(Provider& provider, HookState& hook, RecordWriter& record, int result,
                          std::size_t count, const Hid* datasets, const Hid* mem_types,
                          const Hid* mem_spaces, const Hid* file_spaces, Hid dxpl, void*) noexcept {
  extras_of_many(provider, hook, record, result, count, datasets, mem_types, mem_spaces,
                 file_spaces, dxpl);
}
void extras_H5Dwrite_multi(Provider& provider, HookState& hook, RecordWriter& record, int result,
                           std::size_t count, const Hid* datasets, const Hid* mem_types,
                           const Hid* mem_spaces, const Hid* file_spaces, Hid dxpl,
                           void*) noexcept {
  extras_of_many(provider, hook, record, result, count, datasets, mem_types, mem_spaces,
                 file_spaces, dxpl);
}

void before_H5Dread_chunk(Provider& provider, HookState& hook, Hid& dataset, Hid& dxpl,
                          const std::uint64_t*&, unsigned*&, void*&) noexcept {
  before(provider, hook, dataset, dxpl);
}
void extras_H5Dread_chunk(Provider& provider, HookState& hook, RecordWriter& record, int result,
                          Hid dataset, Hid dxpl, const std::uint64_t* offset, unsigned*,
                          void*) noexcept {
  extras_of_chunk(provider, hook, record, result, dataset, dxpl, offset);
}
void before_H5Dread_chunk1(Provider& provider, HookState& hook, Hid& dataset, Hid& dxpl,
                           const std::uint64_t*&, unsigned*&, void*&) noexcept {
  before(provider, hook, dataset, dxpl);
}
void extras_H5Dread_chunk1(Provider& provider, HookState& hook, RecordWriter& record, int result,
                           Hid dataset, Hid dxpl, const std::uint64_t* offset, unsigned*,
                           void*) noexcept {
  extras_of_chunk(provider, hook, record, result, dataset, dxpl, offset);
}
void before_H5Dread_chunk2(Provider& provider, HookState& hook, Hid& dataset, Hid& dxpl,
                           const std::uint64_t*&, unsigned*&, void*&, std::size_t*&) noexcept {
  before(provider, hook, dataset, dxpl);
}
void extras_H5Dread_chunk2(Provider& provider, HookState& hook, RecordWriter& record, int result,
                           Hid dataset, Hid dxpl, const std::uint64_t* offset, unsigned*, void*,
                           std::size_t*) noexcept {
  extras_of_chunk(provider, hook, record, result, dataset, dxpl, offset);
}
void before_H5Dwrite_chunk(Provider& provider, HookState& hook, Hid& dataset, Hid& dxpl, unsigned&,
                           const std::uint64_t*&, std::size_t&, void*&) noexcept {
  before(provider, hook, dataset, dxpl);
}
void extras_H5Dwrite_chunk(Provider& provider, HookState& hook, RecordWriter& record, int result,
                           Hid dataset, Hid dxpl, unsigned, const std::uint64_t* offset,
                           std::size_t, void*) noexcept {
  extras_of_chunk(provider, hook, record, result, dataset, dxpl, offset);
}

}  // namespace iotune::recorder
