/* A library that has functions of its own with names of HDF5's and MPI's: their arguments and
 * results are of every kind that is passed otherwise than a few words. Each says whether it got
 * what own_shapes_host passed. */
#include "own_shapes.h"

#include <stdarg.h>

double H5Dread(double a, float b, double c, double d, double e, double f, double g, double h) {
  return a + b + c + d + e + f + g + h;
}

/* In a place that the caller gives, by a hidden first argument. */
struct large H5Fopen(int first, double second) {
  const struct large made = {{first, 2, 3, 4}, second};
  return made;
}

struct pair H5Dopen2(struct pair a, struct mixed b) {
  const struct pair made = {a.x + b.real, a.y + (double)b.whole};
  return made;
}

struct mixed H5Sclose(struct large in_memory, double a) {
  const struct mixed made = {in_memory.words[3] + 1, in_memory.last + a};
  return made;
}

long H5Dwrite(long a, long b, long c, long d, long e, long f, long g, long h, double i, long j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)i + 9 * j;
}

double MPI_File_open(int count, ...) {
  va_list list;
  va_start(list, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, double) + (double)va_arg(list, long);
  va_end(list);
  return sum;
}

long double MPI_File_sync(long double a, double b) {
  return a * b;
}

/* What iotune asks an MPI and an HDF5 for. */
double H5get_libversion(double a) {
  return a * 2;
}
struct large MPI_Get_library_version(double a) {
  const struct large made = {{5, 6, 7, 8}, a};
  return made;
}

/* Its own calls of its own functions go by the global scope, too. */
double PMPI_File_close(double a) {
  return H5Dread(a, 1, 1, 1, 1, 1, 1, 1) + H5get_libversion(1);
}

#ifdef __x86_64__
__attribute__((target("avx"))) vec32 MPI_File_read(vec32 a, vec32 b, vec32 c) {
  return a + b * c;
}
__attribute__((target("avx512f"))) vec64 MPI_File_write_all(vec64 a, vec64 b, vec64 c) {
  return a + b * c;
}
#endif
