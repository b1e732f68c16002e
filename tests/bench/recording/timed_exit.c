/* timed_exit FOLDER PRELOAD PROGRAM WORDS…: runs the program with LD_PRELOAD set to PRELOAD ("-":
 * without) and writes to FOLDER/end.RANK when it had ended (CLOCK_MONOTONIC, nanoseconds) and its
 * greatest resident memory, KiB. For one rank under a launcher, whose own variables name it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count < 4) return 2;
  const char* rank = getenv("PMI_RANK");
  if (rank == NULL) rank = getenv("OMPI_COMM_WORLD_RANK");
  const pid_t child = fork();
  if (child == 0) {
    if (strcmp(words[2], "-") != 0) setenv("LD_PRELOAD", words[2], 1);
    execvp(words[3], words + 3);
    _exit(127);
  }
  int status = 0;
  struct rusage used;
  if (child < 0 || wait4(child, &status, 0, &used) != child) return 2;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char name[4096];
  snprintf(name, sizeof name, "%s/end.%s", words[1], rank == NULL ? "0" : rank);
  FILE* const said = fopen(name, "w");
  if (said == NULL) return 2;
  fprintf(said, "%llu %ld\n",
          (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec,
          used.ru_maxrss);
  fclose(said);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
