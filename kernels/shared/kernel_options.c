#include "kernel_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_run.h"

enum kind { DIMS, NUMBER, TEXT, FLAG };

struct option {
  const char* name;
  enum kind kind;
  const char* help;
};

static const struct option table[] = {
    {"--grid", DIMS, "AxB..     process grid; its product is the number of ranks"},
    {"--size", DIMS, "AxB..     elements of a rank, per dimension"},
    {"--particles", DIMS, "N    the same as --size"},
    {"--block", DIMS, "AxB..    length of a run where the kernel is block-cyclic"},
    {"--datasets", NUMBER, "N     datasets in a file"},
    {"--steps", NUMBER, "N        a series of N files, name00000.h5 and on"},
    {"--passes", NUMBER, "N       the whole series N times over"},
    {"--rows", NUMBER, "N         rows of the first dimension in a call; all of them without"},
    {"--collective", FLAG, "     collective transfers"},
    {"--independent", FLAG, "    independent transfers (default)"},
    {"--write", FLAG, "          create the files (default)"},
    {"--read", FLAG, "           read files that --write left"},
    {"--fresh", FLAG, "          remove the files of a step before its clock starts"},
    {"--verify", FLAG,
     "         compare every byte with its formula; after --write by reading again"},
    {"--chunk", DIMS, "AxB..    chunk dimensions; contiguous without"},
    {"--deflate", NUMBER, "0..9   compress the chunks"},
    {"--uneven", FLAG, "         the last part of a divided dimension is smaller"},
    {"--pause-ms", NUMBER, "N     wait between two steps"},
    {"--output", TEXT, "FILE    default: the kernel's name and .h5"},
    {"--json", FLAG, "           print one line of JSON"},
    {"--help", FLAG, "           print this"},
};

static bool parse_unsigned(const char** at, hsize_t* value) {
  if (!isdigit((unsigned char)**at)) return false;
  char* end;
  errno = 0;
  unsigned long long parsed = strtoull(*at, &end, 10);
  if (errno != 0) return false;
  *value = (hsize_t)parsed;
  *at = end;
  return true;
}

static bool parse_dims(const char* text, struct kernel_dims* dims) {
  dims->n = 0;
  for (;;) {
    if (dims->n == KERNEL_MAX_DIMS) return false;
    if (!parse_unsigned(&text, &dims->d[dims->n]) || dims->d[dims->n] == 0) return false;
    dims->n++;
    if (*text == '\0') return true;
    if (*text++ != 'x') return false;
  }
}

static bool parse_number(const char* text, int low, int high, int* number) {
  hsize_t value;
  if (!parse_unsigned(&text, &value) || *text != '\0') return false;
  if (value > (hsize_t)high || value < (hsize_t)low) return false;
  *number = (int)value;
  return true;
}

static void set_flag(const char* name, struct kernel_options* options) {
  if (strcmp(name, "--collective") == 0) options->collective = true;
  if (strcmp(name, "--independent") == 0) options->collective = false;
  if (strcmp(name, "--write") == 0) options->read = false;
  if (strcmp(name, "--read") == 0) options->read = true;
  if (strcmp(name, "--fresh") == 0) options->fresh = true;
  if (strcmp(name, "--verify") == 0) options->verify = true;
  if (strcmp(name, "--uneven") == 0) options->uneven = true;
  if (strcmp(name, "--json") == 0) options->json = true;
  if (strcmp(name, "--help") == 0) options->help = true;
}

static bool set_number(const char* name, const char* value, struct kernel_options* options) {
  if (strcmp(name, "--datasets") == 0) return parse_number(value, 1, 100000, &options->datasets);
  if (strcmp(name, "--deflate") == 0) return parse_number(value, 0, 9, &options->deflate);
  if (strcmp(name, "--passes") == 0) return parse_number(value, 1, 100000, &options->passes);
  if (strcmp(name, "--pause-ms") == 0) return parse_number(value, 0, INT_MAX, &options->pause_ms);
  if (strcmp(name, "--rows") == 0) return parse_number(value, 1, INT_MAX, &options->rows);
  options->numbered = true;
  return parse_number(value, 1, 100000, &options->steps);
}

