# Run with -DNM= -DOBJCOPY= -DLIBRARY=: takes the names of local variables and source files out of a
# library's symbol table. Names of functions stay, so that a stack in it can be read; the others are
# a tenth of libiotune.so.
execute_process(COMMAND ${NM} --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
# Small letters are local: variables of .bss, .data and .rodata.
string(REGEX MATCHALL "[^\n ]+ [bdr] " found "${symbols}")
list(TRANSFORM found REPLACE " [bdr] $" "")
list(REMOVE_DUPLICATES found)
list(JOIN found "\n" names)
file(WRITE ${LIBRARY}.names "${names}\n")
execute_process(COMMAND ${OBJCOPY} --strip-symbols=${LIBRARY}.names ${LIBRARY}
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${LIBRARY}.names)
