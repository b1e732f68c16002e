#include "replay_program.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(char error[512], const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error, 512, format, arguments);
  va_end(arguments);
  return false;
}

static bool parse_repeat(const char* text, int* repeat) {
  char* end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < 1 || value > 1000000) return false;
  *repeat = (int)value;
  return true;
}

static const struct replay_flag* flag_of(const struct replay_options* options, const char* name) {
  const struct replay_flag* flag = options->flag;
  while (flag->name != NULL && strcmp(flag->name, name) != 0) flag++;
  return flag->name != NULL ? flag : NULL;
}

static const char** argument_of(struct replay_options* options) {
  return options->carries_plan ? &options->file_dir : &options->plan;
}

static bool parse(int argc, char** argv, struct replay_options* options, bool* help,
                  char error[512]) {
  options->repeat = 1;
  for (int i = 1; i < argc && !*help; i++) {
    const char* argument = argv[i];
    const struct replay_flag* flag = flag_of(options, argument);
    bool dir = strcmp(argument, "--file-dir") == 0, repeat = strcmp(argument, "--repeat") == 0;
    if (dir || repeat) {
      const char* value = argv[++i];
      if (value == NULL) return refuse(error, "%s: its value is missing", argument);
      if (dir) options->file_dir = value;
      if (repeat && !parse_repeat(value, &options->repeat))
        return refuse(error, "--repeat %s: not a possible value", value);
    } else if (flag != NULL) {
      *flag->given = true;
    } else if (strcmp(argument, "--help") == 0) {
      *help = true;
    } else if (argument[0] == '-' && argument[1] != '\0') {
      return refuse(error, "%s: there is no such option", argument);
    } else if (*argument_of(options) != NULL) {
      return refuse(error, "%s: one argument is enough", argument);
    } else {
      *argument_of(options) = argument;
    }
  }
  if (*help || options->carries_plan) return true;
  if (options->plan == NULL) return refuse(error, "PLAN is missing");
  return !options->needs_dir || options->file_dir != NULL || refuse(error, "--file-dir is missing");
}

int replay_read_options(int argc, char** argv, int rank, struct replay_options* options) {
  char error[512];
  bool help = false, right = parse(argc, argv, options, &help, error);
  if (right && !help) return -1;
  if (rank == 0 && help) fputs(options->usage, stdout);
  if (rank == 0 && !right) fprintf(stderr, "%s: %s\n%s", options->program, error, options->usage);
  return right ? 0 : 2;
}

void replay_print_numbers(const char* name, const double* number, size_t count) {
  printf(", \"%s\": [", name);
  for (size_t i = 0; i < count; i++) printf("%s%.6f", i > 0 ? ", " : "", number[i]);
  printf("]");
}
