// What every process runs and writes at its start, traced or not, is kept together: each page
// that is touched costs a page fault, which is most of what the library adds to /bin/true.
#pragma once

// Linked before all other code, beside the tables that the dynamic linker reads.
#define IOTUNE_START_CODE __attribute__((section(".text.startup")))
// Beside the data that the dynamic linker writes.
#define IOTUNE_START_DATA __attribute__((section(".data.start")))
