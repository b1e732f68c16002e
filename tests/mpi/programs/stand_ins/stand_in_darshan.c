/* In place of Darshan's runtime, which is not in any registry that tests may use: it wraps calls
 * that Darshan wraps, as Darshan does. Each looks for the next definition by RTLD_NEXT, and ends
 * the program where there is none. MPI's begin and end are wrapped through their profiling names.
 * The log, lines "NAME COUNT", is written within MPI_Finalize, by MPI-IO, of all ranks' counts;
 * with DARSHAN_ENABLE_NONMPI by a constructor's and a destructor's pair instead. Calls on files
 * below the folder that BESIDE_FILES names are counted; BESIDE_LOG names the log. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* It indents the list anew each time. */
/* clang-format off */
#define EACH(X)                                                                        \
  X(open) X(close) X(read) X(write) X(pread) X(pwrite) X(lseek)                        \
  X(fopen) X(fclose) X(fread) X(fwrite)                                                \
  X(MPI_File_open) X(MPI_File_close) X(MPI_File_write_at) X(MPI_File_write_at_all)     \
  X(MPI_File_read_at) X(MPI_File_read_at_all)                                          \
  X(H5Fcreate) X(H5Fopen) X(H5Fclose) X(H5Dcreate2) X(H5Dopen2) X(H5Dwrite) X(H5Dread) \
  X(H5Dclose)
/* clang-format on */
#define NUMBER(name) k_##name,
#define NAME(name) #name,
enum { EACH(NUMBER) kKinds };
static const char* const names[] = {EACH(NAME)};
static long counts[kKinds];
static int begun;
static char of_interest[1024]; /* descriptors */

static void* next_of(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    fprintf(stderr, "stand-in for Darshan: no symbol %s\n", name);
    exit(1);
  }
  return found;
}
/* The declared type of `name` is the one of the real function. */
#define NEXT(name)                    \
  static __typeof__(name)* real_call; \
  if (real_call == NULL) real_call = (__typeof__(name)*)next_of(#name)

static void count(int kind) {
  if (begun) __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED);
}
static int is_ours(const char* path) {
  const char* const files = getenv("BESIDE_FILES");
  return begun && files != NULL && strncmp(path, files, strlen(files)) == 0;
}
static int has(int fd) {
  return fd >= 0 && fd < (int)sizeof of_interest && of_interest[fd];
}

#define OPEN(name)                                                                      \
  int name(const char* path, int flags, ...) {                                          \
    NEXT(name);                                                                         \
    va_list list;                                                                       \
    va_start(list, flags);                                                              \
    const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, int) : 0;      \
    va_end(list);                                                                       \
    const int fd = real_call(path, flags, mode);                                        \
    if (fd >= 0 && fd < (int)sizeof of_interest) of_interest[fd] = (char)is_ours(path); \
    if (has(fd)) count(k_open);                                                         \
    return fd;                                                                          \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  NEXT(close);
  if (has(fd)) {
    count(k_close);
    of_interest[fd] = 0;
  }
  return real_call(fd);
}

#define MOVE(name, kind, result, parameters, arguments) \
  result name parameters {                              \
    NEXT(name);                                         \
    if (has(fd)) count(kind);                           \
    return real_call arguments;                         \
  }
MOVE(read, k_read, ssize_t, (int fd, void* to, size_t bytes), (fd, to, bytes))
MOVE(write, k_write, ssize_t, (int fd, const void* from, size_t bytes), (fd, from, bytes))
MOVE(pread, k_pread, ssize_t, (int fd, void* to, size_t bytes, off_t at), (fd, to, bytes, at))
MOVE(pread64, k_pread, ssize_t, (int fd, void* to, size_t bytes, off64_t at), (fd, to, bytes, at))
MOVE(pwrite, k_pwrite, ssize_t, (int fd, const void* from, size_t bytes, off_t at),
     (fd, from, bytes, at))
MOVE(pwrite64, k_pwrite, ssize_t, (int fd, const void* from, size_t bytes, off64_t at),
     (fd, from, bytes, at))
MOVE(lseek, k_lseek, off_t, (int fd, off_t at, int from), (fd, at, from))
MOVE(lseek64, k_lseek, off64_t, (int fd, off64_t at, int from), (fd, at, from))

static FILE* streams[16];
static int has_stream(const FILE* stream) {
  for (unsigned i = 0; i < sizeof streams / sizeof streams[0]; ++i) {
    if (streams[i] == stream) return stream != NULL;
  }
  return 0;
}
FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  FILE* const stream = real_call(path, mode);
  if (stream == NULL || !is_ours(path)) return stream;
  count(k_fopen);
  unsigned i = 0;
  while (i < 15 && streams[i] != NULL) ++i;
  streams[i] = stream;
  return stream;
}
int fclose(FILE* stream) {
  NEXT(fclose);
  for (unsigned i = 0; i < sizeof streams / sizeof streams[0]; ++i) {
    if (stream == NULL || streams[i] != stream) continue;
    count(k_fclose);
    streams[i] = NULL;
  }
  return real_call(stream);
}
size_t fread(void* to, size_t size, size_t items, FILE* stream) {
  NEXT(fread);
  if (has_stream(stream)) count(k_fread);
  return real_call(to, size, items, stream);
}
size_t fwrite(const void* from, size_t size, size_t items, FILE* stream) {
  NEXT(fwrite);
  if (has_stream(stream)) count(k_fwrite);
  return real_call(from, size, items, stream);
}

