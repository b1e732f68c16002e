#include <stdio.h>

#include "kernel_run.h"

static void name_dataset(char* path, size_t size, int number, int step) {
  (void)step;
  snprintf(path, size, "/cyclic%d", number);
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "block-cyclic-io",
      .summary = "block-cyclic-io: runs of --block elements dealt to the ranks in turn.",
      .element = KERNEL_FLOAT64,
      .kind = KERNEL_CYCLIC,
      .size = {1, {1048576}},
      .datasets = 1,
      .files = 1,
      .name_dataset = name_dataset,
      .run = 128,
      .any_dims = true,
      .grid_axis = KERNEL_GRID_BALANCED,
  };
  return kernel_main(argc, argv, &spec);
}
