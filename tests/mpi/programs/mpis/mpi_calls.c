/* Makes every MPI_File call of its MPI once with random arguments and prints what it passed.
 *   mpi_calls FILE SEED
 * Each rank prints "RANK NAME number…" as the trace has them: arguments, result, and for transfers
 * the bytes of the type. Integers are printed as FORMAT.md wants them, whatever this MPI's are. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                            \
  do {                                                             \
    if (!(condition)) {                                            \
      fprintf(stderr, "mpi_calls:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                                \
    }                                                              \
  } while (0)

enum { kMost = 64 };
static int rank, ranks;
static MPI_File file;
static double buffer[kMost];

static int below(int n) {
  return rand() % n;
}

/* A handle as a machine word: 32 bits of it in MPICH's ABI, an address elsewhere. */
#define WORD(h) \
  (sizeof(h) == 4 ? (long long)(unsigned long long)(unsigned)(size_t)(h) : (long long)(size_t)(h))

static long long handle(void) {
  return WORD(file);
}

/* The types that a call may be given, and their sizes. */
static MPI_Datatype draw_type(int* bytes) {
  static const MPI_Datatype types[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
  static const int sizes[] = {1, 4, 8};
  const int i = below(3);
  *bytes = sizes[i];
  return types[i];
}
static long long word(MPI_Datatype type) {
  return WORD(type);
}

static void wait_for(MPI_Request request) {
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE) == 0);
}

#define AT(name, c_type)                                                                 \
  {                                                                                      \
    int bytes;                                                                           \
    const MPI_Datatype type = draw_type(&bytes);                                         \
    const MPI_Offset offset = below(100);                                                \
    const c_type count = below(kMost);                                                   \
    MUST(name(file, offset, buffer, count, type, MPI_STATUS_IGNORE) == 0);               \
    printf("%d " #name " %lld %lld %lld %lld 0 %d\n", rank, handle(), (long long)offset, \
           (long long)count, word(type), bytes);                                         \
  }
#define I_AT(name, c_type)                                                               \
  {                                                                                      \
    int bytes;                                                                           \
    MPI_Request request;                                                                 \
    const MPI_Datatype type = draw_type(&bytes);                                         \
    const MPI_Offset offset = below(100);                                                \
    const c_type count = below(kMost);                                                   \
    MUST(name(file, offset, buffer, count, type, &request) == 0);                        \
    wait_for(request);                                                                   \
    printf("%d " #name " %lld %lld %lld %lld 0 %d\n", rank, handle(), (long long)offset, \
           (long long)count, word(type), bytes);                                         \
  }
#define PLAIN(name, c_type)                                                                    \
  {                                                                                            \
    int bytes;                                                                                 \
    const MPI_Datatype type = draw_type(&bytes);                                               \
    const c_type count = below(kMost);                                                         \
    MUST(name(file, buffer, count, type, MPI_STATUS_IGNORE) == 0);                             \
    printf("%d " #name " %lld %lld %lld 0 %d\n", rank, handle(), (long long)count, word(type), \
           bytes);                                                                             \
  }
#define I_PLAIN(name, c_type)                                                                  \
  {                                                                                            \
    int bytes;                                                                                 \
    MPI_Request request;                                                                       \
    const MPI_Datatype type = draw_type(&bytes);                                               \
    const c_type count = below(kMost);                                                         \
    MUST(name(file, buffer, count, type, &request) == 0);                                      \
    wait_for(request);                                                                         \
    printf("%d " #name " %lld %lld %lld 0 %d\n", rank, handle(), (long long)count, word(type), \
           bytes);                                                                             \
  }
