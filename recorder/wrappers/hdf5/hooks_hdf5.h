// What the HDF5 wrappers do beside calling and recording. Attributes of calls.table name them.
#pragma once

#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

// --- files (hooks_hdf5_files.cpp)
void before_H5Fcreate(Provider&, HookState&, const char*& name, unsigned& flags, Hid& fcpl,
                      Hid& fapl) noexcept;
bool again_H5Fcreate(Provider&, HookState&, Hid file, const char*& name, unsigned& flags, Hid& fcpl,
                     Hid& fapl) noexcept;
void after_H5Fcreate(Provider&, HookState&, Hid file, const char* name, unsigned flags, Hid fcpl,
                     Hid fapl) noexcept;
void before_H5Fopen(Provider&, HookState&, const char*& name, unsigned& flags, Hid& fapl) noexcept;
bool again_H5Fopen(Provider&, HookState&, Hid file, const char*& name, unsigned& flags,
                   Hid& fapl) noexcept;
void after_H5Fopen(Provider&, HookState&, Hid file, const char* name, unsigned flags,
                   Hid fapl) noexcept;
void before_H5Fclose(Provider&, HookState&, Hid& file) noexcept;
void after_H5Fclose(Provider&, HookState&, int result, Hid file) noexcept;
void after_H5Fget_access_plist(Provider&, Hid fapl, Hid file) noexcept;

// --- datasets (hooks_hdf5_datasets.cpp)
void before_H5Dcreate1(Provider&, HookState&, Hid& loc, const char*& name, Hid& type, Hid& space,
                       Hid& dcpl) noexcept;
bool again_H5Dcreate1(Provider&, HookState&, Hid dataset, Hid& loc, const char*& name, Hid& type,
                      Hid& space, Hid& dcpl) noexcept;
void after_H5Dcreate1(Provider&, HookState&, Hid dataset, Hid loc, const char* name, Hid type,
                      Hid space, Hid dcpl) noexcept;
void before_H5Dcreate2(Provider&, HookState&, Hid& loc, const char*& name, Hid& type, Hid& space,
                       Hid& lcpl, Hid& dcpl, Hid& dapl) noexcept;
bool again_H5Dcreate2(Provider&, HookState&, Hid dataset, Hid& loc, const char*& name, Hid& type,
                      Hid& space, Hid& lcpl, Hid& dcpl, Hid& dapl) noexcept;
void after_H5Dcreate2(Provider&, HookState&, Hid dataset, Hid loc, const char* name, Hid type,
                      Hid space, Hid lcpl, Hid dcpl, Hid dapl) noexcept;
void before_H5Dcreate_anon(Provider&, HookState&, Hid& loc, Hid& type, Hid& space, Hid& dcpl,
                           Hid& dapl) noexcept;
bool again_H5Dcreate_anon(Provider&, HookState&, Hid dataset, Hid& loc, Hid& type, Hid& space,
                          Hid& dcpl, Hid& dapl) noexcept;
void after_H5Dcreate_anon(Provider&, HookState&, Hid dataset, Hid loc, Hid type, Hid space,
                          Hid dcpl, Hid dapl) noexcept;
void before_H5Dopen1(Provider&, HookState&, Hid& loc, const char*& name) noexcept;
void after_H5Dopen1(Provider&, HookState&, Hid dataset, Hid loc, const char* name) noexcept;
void before_H5Dopen2(Provider&, HookState&, Hid& loc, const char*& name, Hid& dapl) noexcept;
bool again_H5Dopen2(Provider&, HookState&, Hid dataset, Hid& loc, const char*& name,
                    Hid& dapl) noexcept;
void after_H5Dopen2(Provider&, HookState&, Hid dataset, Hid loc, const char* name,
                    Hid dapl) noexcept;
void after_H5Dclose(Provider&, int result, Hid dataset) noexcept;

