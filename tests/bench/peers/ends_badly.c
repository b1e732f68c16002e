/* ends_badly FILE return|_exit|term|kill|exec|fork
 *
 * Writes 64 bytes 40 times, strided, then ends as its argument says; with fork a child writes 20
 * times more first. Its tracer should have 40 pwrites, or 60. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 64, CALLS = 40, OF_THE_CHILD = 20 };

static int write_some(int fd, int first, int calls) {
  char buffer[BYTES];
  memset(buffer, 'b', sizeof buffer);
  for (int i = first; i < first + calls; ++i) {
    if (pwrite(fd, buffer, sizeof buffer, (off_t)i * 2 * BYTES) != BYTES) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* how = argv[2];
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || write_some(fd, 0, CALLS) != 0) return 1;
  if (strcmp(how, "_exit") == 0) _exit(0);
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "exec") == 0) {
    execl("/bin/true", "true", (char*)NULL);
    return 1;
  }
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) exit(write_some(fd, CALLS, OF_THE_CHILD));
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}
