/* A preload that is wrong on purpose: of the one call that WRONG_CALL names the first byte of each
 * transfer is another one. What a prover does not see of this it would not see of a library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int is_wrong(const char* name, int count, MPI_Datatype type) {
  const char* wanted = getenv("WRONG_CALL");
  int bytes = 0;
  if (wanted == NULL || strcmp(wanted, name) != 0 || count <= 0) return 0;
  PMPI_Type_size(type, &bytes);
  return bytes > 0;
}

/* The byte is the program's again after the call, unless it was written there. */
static void change(const void* buffer) {
  *(unsigned char*)buffer ^= 0x55;
}

#define PLACE MPI_File file, MPI_Offset offset,
#define NO_PLACE MPI_File file,
#define READS(name, place, ...)                                                          \
  int MPI_File_##name(place void* buffer, int count, MPI_Datatype type, MPI_Status* s) { \
    int code = PMPI_File_##name(__VA_ARGS__, buffer, count, type, s);                    \
    if (is_wrong("MPI_File_" #name, count, type)) change(buffer);                        \
    return code;                                                                         \
  }
#define WRITES(name, place, ...)                                                               \
  int MPI_File_##name(place const void* buffer, int count, MPI_Datatype type, MPI_Status* s) { \
    if (is_wrong("MPI_File_" #name, count, type)) change(buffer);                              \
    return PMPI_File_##name(__VA_ARGS__, buffer, count, type, s);                              \
  }
/* Waited for at once: only then is there something to change. */
#define IREADS(name, place, ...)                                                          \
  int MPI_File_##name(place void* buffer, int count, MPI_Datatype type, MPI_Request* r) { \
    int code = PMPI_File_##name(__VA_ARGS__, buffer, count, type, r);                     \
    if (is_wrong("MPI_File_" #name, count, type)) {                                       \
      PMPI_Wait(r, MPI_STATUS_IGNORE);                                                    \
      change(buffer);                                                                     \
    }                                                                                     \
    return code;                                                                          \
  }
#define IWRITES(name, place, ...)                                                               \
  int MPI_File_##name(place const void* buffer, int count, MPI_Datatype type, MPI_Request* r) { \
    if (is_wrong("MPI_File_" #name, count, type)) change(buffer);                               \
    return PMPI_File_##name(__VA_ARGS__, buffer, count, type, r);                               \
  }
/* The end of a read does not say how much it was. */
#define SPLIT(name, place, ...)                                                               \
  static int read_##name;                                                                     \
  int MPI_File_read_##name##_begin(place void* buffer, int count, MPI_Datatype type) {        \
    read_##name = is_wrong("MPI_File_read_" #name "_begin", count, type);                     \
    return PMPI_File_read_##name##_begin(__VA_ARGS__, buffer, count, type);                   \
  }                                                                                           \
  int MPI_File_read_##name##_end(MPI_File file, void* buffer, MPI_Status* s) {                \
    int code = PMPI_File_read_##name##_end(file, buffer, s);                                  \
    if (read_##name) change(buffer);                                                          \
    return code;                                                                              \
  }                                                                                           \
  int MPI_File_write_##name##_begin(place const void* buffer, int count, MPI_Datatype type) { \
    if (is_wrong("MPI_File_write_" #name "_begin", count, type)) change(buffer);              \
    return PMPI_File_write_##name##_begin(__VA_ARGS__, buffer, count, type);                  \
  }

READS(read, NO_PLACE, file)
READS(read_all, NO_PLACE, file)
READS(read_at, PLACE, file, offset)
READS(read_at_all, PLACE, file, offset)
READS(read_ordered, NO_PLACE, file)
READS(read_shared, NO_PLACE, file)
WRITES(write, NO_PLACE, file)
WRITES(write_all, NO_PLACE, file)
WRITES(write_at, PLACE, file, offset)
WRITES(write_at_all, PLACE, file, offset)
WRITES(write_ordered, NO_PLACE, file)
WRITES(write_shared, NO_PLACE, file)
IREADS(iread_at, PLACE, file, offset)
IREADS(iread_all, NO_PLACE, file)
IREADS(iread_at_all, PLACE, file, offset)
IREADS(iread_shared, NO_PLACE, file)
IWRITES(iwrite_at, PLACE, file, offset)
IWRITES(iwrite_all, NO_PLACE, file)
IWRITES(iwrite_at_all, PLACE, file, offset)
IWRITES(iwrite_shared, NO_PLACE, file)
SPLIT(all, NO_PLACE, file)
SPLIT(at_all, PLACE, file, offset)
SPLIT(ordered, NO_PLACE, file)

/* HDF5's, whose handles are 64 bits wide. Of its own calls of MPI-IO nothing is changed. */
typedef long long hid;
static int of_hdf5(const char* name) {
  const char* wanted = getenv("WRONG_CALL");
  return wanted != NULL && strcmp(wanted, name) == 0;
}
#define NEXT(name, ...) ((int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

extern long long H5Sget_select_npoints(hid) __attribute__((weak));

int H5Dread(hid dataset, hid type, hid memory, hid file, hid dxpl, void* buffer) {
  int code =
      NEXT(H5Dread, hid, hid, hid, hid, hid, void*)(dataset, type, memory, file, dxpl, buffer);
  if (of_hdf5("H5Dread") && (memory == 0 || H5Sget_select_npoints(memory) > 0)) change(buffer);
  return code;
}
int H5Dwrite(hid dataset, hid type, hid memory, hid file, hid dxpl, const void* buffer) {
  if (of_hdf5("H5Dwrite") && (memory == 0 || H5Sget_select_npoints(memory) > 0)) change(buffer);
  return NEXT(H5Dwrite, hid, hid, hid, hid, hid, const void*)(dataset, type, memory, file, dxpl,
                                                              buffer);
}
int H5Awrite(hid attribute, hid type, const void* buffer) {
  int values[64];
  if (!of_hdf5("H5Awrite")) return NEXT(H5Awrite, hid, hid, const void*)(attribute, type, buffer);
  memcpy(values, buffer, 4);
  memcpy(values + 1, (const char*)buffer + 4, 16); /* as many as the prover has */
  values[0] ^= 1;
  return NEXT(H5Awrite, hid, hid, const void*)(attribute, type, values);
}
