# `cmake --install`: header, find_package(iotune), pkg-config, environment modules, licences, the
# Python package where it is built, and the target `uninstall`.
include(CMakePackageConfigHelpers)
set(made ${CMAKE_CURRENT_BINARY_DIR})
set(IOTUNE_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/iotune)
set(IOTUNE_MODULE_DIR ${CMAKE_INSTALL_DATADIR}/modulefiles/iotune)
set(IOTUNE_DOC_DIR ${CMAKE_INSTALL_DATADIR}/doc/iotune)

add_library(iotune_header INTERFACE)
set_target_properties(iotune_header PROPERTIES EXPORT_NAME header)
target_include_directories(iotune_header INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS iotune_header EXPORT iotune)
install(EXPORT iotune NAMESPACE iotune:: FILE iotuneTargets.cmake DESTINATION ${IOTUNE_CONFIG_DIR})
configure_package_config_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/iotuneConfig.cmake.in
  ${made}/iotuneConfig.cmake INSTALL_DESTINATION ${IOTUNE_CONFIG_DIR}
  PATH_VARS IOTUNE_LIBRARY_DIR)
write_basic_package_version_file(${made}/iotuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/iotuneConfig.cmake ${made}/iotuneConfigVersion.cmake
  DESTINATION ${IOTUNE_CONFIG_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/iotune.h ${PROJECT_SOURCE_DIR}/include/iotune.f90
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Both find the prefix from where they lie: what was installed may be moved as a whole.
file(RELATIVE_PATH IOTUNE_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/iotune.pc.in ${made}/iotune.pc @ONLY)
install(FILES ${made}/iotune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH IOTUNE_PREFIX_FROM_MODULE /${IOTUNE_MODULE_DIR} /)
foreach(kind tcl lua)
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/modules/iotune.${kind}.in ${made}/iotune.${kind} @ONLY)
endforeach()
install(FILES ${made}/iotune.tcl DESTINATION ${IOTUNE_MODULE_DIR} RENAME ${PROJECT_VERSION})
install(FILES ${made}/iotune.lua DESTINATION ${IOTUNE_MODULE_DIR} RENAME ${PROJECT_VERSION}.lua)

install(DIRECTORY licences DESTINATION ${IOTUNE_DOC_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${sbom} DESTINATION ${IOTUNE_DOC_DIR})
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  # As Debian has them.
  string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${made}/changelog "iotune (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
    "  * From a checkout: CHANGELOG.md beside this file.\n\n -- ${IOTUNE_PACKAGE_CONTACT}  ${day}\n")
  file(ARCHIVE_CREATE OUTPUT ${made}/changelog.gz PATHS ${made}/changelog
    FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  install(FILES ${made}/changelog.gz ${PROJECT_SOURCE_DIR}/CHANGELOG.md debian/copyright DESTINATION ${IOTUNE_DOC_DIR})
  install(FILES debian/lintian-overrides RENAME iotune
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides)
endif()
if(IOTUNE_BUILD_PYTHON)
  set(manuals ${PROJECT_SOURCE_DIR}/docs/man)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(manuals ${made}/man)
    file(MAKE_DIRECTORY ${manuals})
    file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR}/docs/man ${PROJECT_SOURCE_DIR}/docs/man/*.1)
    foreach(page IN LISTS pages)
      file(ARCHIVE_CREATE OUTPUT ${manuals}/${page}.gz PATHS ${PROJECT_SOURCE_DIR}/docs/man/${page}
        FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    endforeach()
  endif()
  install(DIRECTORY ${manuals}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    FILES_MATCHING PATTERN *.1 PATTERN *.1.gz)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/iotune/ DESTINATION ${IOTUNE_PACKAGE_DIR}
    PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/ DESTINATION ${IOTUNE_PACKAGE_DIR}/models
    PATTERN __pycache__ EXCLUDE)
  if(IOTUNE_VENDORED)
    install(DIRECTORY ${vendored_folder}/${vendored_name}
      DESTINATION ${IOTUNE_PACKAGE_DIR}/vendored PATTERN __pycache__ EXCLUDE)
  endif()
  iotune_install_link(iotune.h include ${CMAKE_INSTALL_INCLUDEDIR})
  iotune_install_link(iotune.f90 include ${CMAKE_INSTALL_INCLUDEDIR})
  file(RELATIVE_PATH IOTUNE_PYTHON_FROM_BIN /${CMAKE_INSTALL_BINDIR} /${IOTUNE_PYTHON_DIR})
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/iotune.py.in ${made}/iotune @ONLY)
  install(PROGRAMS ${made}/iotune DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/uninstall.cmake
  VERBATIM)
