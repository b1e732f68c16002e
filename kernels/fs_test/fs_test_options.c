#include "fs_test_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Nothing lies beyond; sums of two such numbers cannot overflow. */
static const int64_t most_bytes = INT64_MAX / 4;

enum option_name {
  PATTERN,
  RECORD,
  RECORDS,
  WRITE,
  READ,
  READ_AS,
  READ_RECORD,
  WRITTEN_BY,
  SHUFFLE,
  MPIIO,
  COLLECTIVE,
  SYNC,
  OVER,
  SEED,
  VERIFY,
  OUTPUT,
  JSON,
  HELP,
  OPTIONS
};

static const struct {
  const char* name;
  const char* value; /* NULL: a flag */
  const char* help;
} table[OPTIONS] = {
    [PATTERN] = {"--pattern", "P", "strided, segmented (both one file), n-n (a file a rank)"},
    [RECORD] = {"--record", "BYTES", "of one write; k, m, g behind it (default: 4k)"},
    [RECORDS] = {"--records", "N", "that a rank writes (default: 1024)"},
    [WRITE] = {"--write", NULL, "the write phase alone (default)"},
    [READ] = {"--read", NULL, "the read phase alone; with --write too: both, one after the other"},
    [READ_AS] = {"--read-as", "P",
                 "deal the records to the readers strided or segmented;"
                 " default: as they were written"},
    [READ_RECORD] = {"--read-record", "BYTES", "of one read; default: of a write"},
    [WRITTEN_BY] = {"--written-by", "N", "ranks that wrote what --read reads; default: all ranks"},
    [SHUFFLE] = {"--shuffle", "N", "a reader takes the share of the rank N further on"},
    [MPIIO] = {"--mpiio", NULL, "MPI_File_write_at and _read_at instead of pwrite and pread"},
    [COLLECTIVE] = {"--collective", NULL, "the same with _all"},
    [SYNC] = {"--fsync", NULL, "fsync (MPI_File_sync) before the close"},
    [OVER] = {"--over", NULL, "write over a file that is there; it is removed first without"},
    [SEED] = {"--seed", "N", "of the content (default: 0)"},
    [VERIFY] = {"--verify", NULL,
                "compare every byte with its formula;"
                " after a write phase alone by reading again, not timed"},
    [OUTPUT] = {"--output", "FILE", "default: fs-test.out; n-n puts .RANK behind it"},
    [JSON] = {"--json", NULL, "print one line of JSON"},
    [HELP] = {"--help", NULL, "print this"},
};

const char* fs_pattern_name(enum fs_pattern pattern) {
  static const char* const name[] = {"strided", "segmented", "n-n"};
  return name[pattern];
}

static bool parse_number(const char* text, int64_t low, int64_t high, bool suffix, int64_t* to) {
  if (!isdigit((unsigned char)*text)) return false;
  char* end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno != 0 || value > high) return false;
  int shift = 0;
  if (suffix && *end != '\0') {
    static const char letters[] = "kmg";
    const char* letter = strchr(letters, tolower((unsigned char)*end));
    if (letter == NULL) return false;
    shift = 10 * (int)(letter - letters + 1);
    end++;
  }
  if (*end != '\0' || value > high >> shift) return false;
  *to = (int64_t)value << shift;
  return *to >= low;
}

static bool parse_int(const char* text, int low, int* to) {
  int64_t value;
  if (!parse_number(text, low, INT_MAX, false, &value)) return false;
  *to = (int)value;
  return true;
}

static bool parse_pattern(const char* text, enum fs_pattern last, enum fs_pattern* to) {
  for (enum fs_pattern p = FS_STRIDED; p <= last; p++) {
    *to = p;
    if (strcmp(fs_pattern_name(p), text) == 0) return true;
  }
  return false;
}

static void set_flag(enum option_name name, struct fs_options* options) {
  switch (name) {
    case WRITE:
      options->write = true;
      break;
    case READ:
      options->read = true;
      break;
    case COLLECTIVE:
      options->collective = options->mpiio = true;
      break;
    case MPIIO:
      options->mpiio = true;
      break;
    case SYNC:
      options->sync = true;
      break;
    case OVER:
      options->over = true;
      break;
    case VERIFY:
      options->verify = true;
      break;
    case JSON:
      options->json = true;
      break;
    default:
      options->help = true;
  }
}

struct given {
  bool read_as, writers;
};

