# Target iotune_parallel_hdf5 where an MPI and a parallel HDF5 are found.
# pkg-config and not h5pcc: Debian's h5pcc links libhdf5 statically, and a static
# libhdf5 cannot be intercepted.
set(IOTUNE_HAVE_PARALLEL_HDF5 FALSE)
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(IOTUNE_MPI QUIET IMPORTED_TARGET ${IOTUNE_MPI_PKG})
  pkg_check_modules(IOTUNE_HDF5 QUIET IMPORTED_TARGET ${IOTUNE_HDF5_PKG})
endif()
if(IOTUNE_MPI_FOUND AND IOTUNE_HDF5_FOUND)
  set(IOTUNE_HAVE_PARALLEL_HDF5 TRUE)
  add_library(iotune_parallel_hdf5 INTERFACE)
  target_link_libraries(iotune_parallel_hdf5 INTERFACE PkgConfig::IOTUNE_HDF5 PkgConfig::IOTUNE_MPI)
  message(STATUS "parallel HDF5: ${IOTUNE_HDF5_PKG} ${IOTUNE_HDF5_VERSION} over ${IOTUNE_MPI_PKG} ${IOTUNE_MPI_VERSION}")
else()
  message(STATUS "no parallel HDF5 (${IOTUNE_HDF5_PKG} over ${IOTUNE_MPI_PKG}): kernels and MPI tests are left out")
endif()
