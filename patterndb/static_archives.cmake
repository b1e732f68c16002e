# Targets iotune_sqlite and iotune_xml: the static archives where they exist (hidden in every
# product, so that neither a program's own SQLite nor its libxml2 is ever met), else the shared
# libraries, with a message, because then the products are bound to this system.
find_package(SQLite3 REQUIRED)
find_package(LibXml2 REQUIRED)
option(IOTUNE_STATIC_ARCHIVES "Link SQLite and libxml2 statically where archives exist" ON)

add_library(iotune_sqlite INTERFACE)
add_library(iotune_xml INTERFACE)
target_include_directories(iotune_sqlite INTERFACE ${SQLite3_INCLUDE_DIRS})
target_include_directories(iotune_xml INTERFACE ${LIBXML2_INCLUDE_DIRS})

# The archive next to a shared library, or nothing.
function(iotune_find_archive variable name shared)
  get_filename_component(folder "${shared}" DIRECTORY)
  find_library(${variable} NAMES lib${name}.a HINTS ${folder})
  if(NOT IOTUNE_STATIC_ARCHIVES OR NOT ${variable})
    set(${variable} "" PARENT_SCOPE)
    message(STATUS "no lib${name}.a: ${shared} is linked dynamically")
  else()
    set(${variable} "${${variable}}" PARENT_SCOPE)
  endif()
endfunction()

list(GET SQLite3_LIBRARIES 0 sqlite_shared)
list(GET LIBXML2_LIBRARIES 0 xml_shared)
iotune_find_archive(IOTUNE_SQLITE_ARCHIVE sqlite3 "${sqlite_shared}")
iotune_find_archive(IOTUNE_XML_ARCHIVE xml2 "${xml_shared}")

# iotune_copy_archive(target archive names…): links `target` to a copy of the archive in which
# each "old=new" of names is renamed. Debian's archives are compiled for executables (PIE): there
# a variable of glibc cannot be reached from a shared library, but one of our own can.
function(iotune_copy_archive target archive)
  get_filename_component(name ${archive} NAME_WE)
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/${name}_iotune.a)
  set(renames)
  foreach(rename IN LISTS ARGN)
    list(APPEND renames --redefine-sym ${rename})
  endforeach()
  add_custom_command(OUTPUT ${copy}
    COMMAND ${CMAKE_OBJCOPY} ${renames} ${archive} ${copy}
    DEPENDS ${archive} VERBATIM)
  add_custom_target(${target}_copy DEPENDS ${copy})
  add_dependencies(${target} ${target}_copy)
  target_link_libraries(${target} INTERFACE ${copy} m ${CMAKE_DL_LIBS})
  target_link_options(${target} INTERFACE LINKER:--exclude-libs,${name}_iotune.a)
endfunction()

if(IOTUNE_SQLITE_ARCHIVE)
  # A set-user-id program must not be led to another folder for temporary files.
  iotune_copy_archive(iotune_sqlite ${IOTUNE_SQLITE_ARCHIVE} getenv=secure_getenv)
else()
  target_link_libraries(iotune_sqlite INTERFACE ${SQLite3_LIBRARIES})
endif()

# What the archive leaves undefined decides which stand-ins library/xml_limits.c must give.
set(IOTUNE_XML_DEFINITIONS)
if(IOTUNE_XML_ARCHIVE)
  execute_process(COMMAND ${CMAKE_NM} ${IOTUNE_XML_ARCHIVE}
                  OUTPUT_VARIABLE xml_symbols ERROR_QUIET RESULT_VARIABLE xml_nm_failed)
  if(xml_nm_failed)
    message(FATAL_ERROR "nm cannot read ${IOTUNE_XML_ARCHIVE}")
  endif()
  if(xml_symbols MATCHES "U xmlNanoHTTPOpen")
    list(APPEND IOTUNE_XML_DEFINITIONS IOTUNE_XML_HAS_NETWORK)
  endif()
  if(xml_symbols MATCHES "U gzopen64")
    list(APPEND IOTUNE_XML_DEFINITIONS IOTUNE_XML_HAS_GZIP)
  endif()
  if(xml_symbols MATCHES "U __libxml2_xzopen")
    list(APPEND IOTUNE_XML_DEFINITIONS IOTUNE_XML_HAS_XZ)
  endif()
  if(xml_symbols MATCHES "U ucnv_open_([0-9]+)")
    list(APPEND IOTUNE_XML_DEFINITIONS IOTUNE_XML_ICU=${CMAKE_MATCH_1})
  endif()
  iotune_copy_archive(iotune_xml ${IOTUNE_XML_ARCHIVE} getenv=secure_getenv
    pthread_once=iotune_xml_no_threads stdin=iotune_xml_stdin stdout=iotune_xml_stdout stderr=iotune_xml_stderr)
  target_link_options(iotune_xml INTERFACE LINKER:--undefined=iotune_xml_limits)
else()
  target_link_libraries(iotune_xml INTERFACE ${LIBXML2_LIBRARIES})
endif()

# For packaging/: what is carried.
if(IOTUNE_SQLITE_ARCHIVE)
  set_property(GLOBAL APPEND PROPERTY IOTUNE_CARRIED sqlite=${SQLite3_VERSION})
endif()
if(IOTUNE_XML_ARCHIVE)
  set_property(GLOBAL APPEND PROPERTY IOTUNE_CARRIED libxml2=${LIBXML2_VERSION_STRING})
endif()
