/* Stands beneath libiotune.so and answers as Lustre's and CephFS's clients do for files below
 * $FAKE_ROOT, on whatever file system that is. Written from the clients' documented interface, not
 * from what iotune sends. Layouts are kept in $FAKE_STORE, a file per inode; what was asked is
 * appended to $FAKE_STORE/log as text, structures as hexadecimal bytes.
 *   FAKE_STORAGE  lustre, or ceph
 *   FAKE_DIRECTORY  name of a directory that has a layout for new files (CephFS: FAKE_ROOT too)
 *   FAKE_PFL  Lustre: name of a directory that has a progressive one
 *   FAKE_REFUSES  set: a layout other than the default is refused
 *   FAKE_OLD  set: Lustre before 2.13, which knows no overstriping
 *   FAKE_TARGETS  as many storage targets there are (default 64) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))
enum { DELAY = 020400, MOST_DESCRIPTORS = 4096 };

static char without_layout[MOST_DESCRIPTORS]; /* opened with the delay, nothing set since */

static int is(const char* variable, const char* value) {
  const char* text = getenv(variable);
  return text != NULL && strcmp(text, value) == 0;
}
static int lustre(void) {
  return is("FAKE_STORAGE", "lustre");
}

/* The file system sees no links on the way to a file. */
static int resolve(const char* path, char whole[PATH_MAX]) {
  if (realpath(path, whole) != NULL) return 1;
  char directory[PATH_MAX];
  const char* last = strrchr(path, '/');
  if (last == NULL) {
    strcpy(directory, ".");
    last = path;
  } else {
    snprintf(directory, sizeof directory, "%.*s/", (int)(last++ - path), path);
  }
  if (realpath(directory, whole) == NULL) return 0;
  const size_t n = strlen(whole);
  snprintf(whole + n, PATH_MAX - n, "/%s", last);
  return 1;
}
static int here(const char* path) {
  const char* root = getenv("FAKE_ROOT");
  char whole[PATH_MAX];
  const int error = errno;
  const int found = root != NULL && path != NULL && resolve(path, whole) &&
                    strncmp(whole, root, strlen(root)) == 0;
  errno = error;
  return found;
}
static int fd_here(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = '\0';
  return here(path);
}