/* MPI and HDF5: every call from MPI's begin to its end. */
#define CALL(name, result, parameters, arguments) \
  result name parameters {                        \
    NEXT(name);                                   \
    count(k_##name);                              \
    return real_call arguments;                   \
  }
/* What Darshan calls is the profiling name. */
#define MPI_CALL(name, parameters, arguments) \
  int name parameters {                       \
    NEXT(P##name);                            \
    count(k_##name);                          \
    return real_call arguments;               \
  }
MPI_CALL(MPI_File_open, (MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* file),
         (comm, path, mode, info, file))
MPI_CALL(MPI_File_close, (MPI_File * file), (file))
MPI_CALL(MPI_File_write_at,
         (MPI_File file, MPI_Offset at, const void* from, int items, MPI_Datatype type,
          MPI_Status* status),
         (file, at, from, items, type, status))
MPI_CALL(MPI_File_write_at_all,
         (MPI_File file, MPI_Offset at, const void* from, int items, MPI_Datatype type,
          MPI_Status* status),
         (file, at, from, items, type, status))
MPI_CALL(MPI_File_read_at,
         (MPI_File file, MPI_Offset at, void* to, int items, MPI_Datatype type, MPI_Status* status),
         (file, at, to, items, type, status))
MPI_CALL(MPI_File_read_at_all,
         (MPI_File file, MPI_Offset at, void* to, int items, MPI_Datatype type, MPI_Status* status),
         (file, at, to, items, type, status))

CALL(H5Fcreate, hid_t, (const char* path, unsigned flags, hid_t fcpl, hid_t fapl),
     (path, flags, fcpl, fapl))
CALL(H5Fopen, hid_t, (const char* path, unsigned flags, hid_t fapl), (path, flags, fapl))
CALL(H5Fclose, herr_t, (hid_t file), (file))
CALL(H5Dcreate2, hid_t,
     (hid_t at, const char* name, hid_t type, hid_t space, hid_t lcpl, hid_t dcpl, hid_t dapl),
     (at, name, type, space, lcpl, dcpl, dapl))
CALL(H5Dopen2, hid_t, (hid_t at, const char* name, hid_t dapl), (at, name, dapl))
CALL(H5Dclose, herr_t, (hid_t dataset), (dataset))

/* Of a transfer the selection is asked for, by calls that go where the program's would. */
static void look_at(hid_t dataset, hid_t space) {
  if (space != H5S_ALL) H5Sget_select_npoints(space);
  const hid_t own = H5Dget_space(dataset);
  if (own >= 0) H5Sclose(own);
}
herr_t H5Dwrite(hid_t dataset, hid_t type, hid_t memory, hid_t file, hid_t dxpl, const void* from) {
  NEXT(H5Dwrite);
  const herr_t result = real_call(dataset, type, memory, file, dxpl, from);
  look_at(dataset, file);
  count(k_H5Dwrite);
  return result;
}
herr_t H5Dread(hid_t dataset, hid_t type, hid_t memory, hid_t file, hid_t dxpl, void* to) {
  NEXT(H5Dread);
  const herr_t result = real_call(dataset, type, memory, file, dxpl, to);
  look_at(dataset, file);
  count(k_H5Dread);
  return result;
}

static int make_text(const long* sums, char* text, int room) {
  int bytes = 0;
  for (int i = 0; i < kKinds; ++i) {
    if (sums[i] != 0)
      bytes += snprintf(text + bytes, (size_t)(room - bytes), "%s %ld\n", names[i], sums[i]);
  }
  return bytes;
}

int MPI_Init(int* argc, char*** argv) {
  NEXT(PMPI_Init);
  const int result = real_call(argc, argv);
  begun = result == MPI_SUCCESS;
  return result;
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  NEXT(PMPI_Init_thread);
  const int result = real_call(argc, argv, required, provided);
  begun = result == MPI_SUCCESS;
  return result;
}

int MPI_Finalize(void) {
  NEXT(PMPI_Finalize);
  const char* const log = getenv("BESIDE_LOG");
  if (begun && log != NULL) {
    begun = 0;
    long sums[kKinds] = {0};
    int rank = 0;
    char text[2048];
    MPI_File file;
    PMPI_Reduce(counts, sums, kKinds, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int bytes = rank == 0 ? make_text(sums, text, sizeof text) : 0;
    __typeof__(PMPI_File_open)* const open_file =
        (__typeof__(PMPI_File_open)*)next_of("PMPI_File_open");
    __typeof__(PMPI_File_write_at_all)* const write_file =
        (__typeof__(PMPI_File_write_at_all)*)next_of("PMPI_File_write_at_all");
    __typeof__(PMPI_File_close)* const close_file =
        (__typeof__(PMPI_File_close)*)next_of("PMPI_File_close");
    if (open_file(MPI_COMM_WORLD, log, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS) {
      write_file(file, 0, text, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
      close_file(&file);
    }
  }
  return real_call();
}

__attribute__((constructor)) static void serial_begin(void) {
  begun = getenv("DARSHAN_ENABLE_NONMPI") != NULL;
}
__attribute__((destructor)) static void serial_end(void) {
  const char* const log = getenv("BESIDE_LOG");
  if (!begun || log == NULL || getenv("DARSHAN_ENABLE_NONMPI") == NULL) return;
  begun = 0;
  char text[2048];
  const int bytes = make_text(counts, text, sizeof text);
  const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0 || write(fd, text, (size_t)bytes) != bytes) fprintf(stderr, "no log\n");
  if (fd >= 0) close(fd);
}
