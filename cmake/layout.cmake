# Where things are installed: in a wheel all of it lies in the Python package; with `cmake --install`
# libraries, header and programs lie where a system has them, and the package, where it is built,
# links to them (packaging/).
if(SKBUILD)
  set(IOTUNE_PACKAGE_DIR iotune)
else()
  include(GNUInstallDirs)
  set(IOTUNE_LIBRARY_DIR "${CMAKE_INSTALL_LIBDIR}" CACHE STRING
    "Where libiotune.so and what it loads are installed, below the prefix")
  set(IOTUNE_PYTHON_DIR "" CACHE STRING
    "Where the Python package is installed, below the prefix; empty: lib/pythonX.Y/site-packages")
  if(NOT IOTUNE_PYTHON_DIR)
    set(IOTUNE_PYTHON_DIR
      lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages)
  endif()
  set(IOTUNE_PACKAGE_DIR ${IOTUNE_PYTHON_DIR}/iotune)
endif()

# All that a wheel carries.
add_custom_target(iotune_package)

# iotune_install_product(target folder system_folder): into `folder` of the Python package in a
# wheel, else into `system_folder`.
function(iotune_install_product target folder system_folder)
  if(SKBUILD)
    set(system_folder ${IOTUNE_PACKAGE_DIR}/${folder})
  elseif(IOTUNE_BUILD_PYTHON)
    iotune_install_link($<TARGET_FILE_NAME:${target}> ${folder} ${system_folder})
  endif()
  add_dependencies(iotune_package ${target})
  install(TARGETS ${target} RUNTIME DESTINATION ${system_folder}
    LIBRARY DESTINATION ${system_folder})
endfunction()

# iotune_install_link(name folder system_folder): a link in `folder` of the Python package.
function(iotune_install_link name folder system_folder)
  file(RELATIVE_PATH target /${IOTUNE_PACKAGE_DIR}/${folder} /${system_folder})
  install(CODE "
    set(link \"\${CMAKE_INSTALL_PREFIX}/${IOTUNE_PACKAGE_DIR}/${folder}/${name}\")
    message(STATUS \"Link: \${link}\")
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${IOTUNE_PACKAGE_DIR}/${folder}\")
    file(CREATE_LINK \"${target}/${name}\" \"\$ENV{DESTDIR}\${link}\" SYMBOLIC)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${link}\")")
endfunction()
