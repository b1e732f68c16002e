#include "replay_file.h"

#include <stdlib.h>

#include "replay_forms.h"

/* Bytes that this rank selects in one repetition; pieces that overlap count twice. */
static size_t selected_bytes(const struct plan_transfer* transfer,
                             const struct plan_dataset* dataset) {
  size_t n = (size_t)dataset->ndims, elements = 0;
  if (transfer->selection == PLAN_POINTS) elements = transfer->count;
  for (size_t i = 0; transfer->selection == PLAN_SLABS && i < transfer->count; i++)
    elements += replay_product(&transfer->place[i * 4 * n + 2 * n], 2 * n);
  if (transfer->selection == PLAN_ALL) elements = replay_product(dataset->dims, n);
  return elements * dataset->element_bytes;
}

size_t replay_largest(const struct plan_file* file) {
  size_t largest = 0, call_bytes = 0, left = 0; /* left: transfers of one call */
  for (size_t i = 0; i < file->transfers; i++) {
    const struct plan_transfer* transfer = &file->transfer[i];
    size_t bytes = selected_bytes(transfer, &file->dataset[transfer->dataset]);
    if (transfer->multi > 0) {
      left = transfer->multi;
      call_bytes = 0;
    }
    if (left > 0) {
      bytes = call_bytes += bytes;
      left--;
    }
    if (transfer->of_chunks && replay_chunk_room(file, transfer) > bytes)
      bytes = replay_chunk_room(file, transfer);
    if (bytes > largest) largest = bytes;
  }
  return largest;
}

void replay_reserve(struct replay_buffer* buffer, size_t size) {
  if (size <= buffer->size) return;
  free(buffer->byte);
  buffer->size = size;
  buffer->byte = malloc(size);
  if (buffer->byte == NULL) replay_fail("memory", "there is not enough for the largest transfer");
  /* The first touch of a page is no I/O. The bytes do not compress to nothing. */
  uint32_t state = 1;
  for (size_t i = 0; i < size; i++) {
    state = state * 1664525u + 1013904223u;
    buffer->byte[i] = (char)(state >> 24);
  }
}

/* A file while it is replayed. */
struct open_file {
  const struct plan_file* file;
  hid_t handle;
  hid_t* id;  /* of each of its datasets */
  bool* used; /* whether a transfer of this rank went through that id */
};

/* The id for a call of the transfer. */
static hid_t dataset_for(struct open_file* open, const struct plan_transfer* transfer) {
  size_t number = transfer->dataset;
  if (transfer->reopens && open->used[number])
    open->id[number] = replay_reopen_dataset(open->handle, open->id[number], open->file,
                                             &open->file->dataset[number]);
  open->used[number] = true;
  return open->id[number];
}

static void replay_call(hid_t id, const struct plan_file* file,
                        const struct plan_transfer* transfer, hsize_t repetition, bool write,
                        bool asynchronous, hid_t mode, struct replay_buffer* buffer) {
  hid_t space = replay_need(H5Dget_space(id), file->path, "no dataspace");
  hid_t memory = replay_select(space, file, transfer, repetition);
  replay_move(id, file, &file->dataset[transfer->dataset], write, asynchronous, memory, space, mode,
              buffer);
  H5Sclose(memory);
  H5Sclose(space);
}

static void replay_transfer(struct open_file* open, const struct plan_transfer* transfer,
                            struct replay_buffer* buffer) {
  const struct plan_file* file = open->file;
  bool of_chunks = transfer->of_chunks && !buffer->verify;
  if (transfer->selection == PLAN_UNLISTED && (of_chunks || !transfer->collective)) return;
  hid_t mode = replay_mode(file->path, transfer->collective);
  for (hsize_t i = 0; i < transfer->repeat; i++) {
    hid_t id = dataset_for(open, transfer);
    if (of_chunks) {
      replay_chunks(id, file, transfer, i, buffer);
      continue;
    }
    replay_pause(transfer, buffer);
    replay_call(id, file, transfer, i, transfer->write, transfer->asynchronous, mode, buffer);
  }
  if (transfer->collective) H5Pclose(mode);
}

/* Makes the transfer by the call that the plan names. Returns the transfer after those that the
 * call made. Where bytes are compared, each dataset has a call of its own. */
static size_t replay_one(struct open_file* open, size_t at, struct replay_buffer* buffer) {
  const struct plan_file* file = open->file;
  const struct plan_transfer* transfer = &file->transfer[at];
  size_t moved = 1;
  if (transfer->multi > 0 && !buffer->verify) {
    moved = transfer->multi;
    for (size_t i = at; i < at + moved; i++)
      if (file->transfer[i].selection != PLAN_UNLISTED || transfer->collective)
        dataset_for(open, &file->transfer[i]);
    replay_multi(open->id, file, transfer, buffer);
  } else {
    replay_transfer(open, transfer, buffer);
  }
  bool waits = false;
  for (size_t i = at; i < at + moved; i++) waits = waits || file->transfer[i].waits;
  if (waits) replay_wait(file);
  return at + moved;
}

/* Opens or creates the datasets whose turn is before `transfer`. */
static void meet_datasets(struct open_file* open, size_t transfer, size_t* next) {
  const struct plan_file* file = open->file;
  for (; *next < file->datasets && file->dataset[*next].before <= transfer; ++*next) {
    const struct plan_dataset* dataset = &file->dataset[*next];
    open->id[*next] = file->create ? replay_create_dataset(open->handle, file, dataset)
                                   : replay_open_dataset(open->handle, file, dataset);
    if (!dataset->used) replay_close_dataset(open->id[*next], file, dataset);
  }
}

void replay_file(const struct plan_file* file, struct replay_buffer* buffer) {
  struct open_file open = {.file = file,
                           .handle = file->create ? replay_create_file(file->path, file->page_bytes)
                                                  : replay_open_file(file->path, file->writes),
                           .id = calloc(file->datasets + 1, sizeof *open.id),
                           .used = calloc(file->datasets + 1, sizeof *open.used)};
  if (open.id == NULL || open.used == NULL) replay_fail(file->path, "out of memory");
  size_t next = 0;
  for (size_t i = 0; i < file->transfers;) {
    size_t several = file->transfer[i].multi, done = i;
    meet_datasets(&open, several > 0 ? i + several - 1 : i, &next);
    for (i = replay_one(&open, i, buffer); done < i; done++) {
      const struct plan_dataset* dataset = &file->dataset[file->transfer[done].dataset];
      if (dataset->last_transfer == done)
        replay_close_dataset(open.id[file->transfer[done].dataset], file, dataset);
    }
  }
  meet_datasets(&open, file->transfers, &next);
  replay_wait(file);
  free(open.id);
  free(open.used);
  replay_need(H5Fclose(open.handle), file->path, "cannot close");
}

void replay_read_again(const struct plan_file* file, struct replay_buffer* buffer) {
  hid_t handle = replay_open_file(file->path, false);
  for (size_t i = 0; i < file->transfers; i++) {
    const struct plan_transfer* transfer = &file->transfer[i];
    const struct plan_dataset* dataset = &file->dataset[transfer->dataset];
    if (!transfer->write) continue;
    hid_t id = replay_open_dataset(handle, file, dataset);
    for (hsize_t k = 0; transfer->selection != PLAN_UNLISTED && k < transfer->repeat; k++)
      replay_call(id, file, transfer, k, false, false, H5P_DEFAULT, buffer);
    replay_close_dataset(id, file, dataset);
  }
  replay_need(H5Fclose(handle), file->path, "cannot close");
}
