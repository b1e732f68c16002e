/* mixed_stream FILE SEED [threads]
 *
 * Writes to one stream in every way that there is. Each fwrite begins with a tag of eight bytes
 * that nothing else in the file has, so that the file shows where it went; prints the tags in
 * order. With `threads` another thread is there, which does nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* wait_for_end(void* unused) {
  pause();
  return unused;
}

static void must(int condition) {
  if (!condition) abort();
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  pthread_t thread;
  if (argc > 3) must(pthread_create(&thread, NULL, wait_for_end, NULL) == 0);
  srand((unsigned)strtoul(argv[2], NULL, 10));
  static char text[20000];
  FILE* file = fopen(argv[1], "w+");
  must(file != NULL);
  static char own[3000];
  /* Once it has seeked glibc does not look where its descriptor is. */
  const int seeks = rand() % 2;
  if (rand() % 4 == 0) setvbuf(file, own, _IOFBF, sizeof own);
  for (uint64_t i = 0; i < 4000; ++i) {
    static const int bursts[] = {1, 7, 4096, 8192, 4096 - 16, 12288, 3000};
    const int burst = bursts[rand() % 7];
    switch (rand() % 22) {
      case 0: /* by calls without a wrapper, often a whole buffer of them */
        for (int k = 0; k < burst; ++k) putc('p', file);
        break;
      case 1:
        for (int k = 0; k < burst; ++k) putc_unlocked('q', file);
        break;
      case 2:
        must(fputs("line\n", file) >= 0);
        break;
      case 3:
        must(fprintf(file, "%d\n", rand()) > 0);
        break;
      case 4: /* of all streams: no wrapper knows of which */
        must(fflush(NULL) == 0);
        break;
      case 5:
        must(!seeks || fseek(file, rand() % 5000, SEEK_CUR) == 0);
        break;
      case 6: /* past the stream */
        must(seeks || fflush(file) == 0);
        must(seeks || write(fileno(file), "past", 4) == 4);
        break;
      case 7:
        must(seeks || fflush(NULL) == 0);
        must(seeks || lseek(fileno(file), 100, SEEK_CUR) > 0);
        break;
      case 8: /* what was written is read again */
        if (seeks && fseek(file, -(rand() % 50), SEEK_CUR) == 0) {
          (void)!fread(text, 1, (size_t)(rand() % 60), file);
          must(fseek(file, 0, SEEK_END) == 0);
        }
        break;
      default: {
        const uint64_t tag = 0x51a7c0de00000000u + i;
        const size_t more = rand() % 10 == 0 ? (size_t)(rand() % 9000) : (size_t)(rand() % 64);
        memcpy(text, &tag, sizeof tag);
        memset(text + sizeof tag, 'w', more);
        must(fwrite(text, 1, sizeof tag + more, file) == sizeof tag + more);
        printf("%llu\n", (unsigned long long)tag);
      }
    }
    if (seeks && rand() % 700 == 0) {
      must(fclose(file) == 0);
      file = fopen(argv[1], "r+");
      must(file != NULL && fseek(file, 0, SEEK_END) == 0);
    }
  }
  return fclose(file) == 0 ? 0 : 1;
}
