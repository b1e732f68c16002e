#include "plan.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  struct plan* plan;
  struct plan_error* error;
  int rank, ranks;
  char* rest;            /* of the line */
  long long version;     /* of the plan; 0: not said yet */
  bool inside;           /* between `file` and `close` */
  size_t multi, members; /* transfers that are one call, and how many of them were read */
};

static bool fail(struct reader* reader, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reader->error->text, sizeof reader->error->text, format, arguments);
  va_end(arguments);
  return false;
}

static const char blanks[] = " \t\r\n";

static char* next_field(struct reader* reader) {
  char* field = strtok_r(NULL, blanks, &reader->rest);
  if (field == NULL || field[0] != '#') return field;
  reader->rest = field + strlen(field);
  return NULL;
}

static bool number(struct reader* reader, const char* what, long long low, long long high,
                   long long* value) {
  const char* field = next_field(reader);
  if (field == NULL) return fail(reader, "%s is missing", what);
  char* end;
  errno = 0;
  *value = strtoll(field, &end, 10);
  if (errno != 0 || end == field || *end != '\0' || *value < low || *value > high)
    return fail(reader, "%s cannot be '%s'", what, field);
  return true;
}

static bool numbers(struct reader* reader, const char* what, int n, long long low, hsize_t* value) {
  for (int i = 0; i < n; i++) {
    long long parsed;
    if (!number(reader, what, low, LLONG_MAX, &parsed)) return false;
    value[i] = (hsize_t)parsed;
  }
  return true;
}

static bool end_of_line(struct reader* reader) {
  const char* field = next_field(reader);
  return field == NULL || fail(reader, "'%s' is too much on this line", field);
}

