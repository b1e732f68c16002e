/* iotune-prove: series of small files, as programs write checkpoints. The files of a series have
 * one form, and are written by collective calls in quick succession, from memory that is used again
 * at once. Some faults of MPI libraries show only so: OMPIO of Open MPI 4.1 with several
 * aggregators writes wrong bytes in long runs of such calls or not at all, never with two ranks,
 * and never with messages that are too large to be sent at once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prove.h"

enum {
  MOST_SERIES = 48,  /* of a seed */
  LEAST_SERIES = 12, /* and where time is short, in which case each is as short */
  FILES = 16,        /* of a series */
  FEW_FILES = 2,
  MOST_BYTES = 1 << 22,
  SENT_AT_ONCE = 4096, /* many libraries copy smaller messages and let the sender go on */
  FORMS = 6
};

/* How the ranks share a record. A record repeats a period `outer` times. A period is a row of
 * elements of `inner` bytes: those of rank 0, those of rank 1, and so on, and a gap of nobody's. */
enum form { OFFSETS, VECTOR, INDEXED, SUBARRAY_1D, SUBARRAY_2D, SUBARRAY_3D };

struct record {
  enum form form;
  int outer, inner, period;
  int depth;  /* SUBARRAY_3D: its last dimension, a divisor of `inner` */
  int* first; /* of each rank, and behind the last one: an element of the period */
};

struct checkpoints {
  struct record record;
  long long header;
  int files, steps, independent, stalls;
};

struct buffers {
  struct prove_image image;
  unsigned char* dense; /* a rank's part of a record */
};

static int part(const struct record* record, int rank) {
  return record->first[rank + 1] - record->first[rank];
}
static long long record_bytes(const struct record* record) {
  return (long long)record->outer * record->period * record->inner;
}
static long long own_bytes(const struct record* record, int rank) {
  return (long long)record->outer * part(record, rank) * record->inner;
}

/* Around `bytes` a rank; exactly as many, or one element less, where `even`. */
static void draw_record(unsigned long long* state, int ranks, long long bytes, int even,
                        struct record* record) {
  enum form form = (enum form)prove_below(state, FORMS);
  record->form = form;
  record->depth = 1 + (int)prove_below(state, 5);
  record->inner = form == SUBARRAY_3D  ? record->depth * (1 << prove_below(state, 3))
                  : form < SUBARRAY_1D ? 1
                                       : 1 << prove_below(state, 4);
  record->outer = form == OFFSETS || form == SUBARRAY_1D ? 1 : 1 + (int)prove_below(state, 12);
  int length = (int)(bytes / ((long long)record->outer * record->inner));
  if (length < 1) length = 1;
  if (form == VECTOR) even = 1;
  record->first[0] = 0;
  for (int rank = 0; rank < ranks; rank++) {
    int own = even ? length : 1 + (int)prove_below(state, 2 * length);
    if (!even && prove_below(state, 6) == 0) own = 0;
    record->first[rank + 1] = record->first[rank] + own;
  }
  if (record->first[ranks] == 0) record->first[ranks] = 1;
  int gap = prove_below(state, 4) ? 0 : 1 + (int)prove_below(state, length);
  record->period = record->first[ranks] + (even && form != VECTOR ? 0 : gap);
}

/* The smallest buffer among the settings, at which libraries part a transfer. */
static long long buffer_of(const struct prove* prove) {
  static const char* const names[] = {"cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size"};
  long long bytes = 1 << 16;
  for (int i = 0; i < 3; i++) {
    const char* value = prove_value(prove, names[i]);
    if (value != NULL) bytes = strtoll(value, NULL, 10);
  }
  return bytes < 64 ? 64 : bytes > MOST_BYTES / 4 ? MOST_BYTES / 4 : bytes;
}

/* Whether a setting acts on transfers of single ranks above all. */
static int is_of_independent(const struct prove* prove) {
  static const char* const names[] = {"romio_ds_read", "romio_ds_write", "ind_rd_buffer_size",
                                      "ind_wr_buffer_size", "romio_no_indep_rw"};
  for (int i = 0; i < 5; i++)
    if (prove_value(prove, names[i]) != NULL) return 1;
  return 0;
}

static void draw_series(const struct prove* prove, unsigned long long* state, int number,
                        struct checkpoints* series) {
  long long bytes = 0, buffer = buffer_of(prove);
  int even = 0;
  series->files = FILES;
  series->steps = 4 + (int)prove_below(state, 5);
  series->header = prove_below(state, 3) ? 1 + prove_below(state, 300) : 0;
  series->stalls = prove_below(state, 4) > 0;
  series->independent = prove_below(state, is_of_independent(prove) ? 2 : 8) == 0;
  if (number % 8 == 6) {
    bytes = SENT_AT_ONCE - 32 + prove_below(state, 64);
  } else if (number % 8 == 7) {
    /* All ranks together, or each, about as much as a buffer holds. */
    even = 1;
    bytes = prove_below(state, 2) ? buffer : buffer * (1 + prove_below(state, 2)) / prove->ranks;
    bytes += prove_below(state, 9) - 4;
    series->files = 2;
  } else {
    bytes = 16 + prove_below(state, prove_below(state, 2) ? SENT_AT_ONCE : 800);
  }
  long long most = (MOST_BYTES - series->header) / (3 * (long long)prove->ranks);
  if (bytes > most) bytes = most;
  draw_record(state, prove->ranks, bytes, even, &series->record);
  long long fit = (MOST_BYTES - series->header) / record_bytes(&series->record);
  if (fit < series->steps) series->steps = (int)fit;
  if (fit < 1) prove_fail(prove->directory, "more ranks than are provided for");
}

