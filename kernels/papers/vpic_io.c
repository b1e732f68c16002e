#include <stdio.h>

#include "kernel_run.h"

static void name_dataset(char* path, size_t size, int number, int step) {
  static const char* const variable[] = {"x", "y", "z", "px", "py", "pz", "id1", "id2"};
  if (number < 8)
    snprintf(path, size, "/Step#%d/%s", step, variable[number]);
  else
    snprintf(path, size, "/Step#%d/v%d", step, number);
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "vpic-io",
      .summary = "VPIC-IO: eight variables of all particles, a contiguous block a rank.",
      .element = KERNEL_FLOAT32,
      .kind = KERNEL_BLOCK,
      .size = {1, {8388608}},
      .datasets = 8,
      .files = 1,
      .name_dataset = name_dataset,
  };
  return kernel_main(argc, argv, &spec);
}
