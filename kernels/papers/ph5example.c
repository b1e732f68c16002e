#include <stdio.h>

#include "kernel_run.h"

static void name_dataset(char* path, size_t size, int number, int step) {
  (void)step;
  snprintf(path, size, "/Data%d", number + 1);
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "ph5example",
      .summary = "ph5Example: two 24x24 datasets, divided by rows.",
      .element = KERNEL_INT32,
      .kind = KERNEL_BLOCK,
      .size = {2, {6, 24}},
      .datasets = 2,
      .files = 1,
      .name_dataset = name_dataset,
      .output = "ParaEg0.h5",
      .extent = {2, {24, 24}},
  };
  return kernel_main(argc, argv, &spec);
}