/* `place`: each run of bytes that a rank has in a record, in turn. */
#define FOR_RUNS(record, rank, place)                                                  \
  for (long long row_ = 0, place = (long long)(record)->first[rank] * (record)->inner; \
       row_ < (record)->outer; row_++, place += (long long)(record)->period * (record)->inner)

/* What the file must hold. */
static void fill_image(const struct prove* prove, const struct checkpoints* series, int file,
                       struct prove_image* image) {
  const struct record* record = &series->record;
  long long whole = series->header + series->steps * record_bytes(record);
  memset(image->known, 0, (size_t)whole);
  image->size = 0;
  for (int step = 0; step < series->steps; step++) {
    for (int rank = 0; rank < prove->ranks; rank++) {
      long long bytes = (long long)part(record, rank) * record->inner;
      if (bytes == 0) continue;
      FOR_RUNS(record, rank, place) {
        long long at = series->header + step * record_bytes(record) + place;
        for (long long i = at; i < at + bytes; i++)
          image->bytes[i] = prove_byte(prove->seed, file, step, i);
        memset(image->known + at, 1, (size_t)bytes);
        if (at + bytes > image->size) image->size = at + bytes;
      }
    }
  }
}

/* The file type of a rank that has something; freed by the caller. */
static MPI_Datatype file_type(const struct record* record, int rank) {
  MPI_Datatype type, resized;
  int first = record->first[rank], length = part(record, rank);
  if (record->form == VECTOR || record->form == INDEXED) {
    if (record->form == VECTOR) {
      MPI_Type_vector(record->outer, length, record->period, MPI_BYTE, &type);
    } else {
      int lengths[16];
      MPI_Aint places[16];
      for (int i = 0; i < record->outer; i++) {
        lengths[i] = length;
        places[i] = (MPI_Aint)i * record->period;
      }
      MPI_Type_create_hindexed(record->outer, lengths, places, MPI_BYTE, &type);
    }
    MPI_Type_create_resized(type, 0, (MPI_Aint)record_bytes(record), &resized);
    MPI_Type_free(&type);
    type = resized;
  } else {
    MPI_Datatype element;
    int whole[3] = {record->outer, record->period, record->depth};
    int own[3] = {record->outer, length, record->depth}, start[3] = {0, first, 0};
    int from = record->form == SUBARRAY_1D ? 1 : 0;
    int axes = record->form == SUBARRAY_3D ? 3 : 2 - from;
    int bytes = record->form == SUBARRAY_3D ? record->inner / record->depth : record->inner;
    MPI_Type_contiguous(bytes, MPI_BYTE, &element);
    MPI_Type_create_subarray(axes, whole + from, own + from, start + from, MPI_ORDER_C, element,
                             &type);
    MPI_Type_free(&element);
  }
  MPI_Type_commit(&type);
  return type;
}

static void set_view(const struct prove* prove, const char* path, MPI_File file,
                     const struct checkpoints* series) {
  const struct record* record = &series->record;
  MPI_Datatype type = MPI_BYTE;
  MPI_Offset begin = (MPI_Offset)series->header;
  if (record->form == OFFSETS) return;
  if (part(record, prove->rank) > 0) type = file_type(record, prove->rank);
  if (record->form == VECTOR || record->form == INDEXED) begin += record->first[prove->rank];
  prove_need(MPI_File_set_view(file, begin, MPI_BYTE, type, "native", MPI_INFO_NULL), path,
             "MPI_File_set_view");
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

static void transfer(const struct prove* prove, const char* path, MPI_File file,
                     const struct checkpoints* series, int step, int writing,
                     unsigned char* dense) {
  const struct record* record = &series->record;
  int bytes = (int)own_bytes(record, prove->rank), alone = series->independent;
  MPI_Status status;
  int code;
  if (record->form == OFFSETS) {
    MPI_Offset at = (MPI_Offset)(series->header + step * record_bytes(record) +
                                 (long long)record->first[prove->rank] * record->inner);
    if (writing)
      code = alone ? MPI_File_write_at(file, at, dense, bytes, MPI_BYTE, &status)
                   : MPI_File_write_at_all(file, at, dense, bytes, MPI_BYTE, &status);
    else
      code = alone ? MPI_File_read_at(file, at, dense, bytes, MPI_BYTE, &status)
                   : MPI_File_read_at_all(file, at, dense, bytes, MPI_BYTE, &status);
  } else if (writing) {
    code = alone ? MPI_File_write(file, dense, bytes, MPI_BYTE, &status)
                 : MPI_File_write_all(file, dense, bytes, MPI_BYTE, &status);
  } else {
    code = alone ? MPI_File_read(file, dense, bytes, MPI_BYTE, &status)
                 : MPI_File_read_all(file, dense, bytes, MPI_BYTE, &status);
  }
  prove_need(code, path, writing ? "a write of a series" : "a read of a series");
}

static MPI_File opened(const struct prove* prove, const char* path, int mode) {
  MPI_Info info = prove_hints(prove);
  MPI_File file;
  prove_need(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file), path, "MPI_File_open");
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return file;
}

