/* HDF5 for programs that are compiled without it and find its calls in the
 * process, of whichever version from 1.10 on: its types and constants. */
#ifndef IOTUNE_SERIAL_HDF5_H
#define IOTUNE_SERIAL_HDF5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What came after 1.10 is not called. */
#define H5_VERSION_GE(major, minor, release) ((major) == 1 && (minor) <= 10)

typedef int64_t hid_t;
typedef int herr_t;
typedef int htri_t;
typedef bool hbool_t;
typedef unsigned long long hsize_t, haddr_t;
typedef long long hssize_t;

typedef enum {
  H5T_NO_CLASS = -1,
  H5T_INTEGER,
  H5T_FLOAT,
  H5T_STRING = 3,
  H5T_OPAQUE = 5,
  H5T_REFERENCE = 7,
  H5T_VLEN = 9
} H5T_class_t;
typedef enum { H5S_SCALAR } H5S_class_t;
typedef enum { H5S_SELECT_SET, H5S_SELECT_OR, H5S_SELECT_APPEND = 6 } H5S_seloper_t;
typedef enum { H5S_SEL_NONE, H5S_SEL_POINTS, H5S_SEL_HYPERSLABS } H5S_sel_type;
typedef enum { H5F_FSPACE_STRATEGY_PAGE = 1 } H5F_fspace_strategy_t;
typedef enum { H5F_LIBVER_V18 = 1, H5F_LIBVER_V110, H5F_LIBVER_V112, H5F_LIBVER_V114 } H5F_libver_t;
typedef enum { H5D_FILL_TIME_NEVER = 1, H5D_FILL_TIME_IFSET } H5D_fill_time_t;
typedef enum { H5E_WALK_UPWARD } H5E_direction_t;
enum { H5S_MAX_RANK = 32, H5AC__CURR_CACHE_CONFIG_VERSION = 1 };
enum { H5F_ACC_RDONLY, H5F_ACC_RDWR, H5F_ACC_TRUNC };

#define H5P_DEFAULT ((hid_t)0)
#define H5E_DEFAULT ((hid_t)0)
#define H5S_ALL ((hid_t)0)
#define H5I_INVALID_HID ((hid_t)-1)
#define H5S_UNLIMITED ((hsize_t)-1)
#define HADDR_UNDEF ((haddr_t)-1)

typedef struct H5E_error2_t {
  hid_t cls_id, maj_num, min_num;
  unsigned line;
  const char *func_name, *file_name, *desc;
} H5E_error2_t;
typedef herr_t (*H5E_walk2_t)(unsigned n, const H5E_error2_t* entry, void* data);
typedef herr_t (*H5E_auto2_t)(hid_t stack, void* data);

/* Up to its sizes; what stands behind them is the library's. */
typedef struct H5AC_cache_config_t {
  int version;
  hbool_t before[1028], evictions_enabled, set_initial_size;
  size_t initial_size;
  double min_clean_fraction;
  size_t max_size, min_size;
  char behind[1024];
} H5AC_cache_config_t;

#include "hdf5_calls.h"

/* The library gives these their values when it is initialised. */
#define SERIAL_ID(name) (H5open(), name##_g)
#define H5P_FILE_ACCESS SERIAL_ID(H5P_CLS_FILE_ACCESS_ID)
#define H5P_FILE_CREATE SERIAL_ID(H5P_CLS_FILE_CREATE_ID)
#define H5P_DATASET_CREATE SERIAL_ID(H5P_CLS_DATASET_CREATE_ID)
#define H5P_DATASET_XFER SERIAL_ID(H5P_CLS_DATASET_XFER_ID)
#define H5P_LINK_CREATE SERIAL_ID(H5P_CLS_LINK_CREATE_ID)
#define H5T_C_S1 SERIAL_ID(H5T_C_S1)
#define H5T_NATIVE_INT SERIAL_ID(H5T_NATIVE_INT)
#define H5T_NATIVE_INT8 SERIAL_ID(H5T_NATIVE_INT8)
#define H5T_NATIVE_INT16 SERIAL_ID(H5T_NATIVE_INT16)
#define H5T_NATIVE_INT32 SERIAL_ID(H5T_NATIVE_INT32)
#define H5T_NATIVE_INT64 SERIAL_ID(H5T_NATIVE_INT64)
#define H5T_NATIVE_UINT8 SERIAL_ID(H5T_NATIVE_UINT8)
#define H5T_NATIVE_UINT16 SERIAL_ID(H5T_NATIVE_UINT16)
#define H5T_NATIVE_UINT32 SERIAL_ID(H5T_NATIVE_UINT32)
#define H5T_NATIVE_UINT64 SERIAL_ID(H5T_NATIVE_UINT64)
#define H5T_NATIVE_FLOAT SERIAL_ID(H5T_NATIVE_FLOAT)
#define H5T_NATIVE_DOUBLE SERIAL_ID(H5T_NATIVE_DOUBLE)

/* From 2.0 on it has another name. */
herr_t H5Dread_chunk(hid_t, hid_t, const hsize_t*, uint32_t*, void*);
herr_t H5Dread_chunk1(hid_t, hid_t, const hsize_t*, uint32_t*, void*);

static inline bool serial_is_2(void) {
  unsigned major = 0, minor, release;
  H5get_libversion(&major, &minor, &release);
  return major >= 2;
}

#define H5Dread_chunk(...) \
  (serial_is_2() ? H5Dread_chunk1(__VA_ARGS__) : (H5Dread_chunk)(__VA_ARGS__))

#endif
