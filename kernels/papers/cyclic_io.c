#include <stdio.h>

#include "kernel_run.h"

static void name_dataset(char* path, size_t size, int number, int step) {
  (void)step;
  snprintf(path, size, "/cyclic%d", number);
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "cyclic-io",
      .summary = "cyclic-io: elements of 8 bytes dealt to the ranks one by one.",
      .element = KERNEL_INT64,
      .kind = KERNEL_CYCLIC,
      .size = {1, {20000}},
      .datasets = 1,
      .files = 1,
      .name_dataset = name_dataset,
      .any_dims = true,
      .grid_axis = KERNEL_GRID_BALANCED,
  };
  return kernel_main(argc, argv, &spec);
}
