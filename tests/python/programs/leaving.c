// leaving FILE: a process whose timer's handler ends it while it forks, again and again, or while
// it waits for a lock; one that ends by quick_exit; and one that may not ask for names any more.
// Prints how each ended, and what is in the file.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

static void wait_for_lock(const char* path) {
  const int fd = open(path, O_RDWR);
  if (pwrite(fd, "lock", 4, 25) != 4) _exit(2);
  char other[4096];
  snprintf(other, sizeof other, "%s.other", path);
  const int lock = open(other, O_RDWR | O_CREAT, 0600);
  // Another descriptor of the same file never gets it.
  const int same = open(other, O_RDWR);
  if (flock(lock, LOCK_EX) != 0) _exit(2);
  const struct sigaction action = {.sa_handler = end};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval soon = {.it_value = {0, 200000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  flock(same, LOCK_EX);
  _exit(3);
}

static void give_up_names(void) {
  if (chdir("/") != 0) _exit(2);
  struct sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getcwd, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof lines / sizeof *lines, lines};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(2);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(2);
  _exit(open("dev/null", O_RDONLY) < 0);
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
  int status = 0;
  if (fork() == 0) wait_for_lock(argv[1]);
  wait(&status);
  printf("%d\n", status);
  fflush(stdout);
  if (fork() == 0) give_up_names();
  wait(&status);
  printf("%d\n", status);
  const int fd = open(argv[1], O_RDONLY);
  char text[64] = "";
  const ssize_t got = read(fd, text, sizeof text);
  printf("%zd %.*s\n", got, (int)got, text);
  return 0;
}
