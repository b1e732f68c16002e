// How a call of HDF5 or MPI enters a wrapper on x86-64.
//
// A library may have functions of its own that are called H5* or MPI_*, with other arguments: a
// wrapper of C would pass those on wrongly. So an exported name is a few instructions that change
// no register which carries an argument. Where the call is for a library that iotune does not know
// they jump to its function; else to the wrapper itself, IOTUNE_BODY(name). On other architectures
// the wrapper has the exported name, and functions of another shape get wrong arguments.
#pragma once

#include "recorder/wrappers/wrapper_parts.h"

#if defined(__x86_64__)

#define IOTUNE_BODY(name) __attribute__((visibility("hidden"))) iotune_at_##name
// Symbols that assembly names.
#define IOTUNE_HIDDEN __attribute__((visibility("hidden")))

#if defined(__CET__)
#define IOTUNE_ENDBR "    endbr64\n"
#else
#define IOTUNE_ENDBR ""
#endif

// IOTUNE_ENTRY name, symbol: the exported name of IOTUNE_BODY(name), whose CallerSymbol is
// `symbol`. The place that called last is known to call a library that iotune knows
// (CallerSymbol::newest_); call_entry.cpp looks at the others. EntryRecord is what stands behind
// the code.
#define IOTUNE_ENTRY_MACRO                                   \
  "    .macro IOTUNE_ENTRY name, symbol\n"                   \
  "    .globl \\name\n"                                      \
  "    .type \\name, @function\n"                            \
  "    .balign 16\n"                                         \
  "\\name:\n" IOTUNE_ENDBR                                   \
  "    movq (%rsp), %r11\n"                                  \
  "    xorq \\symbol(%rip), %r11\n"                          \
  "    shlq $16, %r11\n"                                     \
  "    je iotune_at_\\name\n"                                \
  "    leaq 771f(%rip), %r11\n"                              \
  "    jmp iotune_enter_call\n"                              \
  "771:\n"                                                   \
  "    .long iotune_at_\\name - 771b\n"                      \
  "    .long \\symbol - 771b\n"                              \
  "    .long 772f - 771b\n"                                  \
  "    .size \\name, . - \\name\n"                           \
  "    .pushsection .rodata.str1.1, \"aMS\", @progbits, 1\n" \
  "772: .asciz \"\\name\"\n"                                 \
  "    .popsection\n"                                        \
  "    .endm\n"

#else

#define IOTUNE_BODY(name) IOTUNE_EXPORT name
#define IOTUNE_HIDDEN

#endif
