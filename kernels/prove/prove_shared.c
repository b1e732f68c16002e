/* iotune-prove: files that are written and read by the pointer that all ranks share. What is
 * written in the order of the ranks lies where the parts before it end. What is written in any
 * order is made of records that name their writer: each must be there once, whole. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prove.h"

enum { FILES = 2, STEPS = 6, MOST_PART = 3000, RECORD = 64, RECORDS = 5 };

struct shared {
  char path[4096];
  int number;
  MPI_File handle;
  int* parts; /* bytes of each rank in a step */
  struct prove_image image;
  unsigned char* own;
};

/* Whether this MPI can share a pointer here: without locks some cannot. The same on all ranks. */
static int open_shared(const struct prove* prove, struct shared* one) {
  MPI_Info info = prove_hints(prove);
  int ours = 0, all = 0;
  prove_need(
      MPI_File_open(MPI_COMM_WORLD, one->path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &one->handle),
      one->path, "MPI_File_open");
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  ours = MPI_File_seek_shared(one->handle, 0, MPI_SEEK_SET) == MPI_SUCCESS;
  MPI_Allreduce(&ours, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all;
}

static void close_shared(struct prove* prove, struct shared* one, int file_is_known) {
  prove_need(MPI_File_close(&one->handle), one->path, "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  if (file_is_known) prove_compare_file(prove, one->path, one->number, &one->image);
  MPI_Barrier(MPI_COMM_WORLD);
  if (prove->rank == 0) unlink(one->path);
}

/* As the tuner does at the first ordered call of a file whose ranks do not exchange what they
 * transfer: ROMIO then keeps no order (tuner/mpiio/ordered_calls.h). */
static void let_ranks_exchange(const struct prove* prove, const struct shared* one) {
  static const char* const names[] = {"romio_cb_read", "romio_cb_write"};
  static const char threshold[] = "romio_lustre_coll_threshold";
  MPI_Info info;
  int wanted = 0;
  MPI_Info_create(&info);
  for (int i = 0; i < 2; i++) {
    const char* value = prove_value(prove, names[i]);
    if (value == NULL || strcmp(value, "disable") != 0) continue;
    MPI_Info_set(info, names[i], "enable");
    wanted = 1;
  }
  const char* bytes = prove_value(prove, threshold);
  if (bytes != NULL && strcmp(bytes, "0") != 0) {
    MPI_Info_set(info, threshold, "0");
    wanted = 1;
  }
  if (wanted) prove_need(MPI_File_set_info(one->handle, info), one->path, "MPI_File_set_info");
  MPI_Info_free(&info);
}

static long long draw_parts(const struct prove* prove, unsigned long long* state,
                            struct shared* one) {
  long long bytes = 0;
  for (int rank = 0; rank < prove->ranks; rank++) {
    one->parts[rank] = prove_below(state, 5) ? (int)prove_below(state, MOST_PART) : 0;
    bytes += one->parts[rank];
  }
  return bytes;
}

static int ordered(MPI_File file, int writing, int split, unsigned char* bytes, int count) {
  MPI_Status status;
  if (!split)
    return writing ? MPI_File_write_ordered(file, bytes, count, MPI_BYTE, &status)
                   : MPI_File_read_ordered(file, bytes, count, MPI_BYTE, &status);
  int code = writing ? MPI_File_write_ordered_begin(file, bytes, count, MPI_BYTE)
                     : MPI_File_read_ordered_begin(file, bytes, count, MPI_BYTE);
  if (code != MPI_SUCCESS) return code;
  return writing ? MPI_File_write_ordered_end(file, bytes, &status)
                 : MPI_File_read_ordered_end(file, bytes, &status);
}

/* Bytes before this rank's part. */
static long long place_of(const struct prove* prove, const struct shared* one) {
  long long at = 0;
  for (int rank = 0; rank < prove->rank; rank++) at += one->parts[rank];
  return at;
}

static void write_in_order(const struct prove* prove, unsigned long long* state,
                           struct shared* one) {
  one->image.size = 0;
  for (int step = 0; step < STEPS; step++) {
    long long bytes = draw_parts(prove, state, one), begin = one->image.size;
    for (long long i = begin; i < begin + bytes; i++)
      one->image.bytes[i] = prove_byte(prove->seed, one->number, step, i);
    memset(one->image.known + begin, 1, (size_t)bytes);
    one->image.size += bytes;
    int count = one->parts[prove->rank];
    memcpy(one->own, one->image.bytes + begin + place_of(prove, one), (size_t)count);
    prove_need(ordered(one->handle, 1, (int)prove_below(state, 2), one->own, count), one->path,
               "a write in the order of ranks");
    memset(one->own, 0, (size_t)count);
  }
}

static void read_in_order(struct prove* prove, unsigned long long* state, struct shared* one) {
  long long at = 0;
  prove_need(MPI_File_sync(one->handle), one->path, "MPI_File_sync");
  prove_need(MPI_File_seek_shared(one->handle, 0, MPI_SEEK_SET), one->path, "MPI_File_seek_shared");
  MPI_Barrier(MPI_COMM_WORLD);
  for (;;) {
    long long bytes = draw_parts(prove, state, one);
    if (at + bytes > one->image.size) break;
    int count = one->parts[prove->rank];
    memset(one->own, 0xee, (size_t)count);
    prove_need(ordered(one->handle, 0, (int)prove_below(state, 2), one->own, count), one->path,
               "a read in the order of ranks");
    prove_compare(prove, "as read in order", one->number, at + place_of(prove, one), one->own,
                  &one->image, count);
    at += bytes;
  }
}

static void fill_record(const struct prove* prove, const struct shared* one, int record,
                        unsigned char* bytes) {
  for (int i = 0; i < RECORD; i++)
    bytes[i] = prove_byte(prove->seed, one->number, 50 + record % 40, record * RECORD + i);
  memcpy(bytes, &record, sizeof record);
}

static void fault(struct prove* prove, const struct shared* one, const char* what, int record) {
  if (prove->first_fault[0] == '\0')
    snprintf(prove->first_fault, sizeof prove->first_fault, "%s, file %d, record %d, on rank %d",
             what, one->number, record, prove->rank);
  prove->wrong_bytes += RECORD;
}

/* Counts a record in `seen`; one that nobody wrote, or that is damaged, is a fault. */
static void see_record(struct prove* prove, const struct shared* one, const unsigned char* got,
                       int* seen) {
  unsigned char expected[RECORD];
  int record = -1, records = prove->ranks * RECORDS;
  memcpy(&record, got, sizeof record);
  prove->compared_bytes += RECORD;
  if (record < 0 || record >= records) {
    fault(prove, one, "a record of nobody's by the shared pointer", record);
    return;
  }
  fill_record(prove, one, record, expected);
  if (memcmp(expected, got, RECORD) != 0) fault(prove, one, "a damaged record", record);
  seen[record]++;
}

/* Each record must have been seen once by all ranks together. */
static void check_seen(struct prove* prove, const struct shared* one, int* seen, const char* what) {
  int records = prove->ranks * RECORDS;
  MPI_Allreduce(MPI_IN_PLACE, seen, records, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; prove->rank == 0 && i < records; i++)
    if (seen[i] != 1) fault(prove, one, what, i);
}

static int in_any_order(MPI_File file, int writing, int nonblocking, unsigned char* bytes) {
  MPI_Status status;
  MPI_Request request;
  if (!nonblocking)
    return writing ? MPI_File_write_shared(file, bytes, RECORD, MPI_BYTE, &status)
                   : MPI_File_read_shared(file, bytes, RECORD, MPI_BYTE, &status);
  int code = writing ? MPI_File_iwrite_shared(file, bytes, RECORD, MPI_BYTE, &request)
                     : MPI_File_iread_shared(file, bytes, RECORD, MPI_BYTE, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, &status) : code;
}

static void any_order(struct prove* prove, unsigned long long* state, struct shared* one) {
  int* seen = calloc((size_t)prove->ranks * RECORDS, sizeof *seen);
  int nonblocking = (int)prove_below(state, 2);
  if (seen == NULL) prove_fail(one->path, "no memory");
  for (int i = 0; i < RECORDS; i++) {
    fill_record(prove, one, prove->rank * RECORDS + i, one->own);
    prove_need(in_any_order(one->handle, 1, nonblocking, one->own), one->path,
               "a write by the shared pointer");
    memset(one->own, 0, RECORD);
  }
  prove_need(MPI_File_sync(one->handle), one->path, "MPI_File_sync");
  MPI_Barrier(MPI_COMM_WORLD);
  prove_need(MPI_File_seek_shared(one->handle, 0, MPI_SEEK_SET), one->path, "MPI_File_seek_shared");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < RECORDS; i++) {
    memset(one->own, 0xee, RECORD);
    prove_need(in_any_order(one->handle, 0, nonblocking, one->own), one->path,
               "a read by the shared pointer");
    see_record(prove, one, one->own, seen);
  }
  check_seen(prove, one, seen, "not read once by the shared pointer");
  memset(seen, 0, (size_t)prove->ranks * RECORDS * sizeof *seen);
  FILE* stream = prove->rank == 0 ? fopen(one->path, "rb") : NULL;
  while (stream != NULL && fread(one->own, RECORD, 1, stream) == 1)
    see_record(prove, one, one->own, seen);
  if (stream != NULL) fclose(stream);
  check_seen(prove, one, seen, "not on disk once");
  free(seen);
}

void prove_shared(struct prove* prove) {
  size_t most = (size_t)prove->ranks * STEPS * MOST_PART;
  unsigned long long state = prove->seed ^ 0x54a6ed;
  struct shared one = {.parts = calloc((size_t)prove->ranks, sizeof(int)),
                       .image = {malloc(most), calloc(1, most), 0},
                       .own = malloc(MOST_PART)};
  if (one.parts == NULL || one.image.bytes == NULL || one.image.known == NULL || one.own == NULL)
    prove_fail(prove->directory, "no memory");
  prove_begin_stalls(prove, (unsigned)prove_draw(&state));
  for (int i = 0; i < FILES; i++) {
    int in_order = i % 2 == 0;
    one.number = 30000 + i;
    snprintf(one.path, sizeof one.path, "%s/shared-%llu-%d", prove->directory, prove->seed, i);
    int can = open_shared(prove, &one);
    if (can && in_order) {
      let_ranks_exchange(prove, &one);
      write_in_order(prove, &state, &one);
      read_in_order(prove, &state, &one);
    } else if (can) {
      any_order(prove, &state, &one);
    }
    close_shared(prove, &one, can && in_order);
  }
  prove_end_stalls();
  free(one.own);
  free(one.image.known);
  free(one.image.bytes);
  free(one.parts);
}
