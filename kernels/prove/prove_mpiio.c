/* iotune-prove: files of MPI-IO. Each file is written in several rounds, each in a way of its own:
 * collective, independent, non-blocking and split calls, explicit offsets and views, memory with
 * holes, atomic mode, over bytes that were there before. In between it is cut or grows. Then it is
 * read in several ways. Two files are open at a time. Files by shared pointers (prove_shared.c) and
 * series of small files (prove_checkpoints.c) follow. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prove.h"

enum { MOST_BYTES = 1 << 18, MOST_RANKS = 4096, WAYS = 12, BEFORE = 99 };

enum way {
  AT_ALL,          /* collective, a piece a call */
  VIEW_ALL,        /* collective, all pieces by a view */
  VIEW_ALL_SPARSE, /* likewise, out of memory with holes */
  AT,              /* independent, a piece a call */
  VIEW,            /* independent, all pieces by a view */
  VIEW_SPARSE,     /* likewise, out of memory with holes */
  NONBLOCKING,     /* independent, all pieces at once */
  SPLIT,           /* collective in two calls, by a view */
  VIEW_ATOMIC,     /* independent by a view, in atomic mode */
  SPLIT_AT,        /* collective in two calls, a piece a pair */
  NONBLOCKING_ALL, /* collective, by a view, waited for */
  NONBLOCKING_AT   /* collective, a piece a call, waited for one after the other */
};

struct counts {
  int writes, reads; /* rounds of a seed, over all its files */
};

struct file {
  char path[4096];
  struct counts* counts;
  int number;
  MPI_File handle;
  struct prove_image image;
};

void prove_hdf5_version(char* text, int capacity) {
  if (capacity > 0) text[0] = '\0';
}

static int is_view(enum way way) {
  return way == VIEW_ALL || way == VIEW_ALL_SPARSE || way == VIEW || way == VIEW_SPARSE ||
         way == SPLIT || way == VIEW_ATOMIC || way == NONBLOCKING_ALL;
}
static int is_sparse(enum way way) {
  return way == VIEW_ALL_SPARSE || way == VIEW_SPARSE;
}

static long long sum(const struct prove_pieces* pieces) {
  long long bytes = 0;
  for (int i = 0; i < pieces->count; i++) bytes += pieces->of[i].bytes;
  return bytes;
}

