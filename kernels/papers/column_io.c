#include <stdio.h>

#include "kernel_run.h"

static void name_dataset(char* path, size_t size, int number, int step) {
  (void)step;
  snprintf(path, size, "/column%d", number);
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "column-io",
      .summary = "column-io: a 2-D dataset divided by columns, 512 bytes of every row a rank.",
      .element = KERNEL_FLOAT64,
      .kind = KERNEL_BLOCK,
      .size = {2, {16384, 64}},
      .datasets = 1,
      .files = 1,
      .name_dataset = name_dataset,
      .grid_axis = 1,
  };
  return kernel_main(argc, argv, &spec);
}
