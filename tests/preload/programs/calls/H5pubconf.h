/* The configuration of an HDF5 of which only the headers are here: all drivers are
 * declared, so that calls.table can be checked against each of them. */
#define H5_HAVE_DIRECT 1
#define H5_HAVE_LIBHDFS 1
#define H5_HAVE_MIRROR_VFD 1
#define H5_HAVE_ROS3_VFD 1
#define H5_HAVE_SYS_TIME_H 1
#define H5_HAVE_SYS_TYPES_H 1
#define H5_SIZEOF_SSIZE_T 8
/* Wheels carry serial libraries. */
#ifndef IOTUNE_SERIAL_HDF5
#define H5_HAVE_PARALLEL 1
#define H5_HAVE_SUBFILING_VFD 1
#endif
