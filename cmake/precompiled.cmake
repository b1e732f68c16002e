# iotune_precompile(target [headers…]): the standard library's headers that most sources of the
# target include, parsed once. Sources include what they use all the same: with
# -DIOTUNE_PRECOMPILE=OFF (preset tidy) they are compiled without.
option(IOTUNE_PRECOMPILE "Parse common headers once a target" ON)
function(iotune_precompile target)
  if(IOTUNE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:<algorithm$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<array$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<map$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<memory$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<optional$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<span$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<string$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<string_view$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<utility$<ANGLE-R>>"
      "$<$<COMPILE_LANGUAGE:CXX>:<vector$<ANGLE-R>>"
      ${ARGN})
    # GCC 12 takes what is inlined out of a precompiled header for the project's own.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
  endif()
endfunction()
