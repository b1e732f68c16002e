# iotune_portable(target [definitions…]): `target` runs on glibc 2.28 and later, whatever it is built
# on. The C++ library stays inside, and patterndb/library/glibc_compat.c stands in for newer symbols
# of glibc. Before glibc 2.34 threads and dlopen were in libraries of their own, which are named:
# later ones are empty. Not with sanitizers, whose run time must be loaded first.
function(iotune_portable target)
  if(IOTUNE_SANITIZE)
    return()
  endif()
  set(compat ${PROJECT_SOURCE_DIR}/patterndb/library/glibc_compat.c)
  target_sources(${target} PRIVATE ${compat})
  set_source_files_properties(${compat} PROPERTIES
    COMPILE_DEFINITIONS "IOTUNE_THREADS;${ARGN}" COMPILE_OPTIONS "-fno-builtin"
    SKIP_PRECOMPILE_HEADERS ON)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
    LINKER:--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 LINKER:--as-needed
    LINKER:-z,nodynamic-undefined-weak)
endfunction()
