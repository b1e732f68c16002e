# iotune_warnings(target): the project's warning level, and the sanitizers asked for.
function(iotune_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor>)
  # "<" + a string: at -O3 GCC 12 sees an overlap that cannot be (GCC's bug 105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
endfunction()

# Sanitizers are for tests and libraries that are linked into programs; a preload
# cannot carry them (an ASan runtime must come first in the link map).
function(iotune_sanitize target)
  if(IOTUNE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${IOTUNE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${IOTUNE_SANITIZE})
  endif()
endfunction()
