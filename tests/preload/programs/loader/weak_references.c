/* Asks by weak references, as a program does that serves systems with and without: 1 what is there,
 * 0 what is not. */
#include <stdio.h>

#define WEAK __attribute__((weak))
WEAK void cali_begin_region(const char*);
WEAK void cali_end_region(const char*);
WEAK int MPI_Initialized(int*);
WEAK int MPI_File_write_at(void);
WEAK int PMPI_File_read_c(void);
WEAK int H5Fcreate(void);
WEAK int H5Fflush(long, int);
WEAK long pwrite(int, const void*, unsigned long, long);
WEAK int iotune_region_enter(const char*, long long);

/* In data, too. */
static int (*const volatile table[])(void) = {MPI_File_write_at, H5Fcreate};

#ifdef SHARED_PAGE
/* Lies beside the slots. The test makes what is to be protected end within their page: the loader
 * leaves that writable. */
static int pointed_to;
int* const beside = &pointed_to;
#endif

int main(void) {
#ifdef SHARED_PAGE
  *(int* volatile*)(unsigned long)&beside = NULL;
#endif
  printf("caliper %d%d mpi %d%d%d hdf5 %d%d libc %d table %d%d\n", cali_begin_region != NULL,
         cali_end_region != NULL, MPI_Initialized != NULL, MPI_File_write_at != NULL,
         PMPI_File_read_c != NULL, H5Fcreate != NULL, H5Fflush != NULL, pwrite != NULL,
         table[0] != NULL, table[1] != NULL);
  fprintf(stderr, "iotune %d\n", iotune_region_enter != NULL);
  return 0;
}
