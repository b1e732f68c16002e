/* The floor of every preload: the loader maps it, relocates it and runs nothing. */
int iotune_bench_empty_preload(void);
int iotune_bench_empty_preload(void) {
  return 0;
}
