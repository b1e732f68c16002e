/* HDF5's calls and variables, in its own types: a test declares them beside
 * HDF5's headers of all versions. */
extern hid_t H5P_CLS_FILE_ACCESS_ID_g, H5P_CLS_FILE_CREATE_ID_g, H5P_CLS_DATASET_CREATE_ID_g;
extern hid_t H5P_CLS_DATASET_XFER_ID_g, H5P_CLS_LINK_CREATE_ID_g, H5T_C_S1_g;
extern hid_t H5T_NATIVE_INT_g, H5T_NATIVE_INT8_g, H5T_NATIVE_INT16_g, H5T_NATIVE_INT32_g;
extern hid_t H5T_NATIVE_INT64_g, H5T_NATIVE_UINT8_g, H5T_NATIVE_UINT16_g, H5T_NATIVE_UINT32_g;
extern hid_t H5T_NATIVE_UINT64_g, H5T_NATIVE_FLOAT_g, H5T_NATIVE_DOUBLE_g;

herr_t H5open(void);
herr_t H5get_libversion(unsigned*, unsigned*, unsigned*);
herr_t H5Eset_auto2(hid_t, H5E_auto2_t, void*);
herr_t H5Ewalk2(hid_t, H5E_direction_t, H5E_walk2_t, void*);

hid_t H5Fcreate(const char*, unsigned, hid_t, hid_t);
hid_t H5Fopen(const char*, unsigned, hid_t);
herr_t H5Fclose(hid_t);
hid_t H5Fget_access_plist(hid_t);

hid_t H5Pcreate(hid_t);
herr_t H5Pclose(hid_t);
herr_t H5Pset_alignment(hid_t, hsize_t, hsize_t);
herr_t H5Pset_chunk(hid_t, int, const hsize_t*);
herr_t H5Pset_create_intermediate_group(hid_t, unsigned);
herr_t H5Pset_deflate(hid_t, unsigned);
herr_t H5Pset_evict_on_close(hid_t, hbool_t);
herr_t H5Pset_file_space_page_size(hid_t, hsize_t);
herr_t H5Pset_file_space_strategy(hid_t, H5F_fspace_strategy_t, hbool_t, hsize_t);
herr_t H5Pset_fill_time(hid_t, H5D_fill_time_t);
herr_t H5Pget_libver_bounds(hid_t, H5F_libver_t*, H5F_libver_t*);
herr_t H5Pset_libver_bounds(hid_t, H5F_libver_t, H5F_libver_t);
herr_t H5Pget_mdc_config(hid_t, H5AC_cache_config_t*);
herr_t H5Pset_mdc_config(hid_t, H5AC_cache_config_t*);
herr_t H5Pset_meta_block_size(hid_t, hsize_t);
herr_t H5Pget_page_buffer_size(hid_t, size_t*, unsigned*, unsigned*);
herr_t H5Pset_page_buffer_size(hid_t, size_t, unsigned, unsigned);
herr_t H5Pset_sieve_buf_size(hid_t, size_t);

hid_t H5Acreate2(hid_t, const char*, hid_t, hid_t, hid_t, hid_t);
hid_t H5Aopen(hid_t, const char*, hid_t);
htri_t H5Aexists(hid_t, const char*);
herr_t H5Aread(hid_t, hid_t, void*);
herr_t H5Awrite(hid_t, hid_t, const void*);
herr_t H5Aclose(hid_t);

hid_t H5Dcreate2(hid_t, const char*, hid_t, hid_t, hid_t, hid_t, hid_t);
hid_t H5Dopen2(hid_t, const char*, hid_t);
herr_t H5Dclose(hid_t);
hid_t H5Dget_space(hid_t);
hid_t H5Dget_type(hid_t);
haddr_t H5Dget_offset(hid_t);
herr_t H5Dset_extent(hid_t, const hsize_t[]);
herr_t H5Dread(hid_t, hid_t, hid_t, hid_t, hid_t, void*);
herr_t H5Dwrite(hid_t, hid_t, hid_t, hid_t, hid_t, const void*);
herr_t H5Dwrite_chunk(hid_t, hid_t, uint32_t, const hsize_t*, size_t, const void*);

hid_t H5Screate(H5S_class_t);
hid_t H5Screate_simple(int, const hsize_t[], const hsize_t[]);
hid_t H5Scopy(hid_t);
herr_t H5Sclose(hid_t);
int H5Sget_simple_extent_ndims(hid_t);
int H5Sget_simple_extent_dims(hid_t, hsize_t[], hsize_t[]);
herr_t H5Sselect_all(hid_t);
herr_t H5Sselect_none(hid_t);
herr_t H5Sselect_elements(hid_t, H5S_seloper_t, size_t, const hsize_t*);
herr_t H5Sselect_hyperslab(hid_t, H5S_seloper_t, const hsize_t*, const hsize_t*, const hsize_t*,
                           const hsize_t*);
H5S_sel_type H5Sget_select_type(hid_t);
hssize_t H5Sget_select_npoints(hid_t);
hssize_t H5Sget_select_hyper_nblocks(hid_t);
herr_t H5Sget_select_hyper_blocklist(hid_t, hsize_t, hsize_t, hsize_t*);
herr_t H5Sget_select_elem_pointlist(hid_t, hsize_t, hsize_t, hsize_t*);

hid_t H5Tcopy(hid_t);
hid_t H5Tcreate(H5T_class_t, size_t);
herr_t H5Tclose(hid_t);
htri_t H5Tdetect_class(hid_t, H5T_class_t);
size_t H5Tget_size(hid_t);
htri_t H5Tis_variable_str(hid_t);
herr_t H5Tset_size(hid_t, size_t);
