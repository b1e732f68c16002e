#include <stdio.h>

#include "kernel_run.h"

static void name_dataset(char* path, size_t size, int number, int step) {
  (void)step;
  snprintf(path, size, "/variable%02d", number);
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "gcrm-io",
      .summary = "GCRM-IO: 3-D variables, divided along the last dimension only.",
      .element = KERNEL_FLOAT32,
      .kind = KERNEL_BLOCK,
      .size = {3, {1, 1, 327680}},
      .datasets = 10,
      .files = 1,
      .name_dataset = name_dataset,
      .grid_axis = 2,
  };
  return kernel_main(argc, argv, &spec);
}
