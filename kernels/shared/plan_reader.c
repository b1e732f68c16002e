#include "plan_reader.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

bool plan_refuse(struct plan_reader* reader, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reader->why, sizeof reader->why, format, arguments);
  va_end(arguments);
  return false;
}

char* plan_word(struct plan_reader* reader) {
  char* field = strtok_r(NULL, blanks, &reader->rest);
  if (field == NULL || field[0] != '#') return field;
  reader->rest = field + strlen(field);
  return NULL;
}

bool plan_has_more(const struct plan_reader* reader) {
  const char* rest = reader->rest != NULL ? reader->rest + strspn(reader->rest, blanks) : "";
  return *rest != '\0' && *rest != '#';
}

bool plan_end(struct plan_reader* reader) {
  const char* field = plan_word(reader);
  return field == NULL || plan_refuse(reader, "'%s' is too much on this line", field);
}

bool plan_number(struct plan_reader* reader, const char* what, long long low, long long high,
                 long long* value) {
  const char* field = plan_word(reader);
  if (field == NULL) return plan_refuse(reader, "%s is missing", what);
  char* end;
  errno = 0;
  *value = strtoll(field, &end, 10);
  if (errno != 0 || end == field || *end != '\0' || *value < low || *value > high)
    return plan_refuse(reader, "%s cannot be '%s'", what, field);
  return true;
}

bool plan_index(struct plan_reader* reader, const char* what, size_t count, size_t* value) {
  long long found = 0;
  if (count == 0) return plan_refuse(reader, "%s: nothing of this kind was declared", what);
  if (!plan_number(reader, what, 0, (long long)count - 1, &found)) return false;
  *value = (size_t)found;
  return true;
}

void* plan_append(struct plan_reader* reader, void** array, size_t* count, size_t size) {
  /* The room doubles whenever the count reaches a power of two. */
  if ((*count & (*count - 1)) == 0) {
    void* more = realloc(*array, (*count > 0 ? *count * 2 : 1) * size);
    if (more == NULL) {
      plan_refuse(reader, "out of memory");
      return NULL;
    }
    *array = more;
  }
  void* element = (char*)*array + *count * size;
  memset(element, 0, size);
  ++*count;
  return element;
}

static bool read_line(struct plan_reader* reader, char* line) {
  long long ranks;
  const char* word = strtok_r(line, blanks, &reader->rest);
  if (word == NULL || word[0] == '#') return true;
  if (reader->version == 0) {
    if (strcmp(word, reader->format) != 0)
      return plan_refuse(reader, "this is not a plan, which begins with '%s'", reader->format);
    return plan_number(reader, "the version", 1, reader->newest, &reader->version) &&
           plan_end(reader);
  }
  if (strcmp(word, "ranks") != 0) {
    if (!reader->right_ranks) return plan_refuse(reader, "'ranks' comes before '%s'", word);
    return reader->statement(reader, word);
  }
  if (reader->right_ranks) return plan_refuse(reader, "'ranks' was said already");
  if (!plan_number(reader, "ranks", 1, INT_MAX, &ranks)) return false;
  if (ranks != reader->ranks)
    return plan_refuse(reader, "the plan is for %lld ranks, these are %d", ranks, reader->ranks);
  reader->right_ranks = true;
  return plan_end(reader);
}

/* In `line`, which the caller frees. */
static bool next_line(struct plan_reader* reader, FILE* stream, char** line, size_t* size) {
  if (stream == NULL) {
    const char* text = reader->carried[reader->line];
    free(*line);
    *line = text != NULL ? strdup(text) : NULL;
  } else if (getline(line, size, stream) < 0) {
    return false;
  }
  reader->line++;
  return *line != NULL;
}

bool plan_read_lines(struct plan_reader* reader) {
  FILE* stream = reader->carried == NULL ? fopen(reader->path, "r") : NULL;
  if (stream == NULL && reader->carried == NULL) return plan_refuse(reader, "%s", strerror(errno));
  char* line = NULL;
  size_t size = 0;
  bool right = true;
  while (right && next_line(reader, stream, &line, &size)) right = read_line(reader, line);
  if (right && stream != NULL && ferror(stream)) right = plan_refuse(reader, "%s", strerror(errno));
  if (right && !reader->right_ranks) right = plan_refuse(reader, "'ranks' is missing");
  free(line);
  if (stream != NULL) fclose(stream);
  return right;
}

bool plan_is_agreed(const struct plan_reader* reader, bool right) {
  long own = right ? LONG_MAX : reader->line, first;
  MPI_Allreduce(&own, &first, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (first == LONG_MAX) return true;
  int mine = own == first ? reader->rank : INT_MAX, lowest;
  MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (reader->rank != lowest) return false;
  if (first > 0)
    fprintf(stderr, "%s:%ld: %s\n", reader->path, first, reader->why);
  else
    fprintf(stderr, "%s: %s\n", reader->path, reader->why);
  return false;
}
