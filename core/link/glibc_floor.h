// Pins the symbols that newer glibc re-versioned to the versions that every glibc since 2.2.5
// (x86-64) or 2.17 (AArch64) has, so that a library built on a new system loads on an old one.
// tests/preload/elf_limits.py reads the result.
#pragma once

#if defined(__x86_64__)
#define IOTUNE_GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define IOTUNE_GLIBC_BASE "GLIBC_2.17"
#else
#error "iotune knows x86-64 and AArch64"
#endif

__asm__(".symver dlsym,dlsym@" IOTUNE_GLIBC_BASE);
__asm__(".symver dlopen,dlopen@" IOTUNE_GLIBC_BASE);
__asm__(".symver dlclose,dlclose@" IOTUNE_GLIBC_BASE);
