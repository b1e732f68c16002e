# iotune_joined(target [ALONE source…]): compiles the target's sources eight at a time, because most of a compiler's
# time goes into the standard library's headers. Sources include what they use all the same, and
# names in their anonymous namespaces differ, but for those of ALONE. With -DIOTUNE_JOIN_SOURCES=OFF (preset tidy) each is
# compiled alone.
option(IOTUNE_JOIN_SOURCES "Compile several sources of a target at once" ON)
function(iotune_joined target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${IOTUNE_JOIN_SOURCES}
    UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(IOTUNE_JOIN_SOURCES)
    # A private class that only its own source defines is no fault there, and GCC 12 sees faults
    # that cannot be in what it inlines from one source into another.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage
      -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-free-nonheap-object>)
  endif()
endfunction()
