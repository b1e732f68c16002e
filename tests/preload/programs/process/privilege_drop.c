// privilege_drop KIND [EXEC…]: writes a file, gives up rights, reads the file back and writes
// another one. From the moment on in which it gives them up, a filter that the preload does not see
// kills it at every system call that it does not make itself. Its two files lie in the working
// directory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBlock = 1000, kBlocks = 3 };

#if defined(__x86_64__)
// A raw system call, which no preload sees; words that are not given are 0.
static long raw(long number, long a, long b, long c) {
  long result;
  register long d __asm__("r10") = 0;
  register long e __asm__("r8") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d), "r"(e)
                   : "rcx", "r11", "memory");
  return result;
}
#else
#define raw(number, a, b, c) syscall(number, a, b, c, 0, 0)
#endif

static struct sock_filter code[64];

static struct sock_fprog filter(const int* allowed, int count, unsigned otherwise) {
  int n = 0;
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < count; i++) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
  return (struct sock_fprog){(unsigned short)n, code};
}

// No lseek: positions cannot be asked for. clone and wait4: for the child alone.
static const int few[] = {SYS_read,  SYS_write,      SYS_pwrite64, SYS_openat,
                          SYS_close, SYS_exit_group, SYS_exit};
static const int with_child[] = {SYS_read,  SYS_write,           SYS_pwrite64,      SYS_openat,
                                 SYS_close, SYS_exit_group,      SYS_exit,          SYS_clone,
                                 SYS_wait4, SYS_set_robust_list, SYS_rt_sigprocmask};
static const int most[] = {SYS_reboot};

static const char* kind;
static int is(const char* name) {
  return strcmp(kind, name) == 0;
}

static void fail(const char* what) {
  perror(what);
  exit(3);
}

// The test's own filter, for ways to drop privileges that leave system calls alone.
static void watch(void) {
  struct sock_fprog program = filter(few, sizeof few / sizeof *few, SECCOMP_RET_KILL_PROCESS);
  if (raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) != 0 ||
      raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program) != 0) {
    fail("watch");
  }
}

static void limit(int resource, rlim_t most_of_it) {
  struct rlimit wanted;
  if (getrlimit(resource, &wanted) != 0) fail("getrlimit");
  wanted.rlim_cur = most_of_it;
  if (setrlimit(resource, &wanted) != 0) fail("setrlimit");
}

static volatile int filtered;

static void* filtered_thread(void* unused) {
  (void)unused;
  struct sock_fprog program = filter(few, sizeof few / sizeof *few, SECCOMP_RET_KILL_PROCESS);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    fail("tsync");
  }
  filtered = 1;
  for (;;) {
  }
}

static void drop_privileges(void) {
  const int child = is("child");
  struct sock_fprog program =
      filter(child ? with_child : few,
             (int)(child ? sizeof with_child / sizeof *with_child : sizeof few / sizeof *few),
             SECCOMP_RET_KILL_PROCESS);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 && !is("user")) fail("no new privileges");
  if (is("prctl") || child) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) fail("prctl");
  } else if (is("syscall")) {
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) fail("seccomp");
  } else if (is("strict")) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) fail("strict");
  } else if (is("thread")) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, filtered_thread, NULL) != 0) fail("thread");
    // To wait otherwise takes system calls.
    while (!filtered) {
    }
  } else if (is("chroot")) {
    if (chroot("root") != 0) fail("chroot");
    watch();
  } else if (is("user")) {
    if (setresuid((uid_t)-1, 65534, (uid_t)-1) != 0) fail("user");
    watch();
  } else if (is("size")) {
    limit(RLIMIT_FSIZE, 4000);
    watch();
  } else if (is("descriptors")) {
    limit(RLIMIT_NOFILE, 8);
    watch();
  } else if (is("memory")) {
    limit(RLIMIT_AS, 1 << 20);
    watch();
  } else if (is("much-memory")) {
    limit(RLIMIT_AS, (rlim_t)1 << 36);
  } else if (is("mounts")) {
    if (unshare(CLONE_NEWNS) != 0) fail("unshare");
    watch();
  } else if (is("unmount")) {
    if (umount("../place") != 0) fail("unmount");
  } else if (is("fails")) {
    // A library asks whether filters can be had: nothing is taken away.
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0) fail("a filter without a filter");
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == 0) fail("another");
    if (setresuid((uid_t)-1, geteuid(), (uid_t)-1) != 0) fail("the same user");
    struct rlimit same;
    getrlimit(RLIMIT_FSIZE, &same);
    if (setrlimit(RLIMIT_FSIZE, &same) != 0) fail("the same limit");
#if defined(__x86_64__)
  } else if (is("counter")) {
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) fail("counter");
#endif
  }
}

static void move(int out, int in, char* block) {
  for (int i = 0; i < kBlocks; i++) {
    if (read(in, block, kBlock) != kBlock) _exit(4);
    if (write(out, block, kBlock) != kBlock) _exit(5);
  }
}

int main(int count, char** arguments) {
  kind = count > 1 ? arguments[1] : "";
  static char block[kBlock];
#if defined(__x86_64__)
  // As its parent could have done it. (Not by exec: this glibc's loader reads the counter itself.)
  if (is("inherited-counter") && raw(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0) != 0) return 3;
#endif
  if (is("inherited") && count > 2) {
    struct sock_fprog program = filter(most, 1, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      fail("filter");
    }
    execv(arguments[2], (char*[]){arguments[2], arguments[1], NULL});
    fail("exec");
  }
  const int before = open("before", O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (before < 0) fail("before");
  for (int i = 0; i < kBlocks; i++) {
    memset(block, 'a' + i, sizeof block);
    if (write(before, block, kBlock) != kBlock) fail("write");
  }
  if (lseek(before, 0, SEEK_SET) != 0) fail("lseek");
  // Strict mode allows no open.
  int after = is("strict") ? open("after", O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
  drop_privileges();
  if (after < 0) after = open("after", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (after < 0) _exit(6);
  move(after, before, block);
  if (is("child")) {
    const long pid = raw(SYS_clone, 17, 0, 0);
    if (pid == 0) {
      if (write(after, block, 1) != 1) _exit(8);
      _exit(0);
    }
    int status = 0;
    if (raw(SYS_wait4, pid, (long)&status, 0) != pid || status != 0) _exit(9);
  }
  if (!is("strict")) {
    close(after);
    close(before);
  }
  if (write(1, "done\n", 5) != 5) _exit(10);
  if (is("strict")) raw(SYS_exit, 0, 0, 0);
  return 0;
}
