# `cpack -G DEB`: one binary package of what `cmake --install` installs. packaging/debian/build.sh
# configures for it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME iotune)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${IOTUNE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "watches and tunes the I/O of MPI and HDF5 programs")
set(CPACK_PACKAGE_DESCRIPTION
"A preloaded library records the I/O of an unmodified program, recognises its
patterns and applies settings of HDF5, MPI-IO and the file system that were
measured to be good for them. Commands show, explain and train.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
if(IOTUNE_BUILD_PYTHON)
  # The extension is for one minor version of Python.
  math(EXPR next "${Python3_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "python3 (>= ${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}), python3 (<< ${Python3_VERSION_MAJOR}.${next}), python3-numpy, python3-pyelftools, python3-rich, python3-click, python3-typing-extensions")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-jinja2, python3-scipy")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pandas, fuse3, mpi-default-dev")
  # Python's compiled files are made at installation and removed with the package.
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()
include(CPack)