/* One more zeroed element at the end of an array, or NULL. */
static void* append(void** array, size_t* count, size_t size) {
  /* The room doubles whenever the count reaches a power of two. */
  if ((*count & (*count - 1)) == 0) {
    void* more = realloc(*array, (*count > 0 ? *count * 2 : 1) * size);
    if (more == NULL) return NULL;
    *array = more;
  }
  void* element = (char*)*array + *count * size;
  memset(element, 0, size);
  ++*count;
  return element;
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)tolower((unsigned char)c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A copy with %XX replaced. */
static bool name(struct reader* reader, const char* what, char** out) {
  const char* from = next_field(reader);
  if (from == NULL) return fail(reader, "%s is missing", what);
  char* to = *out = malloc(strlen(from) + 1);
  if (to == NULL) return fail(reader, "out of memory");
  for (; *from != '\0'; from++, to++) {
    *to = *from;
    if (*from != '%') continue;
    int high = hex(from[1]), low = high >= 0 ? hex(from[2]) : -1;
    if (low < 0 || high * 16 + low == 0)
      return fail(reader, "%s: after %% come two hexadecimal digits, not 00", what);
    *to = (char)(high * 16 + low);
    from += 2;
  }
  *to = '\0';
  return true;
}

static struct plan_file* current_file(struct reader* reader) {
  return &reader->plan->file[reader->plan->files - 1];
}

static bool read_file(struct reader* reader) {
  if (reader->plan->ranks == 0) return fail(reader, "'ranks' comes before 'file'");
  if (reader->inside) return fail(reader, "the file before was not closed");
  struct plan_file* file =
      append((void**)&reader->plan->file, &reader->plan->files, sizeof *reader->plan->file);
  if (file == NULL) return fail(reader, "out of memory");
  if (!name(reader, "FILE", &file->path)) return false;
  const char* how = next_field(reader);
  if (how == NULL || (strcmp(how, "create") != 0 && strcmp(how, "open") != 0))
    return fail(reader, "a file is for 'create' or 'open'");
  file->create = how[0] == 'c';
  reader->inside = true;
  const char* word = next_field(reader);
  if (word == NULL) return true;
  if (strcmp(word, "paged") != 0) return fail(reader, "'%s' follows no file", word);
  if (!number(reader, "PAGE_BYTES", 512, 1LL << 30, &file->page_bytes)) return false;
  return end_of_line(reader);
}

static bool read_chunk(struct reader* reader, struct plan_dataset* dataset) {
  dataset->chunked = true;
  if (dataset->ndims == 0) return fail(reader, "a scalar has no chunks");
  return numbers(reader, "a chunk dimension", dataset->ndims, 1, dataset->chunk);
}

static struct plan_dataset* find_dataset(const struct plan_file* file, long long id) {
  for (size_t i = file->datasets; i > 0; i--)
    if (file->dataset[i - 1].id == id) return &file->dataset[i - 1];
  return NULL;
}

static bool read_dataset(struct reader* reader) {
  struct plan_file* file = current_file(reader);
  long long id, bytes, ndims, deflate;
  if (!number(reader, "ID", 0, LONG_MAX, &id)) return false;
  if (find_dataset(file, id) != NULL) return fail(reader, "dataset %lld exists already", id);
  struct plan_dataset* dataset =
      append((void**)&file->dataset, &file->datasets, sizeof *file->dataset);
  if (dataset == NULL) return fail(reader, "out of memory");
  dataset->id = (long)id;
  dataset->deflate = -1;
  dataset->before = file->transfers;
  if (!name(reader, "PATH", &dataset->path)) return false;
  if (!number(reader, "ELEMENT_BYTES", 1, INT_MAX, &bytes)) return false;
  if (!number(reader, "NDIMS", 0, H5S_MAX_RANK, &ndims)) return false;
  dataset->element_bytes = (size_t)bytes;
  dataset->ndims = (int)ndims;
  if (!numbers(reader, "a dimension", dataset->ndims, 0, dataset->dims)) return false;
  for (const char* word; (word = next_field(reader)) != NULL;) {
    if (strcmp(word, "chunk") == 0) {
      if (!read_chunk(reader, dataset)) return false;
    } else if (strcmp(word, "deflate") == 0) {
      if (!number(reader, "deflate", 0, 9, &deflate)) return false;
      dataset->deflate = (int)deflate;
    } else {
      return fail(reader, "'%s' is neither 'chunk' nor 'deflate'", word);
    }
  }
  return dataset->deflate < 0 || dataset->chunked || fail(reader, "deflate needs chunk");
}

static bool read_repeat(struct reader* reader, struct plan_transfer* transfer, int ndims) {
  long long repeat;
  if (!number(reader, "repeat", 1, LLONG_MAX, &repeat)) return false;
  transfer->repeat = (hsize_t)repeat;
  transfer->shift = calloc((size_t)ndims + 1, sizeof *transfer->shift);
  if (transfer->shift == NULL) return fail(reader, "out of memory");
  for (int i = 0; i < ndims; i++)
    if (!number(reader, "a shift", -LLONG_MAX, LLONG_MAX, &transfer->shift[i])) return false;
  return end_of_line(reader);
}

/* The kind of call that makes the transfer. */
static bool read_form(struct reader* reader, struct plan_transfer* transfer,
                      const struct plan_dataset* dataset) {
  const char* word;
  while ((word = next_field(reader)) != NULL) {
    long long filters, bytes;
    if (strcmp(word, "repeat") == 0) return read_repeat(reader, transfer, dataset->ndims);
    if (strcmp(word, "async") == 0) {
      transfer->asynchronous = true;
    } else if (strcmp(word, "wait") == 0) {
      transfer->waits = true;
    } else if (strcmp(word, "reopen") == 0) {
      if (reader->version < 2) return fail(reader, "'reopen' needs version 2 of a plan");
      transfer->reopens = true;
    } else if (strcmp(word, "chunk") == 0) {
      if (!dataset->chunked) return fail(reader, "the dataset has no chunks");
      if (!number(reader, "filters", 0, UINT32_MAX, &filters) ||
          !number(reader, "bytes", 0, INT_MAX, &bytes))
        return false;
      transfer->of_chunks = true;
      transfer->filters = (uint32_t)filters;
      transfer->stored_bytes = (size_t)bytes;
    } else {
      return fail(reader, "'%s' is none of 'async', 'wait', 'reopen', 'chunk' and 'repeat'", word);
    }
  }
  return true;
}

/* The first of several transfers says how many of them one call makes; all are of one kind. */
static bool join_multi(struct reader* reader, struct plan_file* file) {
  struct plan_transfer* transfer = &file->transfer[file->transfers - 1];
  if (reader->multi == 0) return true;
  const struct plan_transfer* first = transfer - reader->members;
  if (transfer->of_chunks || transfer->repeat > 1)
    return fail(reader, "a call of several datasets has neither chunks nor repetitions");
  if (first->write != transfer->write || first->collective != transfer->collective)
    return fail(reader, "one call either reads or writes, in one mode");
  if (reader->members == 0) transfer->multi = reader->multi;
  if (++reader->members == reader->multi) reader->multi = 0;
  return true;
}

static bool read_multi(struct reader* reader) {
  long long count;
  if (!number(reader, "the number of transfers", 1, 1 << 20, &count)) return false;
  if (reader->multi != 0) return fail(reader, "the call before has not all its transfers");
  reader->multi = (size_t)count;
  reader->members = 0;
  return end_of_line(reader);
}

static bool read_transfer(struct reader* reader) {
  struct plan_file* file = current_file(reader);
  const char* what = next_field(reader);
  if (what == NULL || (strcmp(what, "write") != 0 && strcmp(what, "read") != 0))
    return fail(reader, "a transfer is 'write' or 'read'");
  struct plan_transfer* transfer =
      append((void**)&file->transfer, &file->transfers, sizeof *file->transfer);
  if (transfer == NULL) return fail(reader, "out of memory");
  transfer->write = what[0] == 'w';
  transfer->repeat = 1;
  file->writes = file->writes || transfer->write;
  long long id;
  if (!number(reader, "ID", 0, LONG_MAX, &id)) return false;
  struct plan_dataset* dataset = find_dataset(file, id);
  if (dataset == NULL) return fail(reader, "there is no dataset %lld in this file", id);
  transfer->dataset = (size_t)(dataset - file->dataset);
  dataset->last_transfer = file->transfers - 1;
  dataset->used = true;
  const char* mode = next_field(reader);
  if (mode == NULL || (strcmp(mode, "collective") != 0 && strcmp(mode, "independent") != 0))
    return fail(reader, "the mode is 'collective' or 'independent'");
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

static bool read_slab(struct reader* reader, struct plan_transfer* transfer,
                      const struct plan_dataset* dataset) {
  size_t n = (size_t)dataset->ndims, have = transfer->count * 4 * n;
  if (n == 0) return fail(reader, "a scalar is selected by 'all'");
  hsize_t* more = realloc(transfer->place, (have + 4 * n) * sizeof *more);
  if (more == NULL) return fail(reader, "out of memory");
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
      return fail(reader, "stride %llu is smaller than block %llu", (unsigned long long)stride[i],
                  (unsigned long long)block[i]);
    bool whole = block[i] <= extent && count[i] - 1 <= (extent - block[i]) / stride[i];
    if (!whole ||
        !stays_inside(start[i], (count[i] - 1) * stride[i] + block[i], extent, transfer, (int)i))
      return fail(reader, "the slab leaves dimension %zu, which has %llu elements", i,
                  (unsigned long long)extent);
  }
  return end_of_line(reader);
}

static bool read_points(struct reader* reader, struct plan_transfer* transfer,
                        const struct plan_dataset* dataset) {
  size_t n = (size_t)dataset->ndims;
  if (n == 0) return fail(reader, "a scalar is selected by 'all'");
  for (;;) {
    const char* rest = reader->rest != NULL ? reader->rest + strspn(reader->rest, blanks) : "";
    if (*rest == '\0' || *rest == '#') break;
    hsize_t* more = realloc(transfer->place, (transfer->count + 1) * n * sizeof *more);
    if (more == NULL) return fail(reader, "out of memory");
    transfer->place = more;
    hsize_t* point = more + transfer->count * n;
    transfer->count++;
    if (!numbers(reader, "a coordinate", (int)n, 0, point)) return false;
    for (size_t i = 0; i < n; i++)
      if (!stays_inside(point[i], 1, dataset->dims[i], transfer, (int)i))
        return fail(reader, "the point leaves dimension %zu, which has %llu elements", i,
                    (unsigned long long)dataset->dims[i]);
  }
  return transfer->count > 0 || fail(reader, "a coordinate is missing");
}

static bool read_selection(struct reader* reader, enum plan_selection selection) {
  struct plan_file* file = current_file(reader);
  if (file->transfers == 0) return fail(reader, "a selection belongs to a transfer");
  struct plan_transfer* transfer = &file->transfer[file->transfers - 1];
  const struct plan_dataset* dataset = &file->dataset[transfer->dataset];
  long long rank;
  if (!number(reader, "RANK", 0, reader->plan->ranks - 1, &rank)) return false;
  if (rank != reader->rank) return true;
  bool joins = selection == transfer->selection && selection >= PLAN_SLABS;
  if (transfer->selection != PLAN_UNLISTED && !joins)
    return fail(reader, "rank %lld has another selection in this transfer", rank);
  transfer->selection = selection;
  if (selection == PLAN_SLABS) return read_slab(reader, transfer, dataset);
  if (selection == PLAN_POINTS) return read_points(reader, transfer, dataset);
  if (selection == PLAN_ALL && transfer->repeat > 1)
    for (int i = 0; i < dataset->ndims; i++)
      if (transfer->shift[i] != 0) return fail(reader, "the whole dataset cannot be moved");
  return end_of_line(reader);
}

static bool read_pause(struct reader* reader) {
  struct plan_file* file = current_file(reader);
  long long rank, pause_ns;
  if (file->transfers == 0) return fail(reader, "a pause belongs to a transfer");
  if (!number(reader, "RANK", 0, reader->plan->ranks - 1, &rank) ||
      !number(reader, "a pause", 0, 1LL << 62, &pause_ns))
    return false;
  if (rank == reader->rank) file->transfer[file->transfers - 1].pause_ns = pause_ns;
  return end_of_line(reader);
}

static bool read_statement(struct reader* reader, const char* word) {
  if (reader->version == 0) {
    if (strcmp(word, "iotune-plan") != 0) return fail(reader, "this is not a plan of iotune");
    return number(reader, "the version", 1, 2, &reader->version) && end_of_line(reader);
  }
  if (strcmp(word, "ranks") == 0) {
    long long ranks;
    if (reader->plan->ranks != 0) return fail(reader, "'ranks' was said already");
    if (!number(reader, "ranks", 1, INT_MAX, &ranks)) return false;
    if (ranks != reader->ranks)
      return fail(reader, "the plan is for %lld ranks, these are %d", ranks, reader->ranks);
    reader->plan->ranks = (int)ranks;
    return end_of_line(reader);
  }
  if (strcmp(word, "file") == 0) return read_file(reader);
  if (!reader->inside) return fail(reader, "'%s' belongs after 'file'", word);
  if (strcmp(word, "dataset") == 0) return read_dataset(reader);
  if (strcmp(word, "transfer") == 0) return read_transfer(reader);
  if (strcmp(word, "multi") == 0) return read_multi(reader);
  if (strcmp(word, "pause") == 0) return read_pause(reader);
  if (strcmp(word, "slab") == 0) return read_selection(reader, PLAN_SLABS);
  if (strcmp(word, "points") == 0) return read_selection(reader, PLAN_POINTS);
  if (strcmp(word, "all") == 0) return read_selection(reader, PLAN_ALL);
  if (strcmp(word, "none") == 0) return read_selection(reader, PLAN_NONE);
  if (strcmp(word, "close") != 0) return fail(reader, "'%s' is not a statement", word);
  reader->inside = false;
  if (reader->multi != 0) return fail(reader, "the last call has not all its transfers");
  return end_of_line(reader);
}

bool plan_read(const char* path, int rank, int ranks, struct plan* plan, struct plan_error* error) {
  struct reader reader = {.plan = plan, .error = error, .rank = rank, .ranks = ranks};
  memset(plan, 0, sizeof *plan);
  memset(error, 0, sizeof *error);
  FILE* stream = fopen(path, "r");
  if (stream == NULL) return fail(&reader, "%s", strerror(errno));
  char* line = NULL;
  size_t size = 0;
  bool right = true;
  while (right && getline(&line, &size, stream) >= 0) {
    error->line++;
    char* word = strtok_r(line, blanks, &reader.rest);
    if (word != NULL && word[0] != '#') right = read_statement(&reader, word);
  }
  if (right && ferror(stream)) right = fail(&reader, "%s", strerror(errno));
  if (right && (plan->files == 0 || reader.inside))
    right = fail(&reader, reader.inside ? "the last file is not closed" : "there is no file");
  free(line);
  fclose(stream);
  return right;
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
