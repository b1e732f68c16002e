// leaving FILE: a process whose timer's handler ends it while it forks, again and again; and one
// that ends by quick_exit. Prints how each ended, and what is in the file.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(0);
}

static void fork_until_ended(const char* path, int i) {
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (pwrite(fd, "f", 1, i) != 1) _exit(2);
  alarm(30);  // of one that hangs
  const struct sigaction action = {.sa_handler = end};
  sigaction(SIGVTALRM, &action, NULL);
  const struct itimerval soon = {.it_value = {0, 2000 + 97 * i}};
  setitimer(ITIMER_VIRTUAL, &soon, NULL);
  // The time of a process counts in the kernel as well, of which a fork is the most.
  sigaction(SIGPROF, &action, NULL);
  setitimer(ITIMER_PROF, &soon, NULL);
  for (;;) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const size_t bytes = (size_t)64 << 20;
  char* const ballast = malloc(bytes);  // a fork of more takes longer
  for (size_t i = 0; ballast != NULL && i < bytes; i += 4096) ballast[i] = 1;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) fork_until_ended(argv[1], i);
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d\n", status);
  }
  fflush(stdout);
  if (fork() == 0) {
    const int fd = open(argv[1], O_RDWR);
    if (pwrite(fd, "quick", 5, 20) != 5) _exit(2);
    quick_exit(0);
  }
  wait(NULL);
  const int fd = open(argv[1], O_RDONLY);
  char text[32] = "";
  const ssize_t got = read(fd, text, sizeof text);
  printf("%zd %.*s\n", got, (int)got, text);
  return 0;
}