// --- any objects (hooks_hdf5_objects.cpp)
// Whether what an asynchronous call was about must not be asked now.
bool is_pending(Provider&, Hid events) noexcept;
// Whether objects of this HDF5 may be those of another connector than its own.
bool has_other_connector(const Provider& provider) noexcept;
void after_H5Pset_vol(Provider&, int result, Hid fapl, Hid connector, void* info) noexcept;
void after_H5Oopen(Provider&, Hid object, Hid loc, const char* name, Hid lapl) noexcept;
void after_H5Oopen_by_addr(Provider&, Hid object, Hid loc, std::uint64_t address) noexcept;
void after_H5Oopen_by_idx(Provider&, Hid object, Hid loc, const char* group, int index, int order,
                          std::uint64_t n, Hid lapl) noexcept;
void after_H5Olink(Provider&, int result, Hid object, Hid loc, const char* name, Hid lcpl,
                   Hid lapl) noexcept;
void after_H5Oclose(Provider&, int result, Hid object) noexcept;

// --- transfers (hooks_hdf5_transfers.cpp)
void before_H5Dread(Provider&, HookState&, Hid& dataset, Hid& mem_type, Hid& mem_space,
                    Hid& file_space, Hid& dxpl, void*& buffer) noexcept;
void extras_H5Dread(Provider&, HookState&, RecordWriter&, int result, Hid dataset, Hid mem_type,
                    Hid mem_space, Hid file_space, Hid dxpl, void* buffer) noexcept;
void before_H5Dwrite(Provider&, HookState&, Hid& dataset, Hid& mem_type, Hid& mem_space,
                     Hid& file_space, Hid& dxpl, void*& buffer) noexcept;
void extras_H5Dwrite(Provider&, HookState&, RecordWriter&, int result, Hid dataset, Hid mem_type,
                     Hid mem_space, Hid file_space, Hid dxpl, void* buffer) noexcept;
void before_H5Dread_multi(Provider&, HookState&, std::size_t& count, const Hid*& datasets,
                          const Hid*& mem_types, const Hid*& mem_spaces, const Hid*& file_spaces,
                          Hid& dxpl, void*& buffers) noexcept;
void extras_H5Dread_multi(Provider&, HookState&, RecordWriter&, int result, std::size_t count,
                          const Hid* datasets, const Hid* mem_types, const Hid* mem_spaces,
                          const Hid* file_spaces, Hid dxpl, void* buffers) noexcept;
void before_H5Dwrite_multi(Provider&, HookState&, std::size_t& count, const Hid*& datasets,
                           const Hid*& mem_types, const Hid*& mem_spaces, const Hid*& file_spaces,
                           Hid& dxpl, void*& buffers) noexcept;
void extras_H5Dwrite_multi(Provider&, HookState&, RecordWriter&, int result, std::size_t count,
                           const Hid* datasets, const Hid* mem_types, const Hid* mem_spaces,
                           const Hid* file_spaces, Hid dxpl, void* buffers) noexcept;
void before_H5Dread_chunk(Provider&, HookState&, Hid& dataset, Hid& dxpl,
                          const std::uint64_t*& offset, unsigned*& filters, void*& buffer) noexcept;
void extras_H5Dread_chunk(Provider&, HookState&, RecordWriter&, int result, Hid dataset, Hid dxpl,
                          const std::uint64_t* offset, unsigned* filters, void* buffer) noexcept;
void before_H5Dread_chunk1(Provider&, HookState&, Hid& dataset, Hid& dxpl,
                           const std::uint64_t*& offset, unsigned*& filters,
                           void*& buffer) noexcept;
void extras_H5Dread_chunk1(Provider&, HookState&, RecordWriter&, int result, Hid dataset, Hid dxpl,
                           const std::uint64_t* offset, unsigned* filters, void* buffer) noexcept;
void before_H5Dread_chunk2(Provider&, HookState&, Hid& dataset, Hid& dxpl,
                           const std::uint64_t*& offset, unsigned*& filters, void*& buffer,
                           std::size_t*& bytes) noexcept;
