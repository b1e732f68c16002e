# cmake -DOUTPUT=… -DSOURCES="a.cpp,b.h" -P protocol_version.cmake: a decimal number out of what the
# sources hold, as a macro that a test's library may set to another one.
string(REPLACE "," ";" sources "${SOURCES}")
foreach(source IN LISTS sources)
  file(SHA256 "${source}" hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 12 digits)
math(EXPR number "0x${digits}")
file(WRITE "${OUTPUT}" "#pragma once\n\n#ifndef IOTUNE_PROTOCOL_VERSION\n#define IOTUNE_PROTOCOL_VERSION \"${number}\"\n#endif\n")
