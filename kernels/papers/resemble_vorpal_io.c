#include <stdio.h>

#include "kernel_run.h"

static void name_dataset(char* path, size_t size, int number, int step) {
  (void)step;
  snprintf(path, size, "/field%02d", number);
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "resemble-vorpal-io",
      .summary = "Resemble-VORPAL-IO: VORPAL-IO's pattern with other blocks.",
      .element = KERNEL_FLOAT64,
      .kind = KERNEL_BLOCK,
      .size = {3, {64, 128, 256}},
      .datasets = 20,
      .files = 1,
      .name_dataset = name_dataset,
      .grid_axis = KERNEL_GRID_BALANCED,
  };
  return kernel_main(argc, argv, &spec);
}