void extras_H5Dread_chunk2(Provider&, HookState&, RecordWriter&, int result, Hid dataset, Hid dxpl,
                           const std::uint64_t* offset, unsigned* filters, void* buffer,
                           std::size_t* bytes) noexcept;
void before_H5Dwrite_chunk(Provider&, HookState&, Hid& dataset, Hid& dxpl, unsigned& filters,
                           const std::uint64_t*& offset, std::size_t& bytes,
                           void*& buffer) noexcept;
void extras_H5Dwrite_chunk(Provider&, HookState&, RecordWriter&, int result, Hid dataset, Hid dxpl,
                           unsigned filters, const std::uint64_t* offset, std::size_t bytes,
                           void* buffer) noexcept;

// --- property lists (hooks_hdf5_properties.cpp)
void extras_H5Pcreate(Provider&, RecordWriter&, Hid plist, Hid list_class) noexcept;
void after_H5Pcreate(Provider&, Hid plist, Hid list_class) noexcept;
void after_H5Pcopy(Provider&, Hid copy, Hid plist) noexcept;
void after_H5Pclose(Provider&, int result, Hid plist) noexcept;
void after_H5Pset_fapl_mpio(Provider&, int result, Hid fapl, Word comm, Word info) noexcept;
void after_H5Pset_mdc_config(Provider&, int result, Hid fapl, const void* config) noexcept;
void after_H5Pset_page_buffer_size(Provider&, int result, Hid fapl, std::size_t bytes,
                                   unsigned least_metadata, unsigned least_raw) noexcept;
void after_H5Pset_evict_on_close(Provider&, int result, Hid fapl, bool evict) noexcept;
void after_H5Pset_libver_bounds(Provider&, int result, Hid fapl, int low, int high) noexcept;
void before_H5Pset_alignment(Provider&, HookState&, Hid& fapl, std::uint64_t& threshold,
                             std::uint64_t& alignment) noexcept;
void after_H5Pset_alignment(Provider&, HookState&, int result, Hid fapl, std::uint64_t threshold,
                            std::uint64_t alignment) noexcept;
void before_H5Pset_meta_block_size(Provider&, HookState&, Hid& fapl, std::uint64_t& bytes) noexcept;
void after_H5Pset_meta_block_size(Provider&, HookState&, int result, Hid fapl,
                                  std::uint64_t bytes) noexcept;
void before_H5Pset_sieve_buf_size(Provider&, HookState&, Hid& fapl, std::size_t& bytes) noexcept;
void after_H5Pset_sieve_buf_size(Provider&, HookState&, int result, Hid fapl,
                                 std::size_t bytes) noexcept;
void before_H5Pset_cache(Provider&, HookState&, Hid& fapl, int& metadata_elements,
                         std::size_t& slots, std::size_t& bytes, double& w0) noexcept;
void after_H5Pset_cache(Provider&, HookState&, int result, Hid fapl, int metadata_elements,
                        std::size_t slots, std::size_t bytes, double w0) noexcept;
void after_H5Pset_layout(Provider&, int result, Hid dcpl, int layout) noexcept;
void after_H5Pset_chunk(Provider&, int result, Hid dcpl, int rank,
                        const std::uint64_t* chunk) noexcept;
void after_H5Pset_dxpl_mpio_collective_opt(Provider&, int result, Hid dxpl, int option) noexcept;
void before_H5Pset_chunk_cache(Provider&, HookState&, Hid& dapl, std::size_t& slots,
                               std::size_t& bytes, double& w0) noexcept;
void after_H5Pset_chunk_cache(Provider&, HookState&, int result, Hid dapl, std::size_t slots,
                              std::size_t bytes, double w0) noexcept;
void after_H5Pset_coll_metadata_write(Provider&, int result, Hid fapl, bool collective) noexcept;

}  // namespace iotune::recorder
