#include "replay_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

void replay_pause(const struct plan_transfer* transfer, struct replay_buffer* buffer) {
  struct timespec left = {(time_t)(transfer->pause_ns / 1000000000LL),
                          (long)(transfer->pause_ns % 1000000000LL)};
  if (transfer->pause_ns == 0 || buffer->verify) return;
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

#if H5_VERSION_GE(1, 14, 0)

static hid_t events = H5I_INVALID_HID; /* what was begun and not waited for */

static hid_t event_set(const struct plan_file* file) {
  if (events < 0) events = replay_need(H5EScreate(), file->path, "no event set");
  return events;
}

void replay_begin(hid_t id, const struct plan_file* file, const struct plan_dataset* dataset,
                  bool write, hid_t type, hid_t memory, hid_t space, hid_t mode, char* bytes) {
  hid_t set = event_set(file);
  herr_t status = write ? H5Dwrite_async(id, type, memory, space, mode, bytes, set)
                        : H5Dread_async(id, type, memory, space, mode, bytes, set);
  if (status < 0)
    replay_fail_dataset(file, dataset, write ? "cannot be written" : "cannot be read");
}

void replay_wait(const struct plan_file* file) {
  size_t left = 0;
  hbool_t failed = 0;
  if (events < 0) return;
  if (H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) < 0 || failed || left > 0)
    replay_fail(file->path, "an asynchronous transfer failed");
  H5ESclose(events);
  events = H5I_INVALID_HID;
}

static void call_multi(const struct plan_file* file, const struct plan_transfer* first, size_t n,
                       hid_t* ids, hid_t* types, hid_t* memories, hid_t* spaces, hid_t mode,
                       char** bytes) {
  herr_t status;
  if (first->asynchronous) {
    hid_t set = event_set(file);
    status =
        first->write
            ? H5Dwrite_multi_async(n, ids, types, memories, spaces, mode, (const void**)bytes, set)
            : H5Dread_multi_async(n, ids, types, memories, spaces, mode, (void**)bytes, set);
  } else {
    status = first->write
                 ? H5Dwrite_multi(n, ids, types, memories, spaces, mode, (const void**)bytes)
                 : H5Dread_multi(n, ids, types, memories, spaces, mode, (void**)bytes);
  }
  if (status < 0) replay_fail(file->path, "several datasets cannot be moved by one call");
}

#else

void replay_begin(hid_t id, const struct plan_file* file, const struct plan_dataset* dataset,
                  bool write, hid_t type, hid_t memory, hid_t space, hid_t mode, char* bytes) {
  herr_t status = write ? H5Dwrite(id, type, memory, space, mode, bytes)
                        : H5Dread(id, type, memory, space, mode, bytes);
  if (status < 0)
    replay_fail_dataset(file, dataset, write ? "cannot be written" : "cannot be read");
}

void replay_wait(const struct plan_file* file) {
  (void)file;
}

static void call_multi(const struct plan_file* file, const struct plan_transfer* first, size_t n,
                       hid_t* ids, hid_t* types, hid_t* memories, hid_t* spaces, hid_t mode,
                       char** bytes) {
  for (size_t i = 0; i < n; i++)
    replay_begin(ids[i], file, &file->dataset[first[i].dataset], first->write, types[i],
                 memories[i], spaces[i], mode, bytes[i]);
}

#endif

static size_t chunk_bytes(const struct plan_dataset* dataset) {
  return dataset->element_bytes * replay_product(dataset->chunk, (size_t)dataset->ndims);
}

size_t replay_chunk_room(const struct plan_file* file, const struct plan_transfer* transfer) {
  /* Bytes that do not compress are stored in a little more room than they have. */
  size_t whole = chunk_bytes(&file->dataset[transfer->dataset]);
  size_t stored = transfer->stored_bytes > whole ? transfer->stored_bytes : whole;
  return stored + stored / 8 + 1024;
}

void replay_chunks(hid_t id, const struct plan_file* file, const struct plan_transfer* transfer,
                   hsize_t repetition, struct replay_buffer* buffer) {
  const struct plan_dataset* dataset = &file->dataset[transfer->dataset];
  size_t n = (size_t)dataset->ndims;
  size_t bytes = transfer->stored_bytes > 0 ? transfer->stored_bytes : chunk_bytes(dataset);
  hsize_t offset[H5S_MAX_RANK];
  uint32_t filters = transfer->filters;
  replay_pause(transfer, buffer);
  for (size_t k = 0; k < transfer->count; k++) {
    for (size_t d = 0; d < n; d++)
      offset[d] = transfer->place[k * 4 * n + d] +
                  (repetition > 0 ? repetition * (hsize_t)transfer->shift[d] : 0);
    buffer->moved +=
        dataset->element_bytes * replay_product(&transfer->place[(k * 4 + 2) * n], 2 * n);
    herr_t status;
    if (transfer->write)
      status = H5Dwrite_chunk(id, H5P_DEFAULT, filters, offset, bytes, buffer->byte);
    else
#if H5_VERSION_GE(2, 0, 0)
      status = H5Dread_chunk1(id, H5P_DEFAULT, offset, &filters, buffer->byte);
#else
      status = H5Dread_chunk(id, H5P_DEFAULT, offset, &filters, buffer->byte);
#endif
    if (status < 0)
      replay_fail_dataset(file, dataset,
                          transfer->write ? "has a chunk that cannot be written"
                                          : "has a chunk that cannot be read");
  }
}

void replay_multi(const hid_t* id, const struct plan_file* file, const struct plan_transfer* first,
                  struct replay_buffer* buffer) {
  size_t n = 0, all = first->multi, at = 0;
  hid_t* ids = calloc(4 * all, sizeof *ids);
  char** bytes = calloc(all, sizeof *bytes);
  if (ids == NULL || bytes == NULL) replay_fail(file->path, "out of memory");
  hid_t *types = ids + all, *memories = types + all, *spaces = memories + all;
  for (size_t i = 0; i < all; i++) {
    const struct plan_transfer* transfer = &first[i];
    if (transfer->selection == PLAN_UNLISTED && !first->collective) continue;
    hid_t dataset = id[transfer->dataset];
    ids[n] = dataset;
    types[n] = replay_need(H5Dget_type(dataset), file->path, "no element type");
    spaces[n] = replay_need(H5Dget_space(dataset), file->path, "no dataspace");
    memories[n] = replay_select(spaces[n], file, transfer, 0);
    bytes[n] = buffer->byte + at;
    hssize_t selected = H5Sget_select_npoints(spaces[n]);
    at += (size_t)(selected > 0 ? selected : 0) * file->dataset[transfer->dataset].element_bytes;
    n++;
  }
  buffer->moved += at;
  hid_t mode = replay_mode(file->path, first->collective);
  replay_pause(first, buffer);
  if (n > 0) call_multi(file, first, n, ids, types, memories, spaces, mode, bytes);
  if (first->collective) H5Pclose(mode);
  for (size_t i = 0; i < n; i++) {
    H5Sclose(memories[i]);
    H5Sclose(spaces[i]);
    H5Tclose(types[i]);
  }
  free(ids);
  free(bytes);
}