static struct kernel_dims* dims_of(const char* name, struct kernel_options* options) {
  if (strcmp(name, "--grid") == 0) return &options->grid;
  if (strcmp(name, "--block") == 0) return &options->block;
  if (strcmp(name, "--chunk") == 0) return &options->chunk;
  return &options->size;
}

static bool set_value(const struct option* option, const char* value,
                      struct kernel_options* options) {
  if (option->kind == DIMS) return parse_dims(value, dims_of(option->name, options));
  if (option->kind == NUMBER) return set_number(option->name, value, options);
  options->output = value;
  return *value != '\0';
}

static const struct option* find_option(const char* argument, size_t length) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strlen(table[i].name) == length && strncmp(table[i].name, argument, length) == 0)
      return &table[i];
  return NULL;
}

/* Checks the options that do not depend on the number of ranks. */
static bool consistent(const struct kernel_spec* spec, const struct kernel_options* options,
                       char* error, size_t size) {
  char text[96];
  if (options->block.n > 0 && spec->run == 0) {
    kernel_dims_print(&options->block, text, sizeof text);
    snprintf(error, size, "--block %s: only block-cyclic-io deals runs", text);
    return false;
  }
  if (options->deflate >= 0 && options->chunk.n == 0) {
    snprintf(error, size, "--deflate %d: only chunks can be compressed, give --chunk too",
             options->deflate);
    return false;
  }
  if (options->fresh && options->read) {
    snprintf(error, size, "--fresh: it would remove what --read reads");
    return false;
  }
  if (options->deflate >= 0 && !options->read && !options->collective) {
    snprintf(error, size,
             "--deflate %d: parallel HDF5 writes compressed chunks only with --collective",
             options->deflate);
    return false;
  }
  return true;
}

bool kernel_options_parse(int argc, char** argv, const struct kernel_spec* spec,
                          struct kernel_options* options, char* error, size_t error_size) {
  *options = (struct kernel_options){.steps = 1, .passes = 1, .deflate = -1};
  for (int i = 1; i < argc; i++) {
    const char* equals = strchr(argv[i], '=');
    size_t length = equals != NULL ? (size_t)(equals - argv[i]) : strlen(argv[i]);
    const struct option* option = find_option(argv[i], length);
    if (option == NULL) {
      snprintf(error, error_size, "%s: there is no such option", argv[i]);
      return false;
    }
    if (option->kind == FLAG) {
      if (equals != NULL) {
        snprintf(error, error_size, "%s: %s takes no value", argv[i], option->name);
        return false;
      }
      set_flag(option->name, options);
      continue;
    }
    const char* value = equals != NULL ? equals + 1 : argv[++i];
    if (value == NULL) {
      snprintf(error, error_size, "%s: its value is missing", option->name);
      return false;
    }
    if (!set_value(option, value, options)) {
      snprintf(error, error_size, "%s %s: not a possible value", option->name, value);
      return false;
    }
  }
  return options->help || consistent(spec, options, error, error_size);
}

void kernel_dims_print(const struct kernel_dims* dims, char* text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < dims->n && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%llu", i > 0 ? "x" : "",
                             (unsigned long long)dims->d[i]);
}

void kernel_options_help(FILE* out, const struct kernel_spec* spec) {
  char size[96];
  kernel_dims_print(spec->extent.n > 0 ? &spec->extent : &spec->size, size, sizeof size);
  fprintf(out, "usage: mpirun -n RANKS %s [options]\n%s\n", spec->name, spec->summary);
  fprintf(out, "default: %d datasets of %s elements %s\n\n", spec->datasets, size,
          spec->extent.n > 0 ? "in all" : "a rank");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    fprintf(out, "  %s %s\n", table[i].name, table[i].help);
}