static void write_one(const struct prove* prove, const char* path, const struct checkpoints* series,
                      struct buffers* buffers) {
  const struct record* record = &series->record;
  long long run = (long long)part(record, prove->rank) * record->inner;
  MPI_File file = opened(prove, path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  set_view(prove, path, file, series);
  for (int step = 0; step < series->steps; step++) {
    unsigned char* to = buffers->dense;
    FOR_RUNS(record, prove->rank, place) {
      const unsigned char* from =
          buffers->image.bytes + series->header + step * record_bytes(record) + place;
      memcpy(to, from, (size_t)run);
      to += run;
    }
    transfer(prove, path, file, series, step, 1, buffers->dense);
    memset(buffers->dense, 0, (size_t)own_bytes(record, prove->rank));
  }
  prove_need(MPI_File_close(&file), path, "MPI_File_close");
}

/* Reads what fits of a file of `size` bytes through another form. */
static void read_one(struct prove* prove, const char* path, const struct checkpoints* series,
                     int number, struct buffers* buffers) {
  const struct record* record = &series->record;
  long long run = (long long)part(record, prove->rank) * record->inner;
  MPI_File file = opened(prove, path, MPI_MODE_RDONLY);
  set_view(prove, path, file, series);
  for (int step = 0; step < series->steps; step++) {
    memset(buffers->dense, 0xee, (size_t)own_bytes(record, prove->rank));
    transfer(prove, path, file, series, step, 0, buffers->dense);
    const unsigned char* got = buffers->dense;
    FOR_RUNS(record, prove->rank, place) {
      prove_compare(prove, "as read", number, series->header + step * record_bytes(record) + place,
                    got, &buffers->image, run);
      got += run;
    }
  }
  prove_need(MPI_File_close(&file), path, "MPI_File_close");
}

static void write_series(struct prove* prove, unsigned long long* state, int first_number,
                         struct checkpoints* series, struct checkpoints* reading,
                         struct buffers* buffers) {
  for (int i = 0; i < series->files; i++) {
    char path[4096];
    int number = first_number + i;
    snprintf(path, sizeof path, "%s/series-%llu-%d", prove->directory, prove->seed, number);
    fill_image(prove, series, number, &buffers->image);
    write_one(prove, path, series, buffers);
    if (i % 2 == 1) {
      long long size = buffers->image.size - series->header;
      *reading = (struct checkpoints){.record.first = reading->record.first};
      reading->header = series->header;
      reading->independent = series->independent;
      draw_record(state, prove->ranks, 1 + size / (4 * prove->ranks), 0, &reading->record);
      reading->steps = (int)(size / record_bytes(&reading->record));
      MPI_Barrier(MPI_COMM_WORLD);
      read_one(prove, path, reading, number, buffers);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Meanwhile the others are at the next file. */
    prove_compare_file(prove, path, number, &buffers->image);
    if (prove->rank == 0) unlink(path);
  }
}

void prove_checkpoints(struct prove* prove) {
  struct checkpoints series = {0}, reading = {0};
  struct buffers buffers = {0};
  series.record.first = calloc((size_t)prove->ranks + 1, sizeof(int));
  reading.record.first = calloc((size_t)prove->ranks + 1, sizeof(int));
  buffers.image.bytes = malloc(MOST_BYTES);
  buffers.image.known = malloc(MOST_BYTES);
  buffers.dense = malloc(MOST_BYTES);
  if (series.record.first == NULL || reading.record.first == NULL || buffers.image.bytes == NULL ||
      buffers.image.known == NULL || buffers.dense == NULL)
    prove_fail(prove->directory, "no memory");
  unsigned long long state = prove->seed ^ 0x5e71e5;
  double end = MPI_Wtime() + prove->small_file_seconds;
  for (int i = 0; i < MOST_SERIES; i++) {
    int late = MPI_Wtime() > end;
    MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (late && i >= LEAST_SERIES) break;
    draw_series(prove, &state, i, &series);
    if (late) series.files = FEW_FILES;
    if (series.stalls) prove_begin_stalls(prove, (unsigned)prove_draw(&state));
    write_series(prove, &state, prove->files + i * FILES, &series, &reading, &buffers);
    if (series.stalls) prove_end_stalls();
  }
  free(buffers.dense);
  free(buffers.image.known);
  free(buffers.image.bytes);
  free(reading.record.first);
  free(series.record.first);
}
