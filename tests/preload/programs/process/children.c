/* children FILE: makes children in each way and waits for them in each; takes locks on a file. Says
 * on stdout what a trace should hold of it, a line a call: NAME number … */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int forked(const char* file, int status) {
  fflush(stdout);
  const int child = fork();
  if (child == 0) {
    const int fd = open(file, O_WRONLY);
    _exit(fd < 0 || pwrite(fd, "child", 5, 0) != 5 ? 99 : status);
  }
  printf("fork %d\n", child);
  return child;
}

static void lock(int fd, const char* name, int command, short type, int start, int length) {
  struct flock range;
  memset(&range, 0, sizeof range);
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = start;
  range.l_len = length;
  if (fcntl(fd, command, &range) != 0) exit(3);
  printf("%s %d 0 %d %d %d %d\n", name, command, type, SEEK_SET, start, length);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || pwrite(fd, "parent", 6, 0) != 6) return 2;
  int status, child = forked(argv[1], 1);
  int got = wait(&status);
  printf("wait %d %d\n", got, 1 << 8);

  child = forked(argv[1], 2);
  while ((got = waitpid(child, NULL, WNOHANG)) == 0) usleep(1000);
  printf("waitpid %d %d %d %d\n", child, WNOHANG, got, 2 << 8);

  struct rusage usage;
  forked(argv[1], 3);
  got = wait3(&status, 0, &usage);
  printf("wait3 0 %d %d\n", got, 3 << 8);
  child = forked(argv[1], 4);
  got = wait4(child, NULL, 0, NULL);
  printf("wait4 %d 0 %d %d\n", child, got, 4 << 8);

  child = forked(argv[1], 5);
  if (waitid(P_PID, (id_t)child, NULL, WEXITED) != 0) return 4;
  printf("waitid %d %d %d 0 %d\n", P_PID, child, WEXITED, child);

  char* const words[] = {"true", NULL};
  if (posix_spawnp(&child, "true", NULL, NULL, words, environ) != 0) return 5;
  printf("posix_spawn 0 %d\n", child);
  got = waitpid(child, &status, 0);
  printf("waitpid %d 0 %d 0\n", child, got);
  /* None is left. */
  if (wait(&status) != -1) return 6;

  lock(fd, "fcntl", F_SETLK, F_WRLCK, 10, 5);
  lock(fd, "fcntl", F_SETLKW, F_UNLCK, 10, 0);
  lock(fd, "fcntl", F_OFD_SETLK, F_RDLCK, 7, 1);
  flock(fd, LOCK_EX);
  printf("flock %d 0\n", LOCK_EX);
  flock(fd, LOCK_UN);
  printf("flock %d 0\n", LOCK_UN);
  return 0;
}
