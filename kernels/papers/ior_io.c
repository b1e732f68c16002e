/* IOR's pattern of its HDF5 interface, by IOR's own flags: a dataset a segment, in which every
 * rank has a contiguous block of 8-byte integers. Other options are the kernels'. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_run.h"

enum { ELEMENT_BYTES = 8, MOST_WORDS = 64 };

static void name_dataset(char* path, size_t size, int number, int step) {
  snprintf(path, size, "/Dataset-%04d.%04d", step, number);
}

/* IOR's sizes: a number of bytes, or of KiB, MiB, GiB with k, m, g behind it. */
static unsigned long long size_of(const char* text) {
  char* end;
  if (!isdigit((unsigned char)*text)) return 0;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  int shift = 0;
  switch (tolower((unsigned char)*end)) {
    case 'k':
      shift = 10;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    default:
      return errno == 0 && *end == '\0' ? value : 0;
  }
  if (errno != 0 || end[1] != '\0' || value > ~0ull >> shift) return 0;
  return value << shift;
}

static int refuse(const char* flag, const char* why) {
  fprintf(stderr, "ior-io: %s: %s\n", flag, why);
  return 2;
}

/* Turns IOR's flags into the kernels' own options; options that IOR does not have are passed on. */
struct words {
  char* word[MOST_WORDS];
  int count;
  char segments[32], block[32], rows[32];
};

static int add(struct words* words, const char* word) {
  if (words->count + 1 == MOST_WORDS) return refuse(word, "too many words");
  words->word[words->count++] = (char*)word;
  return 0;
}

static int translate(int argc, char** argv, struct words* words) {
  unsigned long long block = 1 << 20, transfer = 256 << 10, segments = 1;
  int operations = 0, status = add(words, argv[0]);
  for (int i = 1; i < argc && status == 0; i++) {
    const char* flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag[0] != '-' || strlen(flag) != 2) {
      status = add(words, flag);
      continue;
    }
    switch (flag[1]) {
      case 'a':
        if (strcmp(value, "HDF5") != 0) return refuse("-a", "this kernel has HDF5 alone");
        break;
      case 's':
        segments = size_of(value);
        if (segments == 0 || segments > 100000) return refuse("-s", "not a possible value");
        break;
      case 'b':
        block = size_of(value);
        break;
      case 't':
        transfer = size_of(value);
        break;
      case 'o':
        status = add(words, "--output");
        if (status == 0) status = add(words, value);
        break;
      case 'c':
        status = add(words, "--collective");
        continue;
      case 'k': /* files are always kept */
        continue;
      case 'w':
      case 'r':
        operations++;
        status = add(words, flag[1] == 'w' ? "--write" : "--read");
        continue;
      case 'W':
      case 'R':
        status = add(words, "--verify");
        continue;
      default:
        return refuse(flag, "this flag of IOR is not known here");
    }
    i++;
  }
  if (operations > 1) return refuse("-w -r", "one of them a run");
  if (block == 0 || block % ELEMENT_BYTES != 0) return refuse("-b", "not a multiple of 8 bytes");
  if (transfer == 0 || transfer % ELEMENT_BYTES != 0) return refuse("-t", "not a multiple of 8");
  if (block % transfer != 0) return refuse("-b", "not a multiple of -t");
  snprintf(words->segments, sizeof words->segments, "--datasets=%llu", segments);
  snprintf(words->block, sizeof words->block, "--size=%llu", block / ELEMENT_BYTES);
  snprintf(words->rows, sizeof words->rows, "--rows=%llu", transfer / ELEMENT_BYTES);
  if (status == 0) status = add(words, words->segments);
  if (status == 0) status = add(words, words->block);
  if (status == 0 && transfer != block) status = add(words, words->rows);
  return status;
}

int main(int argc, char** argv) {
  static const struct kernel_spec spec = {
      .name = "ior-io",
      .summary = "IOR with -a HDF5: -s segments, -b block, -t transfer, -w or -r, -c, -W, -R, -o.",
      .element = KERNEL_INT64,
      .kind = KERNEL_BLOCK,
      .size = {1, {131072}},
      .datasets = 1,
      .files = 1,
      .name_dataset = name_dataset,
  };
  static struct words words;
  int status = translate(argc, argv, &words);
  return status != 0 ? status : kernel_main(words.count, words.word, &spec);
}
