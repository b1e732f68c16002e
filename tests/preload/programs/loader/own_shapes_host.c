/* Calls the functions of own_shapes, from several places and often enough that each is known, and
 * an HDF5 (mock_hdf5) by H5Fflush. Prints what came out wrong, and how often the HDF5 was called.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "own_shapes.h"

int H5Fflush(int64_t object, int scope);

static int wrong;
#define EXPECT(what) (void)((what) || (++wrong, printf("wrong: %s\n", #what)))

__attribute__((noinline)) static void call_words(int i) {
  const double d = i;
  EXPECT(H5Dread(d, 2, 3, 4, 5, 6, 7, 8) == d + 35);
  const struct large made = H5Fopen(i, d + 0.5);
  EXPECT(made.words[0] == i && made.words[1] == 2 && made.words[3] == 4 && made.last == d + 0.5);
  const struct pair two = H5Dopen2((struct pair){d, 2}, (struct mixed){3, 4});
  EXPECT(two.x == d + 4 && two.y == 5);
  const struct mixed one = H5Sclose(made, 0.25);
  EXPECT(one.whole == 5 && one.real == d + 0.75);
  EXPECT(H5Dwrite(1, 2, 3, 4, 5, 6, 7, 8, 9, i) == 213 + 9 * i);
  EXPECT(MPI_File_open(3, 0.5, 1L, 0.5, 2L, d, 3L) == 7 + d);
  EXPECT(MPI_File_open(0) == 0);
  EXPECT(MPI_File_sync(3, d) == 3 * d);
  EXPECT(H5get_libversion(d) == 2 * d);
  EXPECT(MPI_Get_library_version(d).last == d);
  EXPECT(PMPI_File_close(d) == d + 9);
}

#ifdef __x86_64__
__attribute__((target("avx"), noinline)) static void call_avx(int i) {
  const vec32 a = {1, 2, 3, i}, b = {5, 6, 7, 8}, c = {9, 10, 11, 12};
  const vec32 made = MPI_File_read(a, b, c), want = a + b * c;
  EXPECT(memcmp(&made, &want, sizeof want) == 0);
}
__attribute__((target("avx512f"), noinline)) static void call_avx512(int i) {
  const vec64 a = {1, 2, 3, 4, 5, 6, 7, i}, b = {5, 6, 7, 8, 9, 1, 2, 3}, c = a * b;
  const vec64 made = MPI_File_write_all(a, b, c), want = a + b * c;
  EXPECT(memcmp(&made, &want, sizeof want) == 0);
}
#endif

int main(int argc, char** argv) {
  static char block[8192];
  int flushed = 0;
  for (int i = 0; i < 5; ++i) {
    call_words(i);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) call_avx(i);
    if (__builtin_cpu_supports("avx512f")) call_avx512(i);
#endif
    flushed += H5Fflush(1, 0) == 104;
  }
  if (argc > 2) { /* a plug-in with the same functions, loaded by name and called by address */
    void* const plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    double (*const read)(double, float, double, double, double, double, double, double) =
        plugin == NULL ? NULL : (__typeof__(read))dlsym(plugin, "H5Dread");
    double (*const barrier)(double) =
        plugin == NULL ? NULL : (__typeof__(barrier))dlsym(plugin, "PMPI_File_close");
    EXPECT(read != NULL && read(1, 2, 3, 4, 5, 6, 7, 8) == 36);
    EXPECT(barrier != NULL && barrier(2) == 11);
    EXPECT(plugin != NULL && dlclose(plugin) == 0);
    call_words(6);
  }
  const int fd = argc > 1 ? open(argv[1], O_CREAT | O_WRONLY | O_TRUNC, 0600) : -1;
  EXPECT(fd >= 0 && write(fd, block, sizeof block) == sizeof block && close(fd) == 0);
  printf("%d wrong, %d flushed\n", wrong, flushed);
  return wrong != 0;
}
