/* Reads by a pattern inside of a signal handler, then outside; counts the process's threads.
 *
 *   reads_in_handler FILE plain|stack [thread]
 *
 * `stack`: the handler runs on a stack of its own; `thread`: all of it in a thread of its own. On
 * stdout: the threads after the handler's reads, and after those of main. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file, threads_in_handler;

static int threads(void) {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static void read_some(int first, int count) {
  static char to[65536];
  for (int i = first; i < first + count; ++i) {
    if (pread(file, to, sizeof to, (off_t)i * 600000) != (ssize_t)sizeof to) _exit(3);
  }
}

/* Raised by this thread at a known place: what is not safe elsewhere is safe here. */
static void on_signal(int number) {
  (void)number;
  read_some(0, 30);
  threads_in_handler = threads();
}

static void* run(void* how) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  if (strcmp(how, "stack") == 0) {
    const stack_t stack = {malloc(1 << 20), 0, 1 << 20};
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
  }
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  read_some(30, 30);
  printf("%d %d\n", threads_in_handler, threads());
  return NULL;
}

int main(int count, char** words) {
  if (count < 3 || (file = open(words[1], O_RDONLY)) < 0) return 2;
  pthread_t thread;
  if (count == 3) {
    run(words[2]);
  } else if (pthread_create(&thread, NULL, run, words[2]) != 0 || pthread_join(thread, NULL) != 0) {
    return 2;
  }
  return 0;
}
