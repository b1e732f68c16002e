struct large {
  long words[4];
  double last;
};
struct pair {
  double x, y;
};
struct mixed {
  long whole;
  double real;
};

double H5Dread(double a, float b, double c, double d, double e, double f, double g, double h);
struct large H5Fopen(int first, double second);
struct pair H5Dopen2(struct pair a, struct mixed b);
struct mixed H5Sclose(struct large in_memory, double a);
long H5Dwrite(long a, long b, long c, long d, long e, long f, long g, long h, double i, long j);
double MPI_File_open(int count, ...);
long double MPI_File_sync(long double a, double b);
double H5get_libversion(double a);
struct large MPI_Get_library_version(double a);
double PMPI_File_close(double a);
#ifdef __x86_64__
typedef double vec32 __attribute__((vector_size(32)));
typedef double vec64 __attribute__((vector_size(64)));
__attribute__((target("avx"))) vec32 MPI_File_read(vec32 a, vec32 b, vec32 c);
__attribute__((target("avx512f"))) vec64 MPI_File_write_all(vec64 a, vec64 b, vec64 c);
#endif
