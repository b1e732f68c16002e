#include "plan.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct plan* plan_of(struct plan_reader* reader) {
  return reader->plan;
}

static bool numbers(struct plan_reader* reader, const char* what, int n, long long low,
                    hsize_t* value) {
  for (int i = 0; i < n; i++) {
    long long parsed;
    if (!plan_number(reader, what, low, LLONG_MAX, &parsed)) return false;
    value[i] = (hsize_t)parsed;
  }
  return true;
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)tolower((unsigned char)c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A copy with %XX replaced. */
static bool name(struct plan_reader* reader, const char* what, char** out) {
  const char* from = plan_word(reader);
  if (from == NULL) return plan_refuse(reader, "%s is missing", what);
  char* to = *out = malloc(strlen(from) + 1);
  if (to == NULL) return plan_refuse(reader, "out of memory");
  for (; *from != '\0'; from++, to++) {
    *to = *from;
    if (*from != '%') continue;
    int high = hex(from[1]), low = high >= 0 ? hex(from[2]) : -1;
    if (low < 0 || high * 16 + low == 0)
      return plan_refuse(reader, "%s: after %% come two hexadecimal digits, not 00", what);
    *to = (char)(high * 16 + low);
    from += 2;
  }
  *to = '\0';
  return true;
}

static struct plan_file* current_file(struct plan_reader* reader) {
  return &plan_of(reader)->file[plan_of(reader)->files - 1];
}

static bool read_file(struct plan_reader* reader) {
  struct plan* plan = plan_of(reader);
  if (plan->inside) return plan_refuse(reader, "the file before was not closed");
  struct plan_file* file =
      plan_append(reader, (void**)&plan->file, &plan->files, sizeof *plan->file);
  if (file == NULL) return false;
  if (!name(reader, "FILE", &file->path)) return false;
  const char* how = plan_word(reader);
  if (how == NULL || (strcmp(how, "create") != 0 && strcmp(how, "open") != 0))
    return plan_refuse(reader, "a file is for 'create' or 'open'");
  file->create = how[0] == 'c';
  plan->inside = true;
  const char* word = plan_word(reader);
  if (word == NULL) return true;
  if (strcmp(word, "paged") != 0) return plan_refuse(reader, "'%s' follows no file", word);
  if (!plan_number(reader, "PAGE_BYTES", 512, 1LL << 30, &file->page_bytes)) return false;
  return plan_end(reader);
}

static bool read_chunk(struct plan_reader* reader, struct plan_dataset* dataset) {
  dataset->chunked = true;
  if (dataset->ndims == 0) return plan_refuse(reader, "a scalar has no chunks");
  return numbers(reader, "a chunk dimension", dataset->ndims, 1, dataset->chunk);
}

static bool read_class(struct plan_reader* reader, struct plan_dataset* dataset) {
  const char* word = plan_word(reader);
  if (reader->version < 3) return plan_refuse(reader, "'class' needs version 3 of a plan");
  if (word != NULL && strcmp(word, "integer") == 0) dataset->element_class = H5T_INTEGER;
  if (word != NULL && strcmp(word, "float") == 0) dataset->element_class = H5T_FLOAT;
  if (word != NULL && strcmp(word, "string") == 0) dataset->element_class = H5T_STRING;
  return dataset->element_class != H5T_NO_CLASS ||
         plan_refuse(reader, "the class is 'integer', 'float' or 'string'");
}

static struct plan_dataset* find_dataset(const struct plan_file* file, long long id) {
  for (size_t i = file->datasets; i > 0; i--)
    if (file->dataset[i - 1].id == id) return &file->dataset[i - 1];
  return NULL;
}

static bool read_dataset(struct plan_reader* reader) {
  struct plan_file* file = current_file(reader);
  long long id, bytes, ndims, deflate;
  if (!plan_number(reader, "ID", 0, LONG_MAX, &id)) return false;
  if (find_dataset(file, id) != NULL) return plan_refuse(reader, "dataset %lld exists already", id);
  struct plan_dataset* dataset =
      plan_append(reader, (void**)&file->dataset, &file->datasets, sizeof *file->dataset);
  if (dataset == NULL) return false;
  dataset->id = (long)id;
  dataset->element_class = H5T_NO_CLASS;
  dataset->deflate = -1;
  dataset->before = file->transfers;
  if (!name(reader, "PATH", &dataset->path)) return false;
  if (!plan_number(reader, "ELEMENT_BYTES", 1, INT_MAX, &bytes)) return false;
  if (!plan_number(reader, "NDIMS", 0, H5S_MAX_RANK, &ndims)) return false;
  dataset->element_bytes = (size_t)bytes;
  dataset->ndims = (int)ndims;
  if (!numbers(reader, "a dimension", dataset->ndims, 0, dataset->dims)) return false;
  for (const char* word; (word = plan_word(reader)) != NULL;) {
    if (strcmp(word, "chunk") == 0) {
      if (!read_chunk(reader, dataset)) return false;
    } else if (strcmp(word, "deflate") == 0) {
      if (!plan_number(reader, "deflate", 0, 9, &deflate)) return false;
      dataset->deflate = (int)deflate;
    } else if (strcmp(word, "class") == 0) {
      if (!read_class(reader, dataset)) return false;
    } else {
      return plan_refuse(reader, "'%s' is none of 'chunk', 'deflate' and 'class'", word);
    }
  }
  return dataset->deflate < 0 || dataset->chunked || plan_refuse(reader, "deflate needs chunk");
}

static bool read_repeat(struct plan_reader* reader, struct plan_transfer* transfer, int ndims) {
  long long repeat;
  if (!plan_number(reader, "repeat", 1, LLONG_MAX, &repeat)) return false;
  transfer->repeat = (hsize_t)repeat;
  transfer->shift = calloc((size_t)ndims + 1, sizeof *transfer->shift);
  if (transfer->shift == NULL) return plan_refuse(reader, "out of memory");
  for (int i = 0; i < ndims; i++)
    if (!plan_number(reader, "a shift", -LLONG_MAX, LLONG_MAX, &transfer->shift[i])) return false;
  return plan_end(reader);
}

/* The kind of call that makes the transfer. */
static bool read_form(struct plan_reader* reader, struct plan_transfer* transfer,
                      const struct plan_dataset* dataset) {
  const char* word;
  while ((word = plan_word(reader)) != NULL) {
    long long filters, bytes;
    if (strcmp(word, "repeat") == 0) return read_repeat(reader, transfer, dataset->ndims);
    if (strcmp(word, "async") == 0) {
      transfer->asynchronous = true;
    } else if (strcmp(word, "wait") == 0) {
      transfer->waits = true;
    } else if (strcmp(word, "reopen") == 0) {
      if (reader->version < 2) return plan_refuse(reader, "'reopen' needs version 2 of a plan");
      transfer->reopens = true;
    } else if (strcmp(word, "chunk") == 0) {
      if (!dataset->chunked) return plan_refuse(reader, "the dataset has no chunks");
      if (!plan_number(reader, "filters", 0, UINT32_MAX, &filters) ||
          !plan_number(reader, "bytes", 0, INT_MAX, &bytes))
        return false;
      transfer->of_chunks = true;
      transfer->filters = (uint32_t)filters;
      transfer->stored_bytes = (size_t)bytes;
    } else {
      return plan_refuse(reader, "'%s' is none of 'async', 'wait', 'reopen', 'chunk' and 'repeat'",
                         word);
    }
  }
  return true;
}

/* The first of several transfers says how many of them one call makes; all are of one kind. */
static bool join_multi(struct plan_reader* reader, struct plan_file* file) {
  struct plan* plan = plan_of(reader);
  struct plan_transfer* transfer = &file->transfer[file->transfers - 1];
  if (plan->multi == 0) return true;
  const struct plan_transfer* first = transfer - plan->members;
  if (transfer->of_chunks || transfer->repeat > 1)
    return plan_refuse(reader, "a call of several datasets has neither chunks nor repetitions");
  if (first->write != transfer->write || first->collective != transfer->collective)
    return plan_refuse(reader, "one call either reads or writes, in one mode");
  if (plan->members == 0) transfer->multi = plan->multi;
  if (++plan->members == plan->multi) plan->multi = 0;
  return true;
}

static bool read_multi(struct plan_reader* reader) {
  struct plan* plan = plan_of(reader);
  long long count;
  if (!plan_number(reader, "the number of transfers", 1, 1 << 20, &count)) return false;
  if (plan->multi != 0) return plan_refuse(reader, "the call before has not all its transfers");
  plan->multi = (size_t)count;
  plan->members = 0;
  return plan_end(reader);
}

static bool read_transfer(struct plan_reader* reader) {
  struct plan_file* file = current_file(reader);
  const char* what = plan_word(reader);
  if (what == NULL || (strcmp(what, "write") != 0 && strcmp(what, "read") != 0))
    return plan_refuse(reader, "a transfer is 'write' or 'read'");
  struct plan_transfer* transfer =
      plan_append(reader, (void**)&file->transfer, &file->transfers, sizeof *file->transfer);
  if (transfer == NULL) return false;
  transfer->write = what[0] == 'w';
  transfer->repeat = 1;
  file->writes = file->writes || transfer->write;
  long long id;
  if (!plan_number(reader, "ID", 0, LONG_MAX, &id)) return false;
  struct plan_dataset* dataset = find_dataset(file, id);
  if (dataset == NULL) return plan_refuse(reader, "there is no dataset %lld in this file", id);
  transfer->dataset = (size_t)(dataset - file->dataset);
  dataset->last_transfer = file->transfers - 1;
  dataset->used = true;
  const char* mode = plan_word(reader);
  if (mode == NULL || (strcmp(mode, "collective") != 0 && strcmp(mode, "independent") != 0))
    return plan_refuse(reader, "the mode is 'collective' or 'independent'");
  transfer->collective = mode[0] == 'c';
  return read_form(reader, transfer, dataset) && join_multi(reader, file);
}

/* Whether [start, start + length) stays below `extent` in all repetitions. */
static bool stays_inside(hsize_t start, hsize_t length, hsize_t extent,
                         const struct plan_transfer* transfer, int axis) {
  if (length > extent || start > extent - length) return false;
  long long shift = transfer->repeat > 1 ? transfer->shift[axis] : 0;
  hsize_t times = transfer->repeat - 1;
  if (shift > 0) return times <= (extent - length - start) / (hsize_t)shift;
  if (shift < 0) return times <= start / (hsize_t)-shift;
  return true;
}

static bool read_slab(struct plan_reader* reader, struct plan_transfer* transfer,
                      const struct plan_dataset* dataset) {
  size_t n = (size_t)dataset->ndims, have = transfer->count * 4 * n;
  if (n == 0) return plan_refuse(reader, "a scalar is selected by 'all'");
  hsize_t* more = realloc(transfer->place, (have + 4 * n) * sizeof *more);
  if (more == NULL) return plan_refuse(reader, "out of memory");
  transfer->place = more;
  transfer->count++;
  hsize_t *start = more + have, *stride = start + n, *count = stride + n, *block = count + n;
  if (!numbers(reader, "a start", (int)n, 0, start)) return false;
  if (!numbers(reader, "a stride", (int)n, 1, stride)) return false;
  if (!numbers(reader, "a count", (int)n, 1, count)) return false;
  if (!numbers(reader, "a block", (int)n, 1, block)) return false;
  for (size_t i = 0; i < n; i++) {
    hsize_t extent = dataset->dims[i];
    if (count[i] > 1 && stride[i] < block[i])
      return plan_refuse(reader, "stride %llu is smaller than block %llu",
                         (unsigned long long)stride[i], (unsigned long long)block[i]);
    bool whole = block[i] <= extent && count[i] - 1 <= (extent - block[i]) / stride[i];
    if (!whole ||
        !stays_inside(start[i], (count[i] - 1) * stride[i] + block[i], extent, transfer, (int)i))
      return plan_refuse(reader, "the slab leaves dimension %zu, which has %llu elements", i,
                         (unsigned long long)extent);
  }
  return plan_end(reader);
}

static bool read_points(struct plan_reader* reader, struct plan_transfer* transfer,
                        const struct plan_dataset* dataset) {
  size_t n = (size_t)dataset->ndims;
  if (n == 0) return plan_refuse(reader, "a scalar is selected by 'all'");
  while (plan_has_more(reader)) {
    hsize_t* more = realloc(transfer->place, (transfer->count + 1) * n * sizeof *more);
    if (more == NULL) return plan_refuse(reader, "out of memory");
    transfer->place = more;
    hsize_t* point = more + transfer->count * n;
    transfer->count++;
    if (!numbers(reader, "a coordinate", (int)n, 0, point)) return false;
    for (size_t i = 0; i < n; i++)
      if (!stays_inside(point[i], 1, dataset->dims[i], transfer, (int)i))
        return plan_refuse(reader, "the point leaves dimension %zu, which has %llu elements", i,
                           (unsigned long long)dataset->dims[i]);
  }
  return transfer->count > 0 || plan_refuse(reader, "a coordinate is missing");
}

static bool read_selection(struct plan_reader* reader, enum plan_selection selection) {
  struct plan_file* file = current_file(reader);
  if (file->transfers == 0) return plan_refuse(reader, "a selection belongs to a transfer");
  struct plan_transfer* transfer = &file->transfer[file->transfers - 1];
  const struct plan_dataset* dataset = &file->dataset[transfer->dataset];
  long long rank;
  if (!plan_number(reader, "RANK", 0, reader->ranks - 1, &rank)) return false;
  if (rank != reader->rank) return true;
  bool joins = selection == transfer->selection && selection >= PLAN_SLABS;
  if (transfer->selection != PLAN_UNLISTED && !joins)
    return plan_refuse(reader, "rank %lld has another selection in this transfer", rank);
  transfer->selection = selection;
  if (selection == PLAN_SLABS) return read_slab(reader, transfer, dataset);
  if (selection == PLAN_POINTS) return read_points(reader, transfer, dataset);
  if (selection == PLAN_ALL && transfer->repeat > 1)
    for (int i = 0; i < dataset->ndims; i++)
      if (transfer->shift[i] != 0) return plan_refuse(reader, "the whole dataset cannot be moved");
  return plan_end(reader);
}

static bool read_pause(struct plan_reader* reader) {
  struct plan_file* file = current_file(reader);
  long long rank, pause_ns;
  if (file->transfers == 0) return plan_refuse(reader, "a pause belongs to a transfer");
  if (!plan_number(reader, "RANK", 0, reader->ranks - 1, &rank) ||
      !plan_number(reader, "a pause", 0, 1LL << 62, &pause_ns))
    return false;
  if (rank == reader->rank) file->transfer[file->transfers - 1].pause_ns = pause_ns;
  return plan_end(reader);
}

static bool read_close(struct plan_reader* reader) {
  struct plan* plan = plan_of(reader);
  plan->inside = false;
  if (plan->multi != 0) return plan_refuse(reader, "the last call has not all its transfers");
  return plan_end(reader);
}

static bool read_statement(struct plan_reader* reader, const char* word) {
  if (strcmp(word, "file") == 0) return read_file(reader);
  if (!plan_of(reader)->inside) return plan_refuse(reader, "'%s' belongs after 'file'", word);
  if (strcmp(word, "dataset") == 0) return read_dataset(reader);
  if (strcmp(word, "transfer") == 0) return read_transfer(reader);
  if (strcmp(word, "multi") == 0) return read_multi(reader);
  if (strcmp(word, "pause") == 0) return read_pause(reader);
  if (strcmp(word, "slab") == 0) return read_selection(reader, PLAN_SLABS);
  if (strcmp(word, "points") == 0) return read_selection(reader, PLAN_POINTS);
  if (strcmp(word, "all") == 0) return read_selection(reader, PLAN_ALL);
  if (strcmp(word, "none") == 0) return read_selection(reader, PLAN_NONE);
  if (strcmp(word, "close") == 0) return read_close(reader);
  return plan_refuse(reader, "'%s' is not a statement", word);
}

bool plan_read(struct plan_reader* reader, struct plan* plan) {
  memset(plan, 0, sizeof *plan);
  reader->plan = plan;
  reader->format = "iotune-plan";
  reader->newest = 3;
  reader->statement = read_statement;
  if (!plan_read_lines(reader)) return false;
  reader->line = 0;
  if (plan->inside) return plan_refuse(reader, "the last file is not closed");
  return plan->files > 0 || plan_refuse(reader, "there is no file");
}

void plan_free(struct plan* plan) {
  for (size_t i = 0; i < plan->files; i++) {
    struct plan_file* file = &plan->file[i];
    for (size_t j = 0; j < file->datasets; j++) free(file->dataset[j].path);
    for (size_t j = 0; j < file->transfers; j++) {
      free(file->transfer[j].shift);
      free(file->transfer[j].place);
    }
    free(file->dataset);
    free(file->transfer);
    free(file->path);
  }
  free(plan->file);
}