static void note(const char* format, ...) {
  char line[1024], path[PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  line[n++] = '\n';
  snprintf(path, sizeof path, "%s/log", getenv("FAKE_STORE"));
  int fd = REAL("open", int (*)(const char*, int, ...))(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) abort();
  if (REAL("write", ssize_t(*)(int, const void*, size_t))(fd, line, (size_t)n) != n) abort();
  REAL("close", int (*)(int))(fd);
}

static void store_name(const struct stat* status, char* name) {
  snprintf(name, PATH_MAX, "%s/%llu", getenv("FAKE_STORE"), (unsigned long long)status->st_ino);
}
static ssize_t load(const struct stat* status, void* bytes, size_t room) {
  char name[PATH_MAX];
  store_name(status, name);
  FILE* file = fopen(name, "rb");
  if (file == NULL) return -1;
  size_t n = fread(bytes, 1, room, file);
  fclose(file);
  return (ssize_t)n;
}
static void save(const struct stat* status, const void* bytes, size_t n) {
  /* Whole or not at all: another rank may be reading it. */
  char name[PATH_MAX], fresh[PATH_MAX + 16];
  store_name(status, name);
  snprintf(fresh, sizeof fresh, "%s.%d", name, (int)getpid());
  FILE* file = fopen(fresh, "wb");
  if (file == NULL || fwrite(bytes, 1, n, file) != n || fclose(file) != 0) abort();
  if (rename(fresh, name) != 0) abort();
}

/* struct lov_user_md_v1, by offsets. */
static void put32(uint8_t* at, uint32_t value) {
  memcpy(at, &value, 4);
}
static uint32_t get32(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return value;
}
static uint16_t get16(const uint8_t* at) {
  uint16_t value;
  memcpy(&value, at, 2);
  return value;
}
static void make_lustre(uint8_t* to, uint32_t size, unsigned count) {
  memset(to, 0, 32);
  put32(to, 0x0BD10BD0);
  put32(to + 4, 1);
  put32(to + 24, size);
  uint16_t count16 = (uint16_t)count;
  memcpy(to + 28, &count16, 2);
}

static int opened(int fd, int flags, int was_there) {
  if (fd < 0 || !fd_here(fd)) return fd;
  struct stat status;
  fstat(fd, &status);
  if (!S_ISREG(status.st_mode)) return fd;
  uint8_t layout[32];
  const int delayed = (flags & DELAY) == DELAY;
  if (delayed) note("open with delay");
  if ((flags & O_CREAT) != 0 && !was_there) {
    char name[PATH_MAX];
    store_name(&status, name);
    unlink(name); /* an inode that was another file's */
  }
  if (lustre() && load(&status, layout, sizeof layout) < 0) {
    if (delayed) {
      if (fd < MOST_DESCRIPTORS) without_layout[fd] = 1;
    } else if ((flags & O_ACCMODE) != O_RDONLY) {
      make_lustre(layout, 1 << 20, 1);
      save(&status, layout, sizeof layout);
    }
  }
  return fd;
}

#define OPEN(name)                                                                       \
  EXPORT int name(const char* path, int flags, ...) {                                    \
    va_list arguments;                                                                   \
    va_start(arguments, flags);                                                          \
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;                \
    va_end(arguments);                                                                   \
    const int was_there = here(path) && access(path, F_OK) == 0;                         \
    return opened(REAL(#name, int (*)(const char*, int, ...))(path, flags, mode), flags, \
                  was_there);                                                            \
  }
OPEN(open)
OPEN(open64)

EXPORT int close(int fd) {
  if (fd >= 0 && fd < MOST_DESCRIPTORS) without_layout[fd] = 0;
  return REAL("close", int (*)(int))(fd);
}

/* Lustre: a file without a layout has no place for bytes. */
#define WRITE(name, parameters, arguments)                        \
  EXPORT ssize_t name parameters {                                \
    if (fd >= 0 && fd < MOST_DESCRIPTORS && without_layout[fd]) { \
      note("write without a layout");                             \
      errno = EBADF;                                              \
      return -1;                                                  \
    }                                                             \
    return REAL(#name, ssize_t(*) parameters) arguments;          \
  }
WRITE(write, (int fd, const void* from, size_t n), (fd, from, n))
WRITE(pwrite, (int fd, const void* from, size_t n, off_t at), (fd, from, n, at))
WRITE(pwrite64, (int fd, const void* from, size_t n, off64_t at), (fd, from, n, at))

/* Only iotune sees another file system: Debian's ROMIO has no driver for it. */
static int asked_by_iotune(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
         strstr(info.dli_fname, "libiotune.so") != NULL;
}
EXPORT int statfs(const char* path, struct statfs* status) {
  const int result = REAL("statfs", int (*)(const char*, struct statfs*))(path, status);
  if (result == 0 && here(path) && asked_by_iotune(__builtin_return_address(0)))
    status->f_type = lustre() ? 0x0BD00BD0 : 0x65735546;
  return result;
}

static int lustre_set(int fd, const uint8_t* asked) {
  char hex[65];
  for (int i = 0; i < 32; ++i) snprintf(hex + 2 * i, 3, "%02x", asked[i]);
  note("setstripe %s", hex);
  struct stat status;
  uint8_t layout[32];
  fstat(fd, &status);
  errno = EEXIST;
  if (load(&status, layout, sizeof layout) > 0) {
    /* It has one by now, no matter who set it, and its bytes their places. */
    if (fd < MOST_DESCRIPTORS) without_layout[fd] = 0;
    return -1;
  }
  uint32_t size = get32(asked + 24);
  unsigned count = get16(asked + 28);
  const char* targets = getenv("FAKE_TARGETS");
  const unsigned most = targets == NULL ? 64 : (unsigned)atoi(targets);
  errno = EINVAL;
  const uint32_t pattern = get32(asked + 4), over = pattern & 0x200;
  if (over && getenv("FAKE_OLD") != NULL) return -1;
  if (get32(asked) != 0x0BD10BD0 || (pattern & ~0x200u) > 1 || size % 65536 != 0) return -1;
  if (getenv("FAKE_REFUSES") != NULL && (size != 0 || count != 0)) return -1;
  make_lustre(layout, size == 0 ? 1 << 20 : size,
              count == 0              ? 1
              : count > most && !over ? most
                                      : count);
  put32(layout + 4, over | 1);
  save(&status, layout, sizeof layout);
  if (fd < MOST_DESCRIPTORS) without_layout[fd] = 0;
  return 0;
}
EXPORT int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if (lustre() && request == 0x4008669a && fd_here(fd)) return lustre_set(fd, argument);
  return REAL("ioctl", int (*)(int, unsigned long, ...))(fd, request, argument);
}

static ssize_t answer(const char* text, size_t n, void* value, size_t size) {
  if (size == 0) return (ssize_t)n;
  if (size < n) {
    errno = ERANGE;
    return -1;
  }
  memcpy(value, text, n);
  return (ssize_t)n;
}
static int is_called(const char* directory, const char* variable) {
  const char* wanted = getenv(variable);
  const char* last = strrchr(directory, '/');
  return wanted != NULL && last != NULL && strcmp(last + 1, wanted) == 0;
}
static int has_layout(const char* directory) {
  if (!lustre() && strcmp(directory, getenv("FAKE_ROOT")) == 0) return 1;
  return is_called(directory, "FAKE_DIRECTORY");
}
/* struct lov_comp_md_v1 with two components: 1 MiB of one stripe, the rest of four. */
static size_t make_progressive(uint8_t* to) {
  enum { HEAD = 32, ENTRY = 48, PART = 32, BYTES = HEAD + 2 * (ENTRY + PART) };
  memset(to, 0, BYTES);
  put32(to, 0x0BD60BD0);
  put32(to + 4, BYTES);
  to[14] = 2; /* lcm_entry_count */
  const uint64_t ends[] = {1 << 20, UINT64_MAX};
  for (uint32_t i = 0; i < 2; ++i) {
    uint8_t* entry = to + HEAD + i * ENTRY;
    const uint64_t start = i == 0 ? 0 : ends[0];
    put32(entry, i + 1);
    memcpy(entry + 8, &start, 8);
    memcpy(entry + 16, &ends[i], 8);
    put32(entry + 24, HEAD + 2 * ENTRY + i * PART);
    put32(entry + 28, PART);
    make_lustre(to + HEAD + 2 * ENTRY + i * PART, 1 << 20, i == 0 ? 1 : 4);
  }
  return BYTES;
}
static ssize_t attribute(const char* path, const struct stat* status, const char* name, void* value,
                         size_t size) {
  char bytes[256];
  ssize_t n = -1;
  errno = ENODATA;
  if (S_ISDIR(status->st_mode)) {
    if (!lustre() && strcmp(name, "ceph.dir.entries") == 0) return answer("1", 1, value, size);
    const char* own = lustre() ? "lustre.lov" : "ceph.dir.layout";
    if (strcmp(name, own) != 0 || path == NULL) return -1;
    if (lustre() && is_called(path, "FAKE_PFL"))
      return answer(bytes, make_progressive((uint8_t*)bytes), value, size);
    if (!has_layout(path)) return -1;
    if (!lustre()) return answer("stripe_unit=65536 stripe_count=2", 32, value, size);
    make_lustre((uint8_t*)bytes, 1 << 20, 2);
    return answer(bytes, 32, value, size);
  }
  if (lustre() && strcmp(name, "lustre.lov") == 0) n = load(status, bytes, sizeof bytes);
  if (!lustre() && strcmp(name, "ceph.file.layout") == 0) {
    n = load(status, bytes, sizeof bytes);
    if (n < 0)
      n = snprintf(bytes, sizeof bytes,
                   "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=fsdata");
  }
  if (n < 0) {
    errno = ENODATA;
    return -1;
  }
  return answer(bytes, (size_t)n, value, size);
}
EXPORT ssize_t getxattr(const char* path, const char* name, void* value, size_t size) {
  struct stat status;
  char whole[PATH_MAX];
  if (here(path) && resolve(path, whole) && stat(path, &status) == 0)
    return attribute(whole, &status, name, value, size);
  return REAL("getxattr", ssize_t(*)(const char*, const char*, void*, size_t))(path, name, value,
                                                                               size);
}
EXPORT ssize_t fgetxattr(int fd, const char* name, void* value, size_t size) {
  struct stat status;
  if (fd_here(fd) && fstat(fd, &status) == 0) return attribute(NULL, &status, name, value, size);
  return REAL("fgetxattr", ssize_t(*)(int, const char*, void*, size_t))(fd, name, value, size);
}
EXPORT int fsetxattr(int fd, const char* name, const void* value, size_t size, int flags) {
  if (lustre() || strcmp(name, "ceph.file.layout") != 0 || !fd_here(fd))
    return REAL("fsetxattr", int (*)(int, const char*, const void*, size_t, int))(fd, name, value,
                                                                                  size, flags);
  char text[256] = "";
  memcpy(text, value, size < sizeof text ? size : sizeof text - 1);
  note("ceph.file.layout %s", text);
  struct stat status;
  fstat(fd, &status);
  unsigned long long unit = 0, count = 0, object = 0;
  errno = ENOTEMPTY;
  if (status.st_size != 0) return -1;
  errno = EINVAL;
  if (sscanf(text, "stripe_unit=%llu stripe_count=%llu object_size=%llu", &unit, &count, &object) !=
          3 ||
      unit == 0 || unit % 65536 != 0 || object < unit || object % unit != 0 ||
      getenv("FAKE_REFUSES") != NULL)
    return -1;
  char kept[320];
  const int n = snprintf(kept, sizeof kept, "%s pool=fsdata", text);
  save(&status, kept, (size_t)n);
  return 0;
}