/* The file type of a rank's pieces; freed by the caller. */
static MPI_Datatype file_type(const struct prove_pieces* pieces) {
  int lengths[PROVE_MOST_PIECES];
  MPI_Aint places[PROVE_MOST_PIECES];
  MPI_Datatype type;
  for (int i = 0; i < pieces->count; i++) {
    lengths[i] = pieces->of[i].bytes;
    places[i] = (MPI_Aint)pieces->of[i].offset;
  }
  MPI_Type_create_hindexed(pieces->count, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Memory of which every second run of 7 bytes is transferred; `bytes` in all. */
enum { RUN = 7 };
static MPI_Datatype sparse_type(long long bytes) {
  MPI_Datatype vector, type;
  int runs = (int)(bytes / RUN), rest = (int)(bytes % RUN);
  MPI_Type_vector(runs, RUN, 2 * RUN, MPI_BYTE, &vector);
  int lengths[2] = {1, rest};
  MPI_Aint places[2] = {0, (MPI_Aint)runs * 2 * RUN};
  MPI_Datatype types[2] = {vector, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&vector);
  return type;
}

static void spread(unsigned char* sparse, const unsigned char* dense, long long bytes) {
  for (long long i = 0; i < bytes; i++) sparse[i / RUN * 2 * RUN + i % RUN] = dense[i];
}
static void gather(unsigned char* dense, const unsigned char* sparse, long long bytes) {
  for (long long i = 0; i < bytes; i++) dense[i] = sparse[i / RUN * 2 * RUN + i % RUN];
}

static void by_view(const struct file* file, const struct prove_pieces* pieces, enum way way,
                    int writing, unsigned char* dense, long long bytes) {
  const char* path = file->path;
  MPI_File f = file->handle;
  MPI_Datatype type = MPI_BYTE, memory = MPI_BYTE;
  unsigned char* buffer = dense;
  int count = (int)bytes;
  if (pieces->count > 0) type = file_type(pieces);
  if (is_sparse(way) && bytes > 0) {
    memory = sparse_type(bytes);
    buffer = calloc(1, (size_t)bytes * 2 + 2 * RUN);
    if (buffer == NULL) prove_fail(path, "no memory");
    if (writing) spread(buffer, dense, bytes);
    count = 1;
  }
  prove_need(MPI_File_set_view(f, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), path,
             "MPI_File_set_view");
  MPI_Status status;
  int code = MPI_SUCCESS;
  if (way == VIEW_ALL || way == VIEW_ALL_SPARSE) {
    code = writing ? MPI_File_write_all(f, buffer, count, memory, &status)
                   : MPI_File_read_all(f, buffer, count, memory, &status);
  } else if (way == SPLIT) {
    code = writing ? MPI_File_write_all_begin(f, buffer, count, memory)
                   : MPI_File_read_all_begin(f, buffer, count, memory);
    prove_need(code, path, "the beginning of a split call");
    code = writing ? MPI_File_write_all_end(f, buffer, &status)
                   : MPI_File_read_all_end(f, buffer, &status);
  } else if (way == NONBLOCKING_ALL) {
    MPI_Request request;
    code = writing ? MPI_File_iwrite_all(f, buffer, count, memory, &request)
                   : MPI_File_iread_all(f, buffer, count, memory, &request);
    prove_need(code, path, "a non-blocking collective call");
    code = MPI_Wait(&request, &status);
  } else {
    code = writing ? MPI_File_write(f, buffer, count, memory, &status)
                   : MPI_File_read(f, buffer, count, memory, &status);
  }
  prove_need(code, path, writing ? "a write by a view" : "a read by a view");
  prove_need(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), path,
             "MPI_File_set_view");
  if (buffer != dense) {
    if (!writing) gather(dense, buffer, bytes);
    free(buffer);
    MPI_Type_free(&memory);
  }
  if (pieces->count > 0) MPI_Type_free(&type);
}

static void by_offset(const struct file* file, const struct prove_pieces* pieces, enum way way,
                      int writing, int calls, unsigned char* dense) {
  MPI_File f = file->handle;
  MPI_Request requests[PROVE_MOST_PIECES];
  unsigned char* at = dense;
  /* Every rank makes the same number of collective calls. */
  int collective = way == AT_ALL || way == SPLIT_AT || way == NONBLOCKING_AT;
  int count = collective ? calls : pieces->count;
  for (int i = 0; i < count; i++) {
    struct prove_piece one = {0, 0};
    if (i < pieces->count) one = pieces->of[i];
    MPI_Offset offset = (MPI_Offset)one.offset;
    MPI_Status status;
    int code;
    if (way == AT_ALL) {
      code = writing ? MPI_File_write_at_all(f, offset, at, one.bytes, MPI_BYTE, &status)
                     : MPI_File_read_at_all(f, offset, at, one.bytes, MPI_BYTE, &status);
    } else if (way == SPLIT_AT) {
      code = writing ? MPI_File_write_at_all_begin(f, offset, at, one.bytes, MPI_BYTE)
                     : MPI_File_read_at_all_begin(f, offset, at, one.bytes, MPI_BYTE);
      prove_need(code, file->path, "the beginning of a split call");
      code = writing ? MPI_File_write_at_all_end(f, at, &status)
                     : MPI_File_read_at_all_end(f, at, &status);
    } else if (way == NONBLOCKING_AT) {
      code = writing ? MPI_File_iwrite_at_all(f, offset, at, one.bytes, MPI_BYTE, &requests[0])
                     : MPI_File_iread_at_all(f, offset, at, one.bytes, MPI_BYTE, &requests[0]);
      prove_need(code, file->path, "a non-blocking collective call");
      code = MPI_Wait(&requests[0], &status);
    } else if (way == NONBLOCKING) {
      code = writing ? MPI_File_iwrite_at(f, offset, at, one.bytes, MPI_BYTE, &requests[i])
                     : MPI_File_iread_at(f, offset, at, one.bytes, MPI_BYTE, &requests[i]);
    } else {
      code = writing ? MPI_File_write_at(f, offset, at, one.bytes, MPI_BYTE, &status)
                     : MPI_File_read_at(f, offset, at, one.bytes, MPI_BYTE, &status);
    }
    prove_need(code, file->path, writing ? "a write at an offset" : "a read at an offset");
    at += one.bytes;
  }
  for (int i = 0; way == NONBLOCKING && i < count; i++) {
    MPI_Status status;
    prove_need(MPI_Wait(&requests[i], &status), file->path, "MPI_Wait");
  }
}

static void transfer(const struct prove* prove, const struct file* file,
                     const struct prove_pieces* pieces, enum way way, int writing,
                     unsigned char* dense) {
  const struct prove_pieces* own = &pieces[prove->rank];
  if (is_view(way)) {
    by_view(file, own, way, writing, dense, sum(own));
    return;
  }
  int calls = 0;
  for (int rank = 0; rank < prove->ranks; rank++)
    if (pieces[rank].count > calls) calls = pieces[rank].count;
  by_offset(file, own, way, writing, calls, dense);
}

/* The file as all ranks left it, for all ranks. */
static void settle(const struct file* file) {
  prove_need(MPI_File_sync(file->handle), file->path, "MPI_File_sync");
  MPI_Barrier(MPI_COMM_WORLD);
  prove_need(MPI_File_sync(file->handle), file->path, "MPI_File_sync");
}

static void set_atomic(const struct file* file, int on) {
  prove_need(MPI_File_set_atomicity(file->handle, on), file->path, "MPI_File_set_atomicity");
}

/* Every way in turn, so that five seeds have each. */
static enum way next_way(const struct prove* prove, int* used) {
  enum way way = (enum way)((prove->seed * 5 + (unsigned long long)(*used)++) % WAYS);
  /* There such calls end in a null pointer, no matter who makes them. */
  if (way == NONBLOCKING_ALL && prove->is_open_mpi_romio) return VIEW_ALL;
  if (way == NONBLOCKING_AT && prove->is_open_mpi_romio) return AT_ALL;
  return way;
}

/* Cuts the file, or lets it grow: by its size, or by room for what is not written yet. OMPIO's
 * ranks are out of step after MPI_File_preallocate, without any setting too. */
static void resize(const struct prove* prove, struct file* file, unsigned long long* state) {
  struct prove_image* image = &file->image;
  long long size = prove_below(state, MOST_BYTES);
  if (prove_below(state, 2) || prove->is_ompio) {
    prove_need(MPI_File_set_size(file->handle, (MPI_Offset)size), file->path, "MPI_File_set_size");
    for (long long i = size; i < image->size; i++) image->known[i] = 0;
    image->size = size;
  } else {
    prove_need(MPI_File_preallocate(file->handle, (MPI_Offset)size), file->path,
               "MPI_File_preallocate");
    if (image->size < size) image->size = size;
  }
  settle(file);
}

static void write_round(struct prove* prove, struct file* file, unsigned long long* state,
                        int round, struct prove_pieces* pieces, unsigned char* dense) {
  enum way way = next_way(prove, &file->counts->writes);
  long long begin = prove_below(state, 3) ? 0 : prove_below(state, 3000);
  long long span = 1000 + prove_below(state, MOST_BYTES - begin - 1000);
  prove_draw_pieces(state, prove->ranks, begin, span, pieces);
  long long at = 0;
  for (int rank = 0; rank < prove->ranks; rank++) {
    for (int i = 0; i < pieces[rank].count; i++) {
      const struct prove_piece* one = &pieces[rank].of[i];
      for (int k = 0; k < one->bytes; k++) {
        unsigned char byte = prove_byte(prove->seed, file->number, round, one->offset + k);
        file->image.bytes[one->offset + k] = byte;
        file->image.known[one->offset + k] = 1;
        if (rank == prove->rank) dense[at++] = byte;
      }
      if (one->offset + one->bytes > file->image.size) file->image.size = one->offset + one->bytes;
    }
  }
  if (way == VIEW_ATOMIC) set_atomic(file, 1);
  transfer(prove, file, pieces, way, 1, dense);
  if (way == VIEW_ATOMIC) set_atomic(file, 0);
  settle(file);
}

static void read_round(struct prove* prove, struct file* file, unsigned long long* state,
                       struct prove_pieces* pieces, unsigned char* dense) {
  enum way way = next_way(prove, &file->counts->reads);
  if (file->image.size < 16 * prove->ranks) return;
  prove_draw_pieces(state, prove->ranks, 0, file->image.size, pieces);
  const struct prove_pieces* own = &pieces[prove->rank];
  memset(dense, 0xee, (size_t)sum(own));
  transfer(prove, file, pieces, way, 0, dense);
  long long at = 0;
  for (int i = 0; i < own->count; i++) {
    prove_compare(prove, "as read", file->number, own->of[i].offset, dense + at, &file->image,
                  own->of[i].bytes);
    at += own->of[i].bytes;
  }
}

static void open_file(const struct prove* prove, struct file* file, int mode) {
  MPI_Info info = prove_hints(prove);
  prove_need(MPI_File_open(MPI_COMM_WORLD, file->path, mode, info, &file->handle), file->path,
             "MPI_File_open");
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

/* Half of the files hold bytes before they are opened, which what nobody writes must keep. */
static void begin_file(struct prove* prove, struct file* file, unsigned long long* state) {
  struct prove_image* image = &file->image;
  memset(image->known, 0, MOST_BYTES);
  image->size = 0;
  if (prove_below(state, 2)) {
    image->size = 1 + prove_below(state, MOST_BYTES);
    for (long long i = 0; i < image->size; i++)
      image->bytes[i] = prove_byte(prove->seed, file->number, BEFORE, i);
    memset(image->known, 1, (size_t)image->size);
    prove_write_file(prove, file->path, image);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  open_file(prove, file, MPI_MODE_CREATE | MPI_MODE_RDWR);
}

static void end_file(struct prove* prove, struct file* file) {
  prove_need(MPI_File_close(&file->handle), file->path, "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  prove_compare_file(prove, file->path, file->number, &file->image);
  if (prove->rank == 0) unlink(file->path);
}

static void write_pair(struct prove* prove, struct file* pair, int count, unsigned long long* state,
                       struct prove_pieces* pieces, unsigned char* dense) {
  for (int k = 0; k < count; k++) begin_file(prove, &pair[k], state);
  int rounds = 1 + (int)prove_below(state, 3);
  for (int round = 0; round < rounds; round++) {
    for (int k = 0; k < count; k++) write_round(prove, &pair[k], state, round, pieces, dense);
    if (prove_below(state, 3) == 0) resize(prove, &pair[count - 1], state);
    if (prove_below(state, 4)) continue;
    /* What is written after this goes into a file that is there. */
    prove_need(MPI_File_close(&pair[0].handle), pair[0].path, "MPI_File_close");
    MPI_Barrier(MPI_COMM_WORLD);
    open_file(prove, &pair[0], MPI_MODE_RDWR);
  }
  for (int round = 0; round < 2; round++)
    for (int k = 0; k < count; k++) read_round(prove, &pair[k], state, pieces, dense);
  for (int k = 0; k < count; k++) end_file(prove, &pair[k]);
}

void prove_files(struct prove* prove) {
  if (prove->ranks > MOST_RANKS) prove_fail(prove->directory, "more ranks than are provided for");
  struct file pair[2];
  struct counts counts = {0, 0};
  struct prove_pieces* pieces = calloc((size_t)prove->ranks, sizeof *pieces);
  unsigned char* dense = malloc(MOST_BYTES);
  unsigned char* images = malloc(4 * (size_t)MOST_BYTES);
  if (pieces == NULL || dense == NULL || images == NULL) prove_fail(prove->directory, "no memory");
  for (int k = 0; k < 2; k++)
    pair[k].image = (struct prove_image){images + (size_t)(2 * k) * MOST_BYTES,
                                         images + (size_t)(2 * k + 1) * MOST_BYTES, 0};
  unsigned long long state = prove->seed;
  for (int number = 0; number < prove->files; number += 2) {
    int count = prove->files - number < 2 ? 1 : 2;
    for (int k = 0; k < count; k++) {
      pair[k].number = number + k;
      pair[k].counts = &counts;
      snprintf(pair[k].path, sizeof pair[k].path, "%s/proof-%llu-%d", prove->directory, prove->seed,
               number + k);
    }
    write_pair(prove, pair, count, &state, pieces, dense);
  }
  free(images);
  free(dense);
  free(pieces);
  prove_shared(prove);
  prove_checkpoints(prove);
}
