# iotune_small(target FAST sources…): small by default, the hot path for speed. Of what lies in
# libiotune.so most runs a few times a process, or beside calls that take microseconds: that is
# optimised for size, all but the FAST ones. To be called when the target has all of its sources.
function(iotune_small target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FAST")
  get_target_property(small ${target} SOURCES)
  foreach(fast ${arg_FAST})
    if(NOT fast IN_LIST small)
      message(FATAL_ERROR "${target} has no source ${fast}")
    endif()
  endforeach()
  list(REMOVE_ITEM small ${arg_FAST})
  set_property(SOURCE ${small} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
endfunction()
