/* file_habits FILE: what programs, libc and the kernel do with a file beside plain reads and
 * writes. Prints the same on every file system. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static const char* path;

static void wide_text(void) {
  wchar_t line[40] = L"";
  FILE* stream = fopen(path, "w");
  const int put = fputws(L"gr\u00fcn\n", stream), printed = fwprintf(stream, L"%d\n", 12);
  fclose(stream);
  stream = fopen(path, "r,ccs=UTF-8");
  fgetws(line, 40, stream);
  printf("wide %d %d %zu %lc\n", put >= 0, printed, wcslen(line), (wint_t)line[2]);
  fclose(stream);
}

static void appending_streams(void) {
  unlink(path);
  for (int i = 0; i < 3; ++i) {
    FILE* const stream = fopen(path, "a");
    if (ftell(stream) == 0) fputs("head\n", stream);
    fprintf(stream, "%d\n", i);
    printf("append %ld\n", ftell(stream));
    fclose(stream);
  }
  const int fd = open(path, O_WRONLY);
  FILE* const stream = fdopen(fd, "a");
  fputs("end\n", stream);
  printf("fdopen %ld %d\n", ftell(stream), (fcntl(fd, F_GETFL) & O_APPEND) != 0);
  fclose(stream);
}

static void counted_under_lockf(void) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  char text[9] = "00000000";
  if (write(fd, text, 8) != 8) exit(3);
  for (int child = 0; child < 3; ++child) {
    if (fork() != 0) continue;
    const int own = open(path, O_RDWR);
    for (int i = 0; i < 100; ++i) {
      lseek(own, 0, SEEK_SET);
      if (lockf(own, F_LOCK, 0) != 0 || pread(own, text, 8, 0) != 8) _exit(4);
      snprintf(text, sizeof text, "%08d", atoi(text) + 1);
      if (pwrite(own, text, 8, 0) != 8 || lockf(own, F_ULOCK, 0) != 0) _exit(5);
    }
    _exit(0);
  }
  int status = 0, wrong = 0;
  while (wait(&status) > 0) wrong |= status;
  const ssize_t got = pread(fd, text, 8, 0);
  printf("lockf %d %zd %s\n", wrong, got, text);
  close(fd);
}

static void through_pipes(void) {
  int ends[2];
  char* const bytes = calloc(1, 200000);
  const int out = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (write(out, bytes, 200000) != 200000 || pipe(ends) != 0) exit(3);
  fcntl(ends[1], F_SETPIPE_SZ, 4096);
  const int in = open(path, O_RDONLY);
  if (write(ends[1], "12345", 5) != 5) exit(3);
  const ssize_t some = splice(in, NULL, ends[1], NULL, 65536, SPLICE_F_NONBLOCK);
  printf("splice %d\n", some < 65536);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (sendfile(ends[1], in, NULL, 100000) > 0) {
  }
  printf("sendfile %d\n", errno == EAGAIN);
  free(bytes);
  close(in), close(out), close(ends[0]), close(ends[1]);
}

static void wrong_buffers(void) {
  const int fd = open(path, O_RDWR);
  void* const none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const ssize_t read_none = pread(fd, none, 4096, 0);
  const int read_errno = errno;
  const ssize_t written = write(fd, none, 100);
  printf("wrong buffers %zd %d %zd %d\n", read_none, read_errno == EFAULT, written,
         errno == EFAULT);
  close(fd);
}

static volatile int reported;
static void tell(union sigval value) {
  (void)value;
  __sync_fetch_and_add(&reported, 1);
}
static void asynchronous(void) {
  static char bytes[4096], back[4096];
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  memset(bytes, 'a', sizeof bytes);
  struct aiocb request = {.aio_fildes = fd, .aio_buf = bytes, .aio_nbytes = sizeof bytes};
  request.aio_sigevent.sigev_notify = SIGEV_THREAD;
  request.aio_sigevent.sigev_notify_function = tell;
  const int begun = aio_write(&request);
  while (begun == 0 && reported == 0) usleep(1000);
  const ssize_t got = pread(fd, back, sizeof back, 0);
  printf("aio %d %zd %zd %d\n", begun, aio_return(&request), got, memcmp(bytes, back, sizeof back));
  close(fd);
}

static int log_fd;
static volatile long lines, lost;
static void log_line(int number) {
  const int kept = errno;
  if (write(log_fd, "0123456789\n", 11) == 11)
    ++lines;
  else
    ++lost;
  (void)number, errno = kept;
}
static void from_a_handler(void) {
  char name[4096], block[4096] = "";
  snprintf(name, sizeof name, "%s.log", path);
  log_fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  const int data = open(path, O_RDWR | O_CREAT, 0600);
  signal(SIGALRM, log_line);
  const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  long wrong = 0;
  for (long i = 0; lines < 50; ++i)
    wrong += pwrite(data, block, sizeof block, i % 500 * 4096) != 4096;
  setitimer(ITIMER_REAL, &never, NULL);
  struct stat status;
  fstat(log_fd, &status);
  printf("handler %ld %ld %d\n", wrong, lost, status.st_size == 11 * lines);
  close(log_fd), close(data);
}

static void names(const char* folder) {
  const char* const base = strrchr(path, '/') + 1;
  const int fd = open(path, O_RDWR);
  fchmod(fd, 0644);
  const struct timeval times[2] = {{7, 0}, {7, 0}};
  struct stat status;
  const int set = lutimes(path, times);
  stat(path, &status);
  printf("names %d %d %ld", euidaccess(path, X_OK), set, (long)status.st_mtime);
  char* folders[] = {(char*)folder, NULL};
  FTS* const walk = fts_open(folders, FTS_PHYSICAL, NULL);
  for (FTSENT* entry; (entry = fts_read(walk)) != NULL;) {
    if (strcmp(entry->fts_name, base) == 0) printf(" %d", entry->fts_info == FTS_F);
  }
  fts_close(walk);
  char value[8] = "", up[4200];
  const int kept = fsetxattr(fd, "user.own", "one", 3, 0);
  const ssize_t got = getxattr(path, "user.own", value, sizeof value);
  snprintf(up, sizeof up, "%s/../x", path);
  const int through = open(up, O_WRONLY | O_CREAT, 0600);
  printf(" %d %zd %s %d %d\n", kept, got, value, through, errno == ENOTDIR);
  close(fd);
}

static void over_a_socket(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) exit(3);
  const pid_t child = fork();
  char room[CMSG_SPACE(sizeof(int))] = "", letter = 'x';
  struct iovec part = {&letter, 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (child == 0) {
    int fd = -1;
    recvmsg(ends[1], &message, 0);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    _exit(pwrite(fd, "child", 5, 5) == 5 ? 0 : 1);
  }
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (write(fd, "made ", 5) != 5) exit(3);
  struct cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  sendmsg(ends[0], &message, 0);
  int status = 0;
  waitpid(child, &status, 0);
  char text[11] = "";
  const ssize_t got = pread(fd, text, 10, 0);
  printf("sent %d %zd %s\n", status, got, text);
  close(fd);
}

static void as_stdin(void) {
  FILE* const stream = fopen(path, "w");
  for (int i = 0; i < 500; ++i) fprintf(stream, "%d\n", i);
  fclose(stream);
  close(0);
  int found = open(path, O_RDWR), many = 0, number = 0;
  while (scanf("%d", &number) == 1) ++many;
  printf("stdin %d %d\n", found, many);
}

int main(int argc, char** argv) {
  if (argc != 3 || setlocale(LC_ALL, "C.UTF-8") == NULL) return 2;
  path = argv[1];
  wide_text();
  appending_streams();
  fflush(stdout);
  counted_under_lockf();
  through_pipes();
  wrong_buffers();
  asynchronous();
  from_a_handler();
  names(argv[2]);
  fflush(stdout);
  over_a_socket();
  as_stdin();
  return 0;
}