static bool set_value(enum option_name name, const char* value, struct fs_options* options,
                      struct given* given) {
  int64_t seed;
  switch (name) {
    case PATTERN:
      return parse_pattern(value, FS_N_N, &options->pattern);
    case READ_AS:
      given->read_as = true;
      return parse_pattern(value, FS_SEGMENTED, &options->read_as);
    case RECORD: /* a call's size is an int in MPI */
      return parse_number(value, 1, INT_MAX, true, &options->record_bytes);
    case READ_RECORD:
      return parse_number(value, 1, INT_MAX, true, &options->read_record_bytes);
    case RECORDS:
      return parse_number(value, 1, most_bytes, true, &options->records);
    case WRITTEN_BY:
      given->writers = true;
      return parse_int(value, 1, &options->writers);
    case SHUFFLE:
      return parse_int(value, 0, &options->shuffle);
    case SEED:
      if (!parse_number(value, 0, INT64_MAX, false, &seed)) return false;
      options->seed = (uint64_t)seed;
      return true;
    default:
      options->output = value;
      return *value != '\0';
  }
}

static int find_option(const char* argument, size_t length) {
  for (int i = 0; i < OPTIONS; i++)
    if (strlen(table[i].name) == length && strncmp(table[i].name, argument, length) == 0) return i;
  return -1;
}

static bool consistent(struct fs_options* options, const struct given* given, int ranks,
                       char* error, size_t size) {
  if (!options->write && !options->read) options->write = true;
  if (!given->writers) options->writers = ranks;
  if (!given->read_as)
    options->read_as = options->pattern == FS_STRIDED ? FS_STRIDED : FS_SEGMENTED;
  if (options->read_record_bytes == 0) options->read_record_bytes = options->record_bytes;
  if (options->write && options->writers != ranks) {
    snprintf(error, size, "--written-by %d: %d ranks write here; it is for --read alone",
             options->writers, ranks);
    return false;
  }
  if (options->over && !options->write) {
    snprintf(error, size, "--over: it is for the write phase");
    return false;
  }
  if (options->records > most_bytes / options->record_bytes / options->writers) {
    snprintf(error, size, "--records %lld: too large with --record %lld and %d ranks",
             (long long)options->records, (long long)options->record_bytes, options->writers);
    return false;
  }
  /* So that no read crosses the end of a file. */
  const int64_t file_bytes = options->record_bytes * options->records *
                             (options->pattern == FS_N_N ? 1 : options->writers);
  if (file_bytes % options->read_record_bytes != 0) {
    snprintf(error, size, "--read-record %lld: the file's %lld bytes are no multiple of it",
             (long long)options->read_record_bytes, (long long)file_bytes);
    return false;
  }
  return true;
}

bool fs_options_parse(int argc, char** argv, int ranks, struct fs_options* options, char* error,
                      size_t error_size) {
  *options = (struct fs_options){.record_bytes = 4096, .records = 1024, .output = "fs-test.out"};
  struct given given = {false, false};
  for (int i = 1; i < argc; i++) {
    const char* equals = strchr(argv[i], '=');
    const int found =
        find_option(argv[i], equals != NULL ? (size_t)(equals - argv[i]) : strlen(argv[i]));
    if (found < 0) {
      snprintf(error, error_size, "%s: there is no such option", argv[i]);
      return false;
    }
    if (table[found].value == NULL) {
      if (equals != NULL) {
        snprintf(error, error_size, "%s: %s takes no value", argv[i], table[found].name);
        return false;
      }
      set_flag((enum option_name)found, options);
      continue;
    }
    const char* value = equals != NULL ? equals + 1 : argv[++i];
    if (value == NULL) {
      snprintf(error, error_size, "%s: its value is missing", table[found].name);
      return false;
    }
    if (!set_value((enum option_name)found, value, options, &given)) {
      snprintf(error, error_size, "%s %s: not a possible value", table[found].name, value);
      return false;
    }
  }
  return options->help || consistent(options, &given, ranks, error, error_size);
}

void fs_options_help(FILE* out) {
  fprintf(out,
          "usage: mpirun -n RANKS fs-test [options]\n"
          "LANL's FS-TEST: a checkpoint of equal records, written and read back.\n"
          "default: one file, record k of rank r is the file's record k * RANKS + r\n\n");
  for (int i = 0; i < OPTIONS; i++) {
    const char* value = table[i].value != NULL ? table[i].value : "";
    fprintf(out, "  %s %-*s %s\n", table[i].name, (int)(19 - strlen(table[i].name)), value,
            table[i].help);
  }
}