#define SPLIT_AT(name, begin, c_type)                                                     \
  {                                                                                       \
    int bytes;                                                                            \
    const MPI_Datatype type = draw_type(&bytes);                                          \
    const MPI_Offset offset = below(100);                                                 \
    const c_type count = below(kMost);                                                    \
    MUST(begin(file, offset, buffer, count, type) == 0);                                  \
    MUST(name##_end(file, buffer, MPI_STATUS_IGNORE) == 0);                               \
    printf("%d " #begin " %lld %lld %lld %lld 0 %d\n", rank, handle(), (long long)offset, \
           (long long)count, word(type), bytes);                                          \
    printf("%d " #name "_end %lld 0\n", rank, handle());                                  \
  }
#define SPLIT(name, begin, c_type)                                                              \
  {                                                                                             \
    int bytes;                                                                                  \
    const MPI_Datatype type = draw_type(&bytes);                                                \
    const c_type count = below(kMost);                                                          \
    MUST(begin(file, buffer, count, type) == 0);                                                \
    MUST(name##_end(file, buffer, MPI_STATUS_IGNORE) == 0);                                     \
    printf("%d " #begin " %lld %lld %lld 0 %d\n", rank, handle(), (long long)count, word(type), \
           bytes);                                                                              \
    printf("%d " #name "_end %lld 0\n", rank, handle());                                        \
  }

#define TRANSFERS(verb, c, c_type)                                              \
  AT(MPI_File_##verb##_at##c, c_type)                                           \
  AT(MPI_File_##verb##_at_all##c, c_type)                                       \
  I_AT(MPI_File_i##verb##_at##c, c_type)                                        \
  I_AT(MPI_File_i##verb##_at_all##c, c_type)                                    \
  PLAIN(MPI_File_##verb##c, c_type)                                             \
  PLAIN(MPI_File_##verb##_all##c, c_type)                                       \
  I_PLAIN(MPI_File_i##verb##c, c_type)                                          \
  I_PLAIN(MPI_File_i##verb##_all##c, c_type)                                    \
  PLAIN(MPI_File_##verb##_shared##c, c_type)                                    \
  I_PLAIN(MPI_File_i##verb##_shared##c, c_type)                                 \
  PLAIN(MPI_File_##verb##_ordered##c, c_type)                                   \
  SPLIT_AT(MPI_File_##verb##_at_all, MPI_File_##verb##_at_all_begin##c, c_type) \
  SPLIT(MPI_File_##verb##_all, MPI_File_##verb##_all_begin##c, c_type)          \
  SPLIT(MPI_File_##verb##_ordered, MPI_File_##verb##_ordered_begin##c, c_type)

static void others(void) {
  MPI_Offset bytes = 0, offset = below(1000);
  MPI_Datatype etype, filetype;
  MPI_Info info;
  char datarep[MPI_MAX_DATAREP_STRING];
  int flag = 0, amode = 0;
  const long long f = handle();
#define PRINT(name, ...) printf("%d " name " %lld" __VA_ARGS__)
  MUST(MPI_File_get_size(file, &bytes) == 0);
  PRINT("MPI_File_get_size", " 0\n", rank, f);
  MUST(MPI_File_get_position(file, &bytes) == 0);
  PRINT("MPI_File_get_position", " 0\n", rank, f);
  MUST(MPI_File_get_position_shared(file, &bytes) == 0);
  PRINT("MPI_File_get_position_shared", " 0\n", rank, f);
  MUST(MPI_File_get_byte_offset(file, offset, &bytes) == 0);
  PRINT("MPI_File_get_byte_offset", " %lld 0\n", rank, f, (long long)offset);
  MUST(MPI_File_get_atomicity(file, &flag) == 0);
  PRINT("MPI_File_get_atomicity", " 0\n", rank, f);
  MUST(MPI_File_get_amode(file, &amode) == 0);
  PRINT("MPI_File_get_amode", " 0\n", rank, f);
  MUST(MPI_File_get_view(file, &bytes, &etype, &filetype, datarep) == 0);
  PRINT("MPI_File_get_view", " 0\n", rank, f);
  MUST(MPI_File_get_info(file, &info) == 0);
  MPI_Info_free(&info);
  PRINT("MPI_File_get_info", " 0\n", rank, f);
  MUST(MPI_File_seek(file, offset, MPI_SEEK_SET) == 0);
  PRINT("MPI_File_seek", " %lld 600 0\n", rank, f, (long long)offset);
  MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == 0);
  PRINT("MPI_File_seek_shared", " 0 600 0\n", rank, f);
  MUST(MPI_File_set_size(file, 100000) == 0);
  PRINT("MPI_File_set_size", " 100000 0\n", rank, f);
  MUST(MPI_File_preallocate(file, 100000) == 0);
  PRINT("MPI_File_preallocate", " 100000 0\n", rank, f);
  MUST(MPI_File_set_atomicity(file, 1) == 0);
  PRINT("MPI_File_set_atomicity", " 1 0\n", rank, f);
  MUST(MPI_File_set_atomicity(file, 0) == 0);
  PRINT("MPI_File_set_atomicity", " 0 0\n", rank, f);
  MUST(MPI_File_sync(file) == 0);
  PRINT("MPI_File_sync", " 0\n", rank, f);
}

/* Views of its own, which every rank gives up again: the transfers below are of bytes. */
static void views(void) {
  int bytes;
  MPI_Info info;
  const long long f = handle();
  MUST(MPI_Info_create(&info) == 0);
  MUST(MPI_Info_set(info, "access_style", "write_mostly") == 0);
  MUST(MPI_File_set_info(file, info) == 0);
  PRINT("MPI_File_set_info", " %lld 0\n", rank, f, WORD(info));
  for (int i = 0; i < 5; ++i) {
    const MPI_Datatype type = draw_type(&bytes);
    const MPI_Offset displacement = below(100000);
    MUST(MPI_File_set_view(file, displacement, type, type, "native", info) == 0);
    PRINT("MPI_File_set_view", " %lld %lld %lld %lld 0\n", rank, f, (long long)displacement,
          word(type), word(type), WORD(info));
  }
  MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == 0);
  PRINT("MPI_File_set_view", " 0 %lld %lld %lld 0\n", rank, f, word(MPI_BYTE), word(MPI_BYTE),
        WORD(MPI_INFO_NULL));
  MPI_Info_free(&info);
}

/* A file of this rank's own, NAME.RANK. */
static void delete_own(const char* name) {
  char own[4096];
  MPI_File made;
  snprintf(own, sizeof own, "%s.%d", name, rank);
  MUST(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &made) ==
       0);
  printf("%d MPI_File_open %lld %d %lld %lld 0\n", rank, WORD(MPI_COMM_SELF), 1 + 4,
         WORD(MPI_INFO_NULL), WORD(made));
  MUST(MPI_File_close(&made) == 0);
  MUST(MPI_File_delete(own, MPI_INFO_NULL) == 0);
  printf("%d MPI_File_delete %lld 0\n", rank, WORD(MPI_INFO_NULL));
}

int main(int argc, char** argv) {
  MUST(argc == 3 && MPI_Init(&argc, &argv) == 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  srand((unsigned)atoi(argv[2]));
  MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file) == 0);
  printf("%d MPI_File_open %lld %d %lld %lld 0\n", rank, WORD(MPI_COMM_WORLD), 1 + 8,
         WORD(MPI_INFO_NULL), handle());
  others();
  views();
  TRANSFERS(write, , int)
  TRANSFERS(read, , int)
#if MPI_VERSION >= 4 /* large counts */
  TRANSFERS(write, _c, MPI_Count)
  TRANSFERS(read, _c, MPI_Count)
#endif
  MUST(MPI_File_close(&file) == 0);
  delete_own(argv[1]);
  MPI_Finalize();
  return 0;
}
