# Fails if ARCHIVE needs anything but itself (and OTHER, an archive that is tested so itself) and the
# few functions of the C library that compilers call by themselves.
execute_process(COMMAND ${NM} --undefined-only --format=posix ${ARCHIVE}
  OUTPUT_VARIABLE undefined RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${NM} failed on ${ARCHIVE}")
endif()
execute_process(COMMAND ${NM} --defined-only --format=posix ${ARCHIVE} ${OTHER}
  OUTPUT_VARIABLE defined)
string(REGEX MATCHALL "[^\n]+ U[^\n]*" needs "${undefined}")
if(NOT needs)
  message(FATAL_ERROR "nm lists nothing: this test no longer tests")
endif()
foreach(line IN LISTS needs)
  string(REGEX REPLACE " .*" "" symbol "${line}")
  string(FIND "${defined}" "\n${symbol} T" own)
  if(own EQUAL -1)  # an explicit instantiation of a template
    string(FIND "${defined}" "\n${symbol} W" own)
  endif()
  if(own EQUAL -1 AND NOT symbol MATCHES "^(memcpy|memset|memmove|memcmp|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$")
    message(SEND_ERROR "${ARCHIVE} needs ${symbol}")
  endif()
endforeach()
