/* Keeps products at GLIBC_2.28 although they are built on a newer glibc: what SQLite, libxml2,
 * libstdc++ and libgcc want in a newer version, or from libpthread and libdl of an older one, is
 * defined here, hidden. tests/unit/patterndb/library/check_library.py reads the result.
 *
 * In libiotune-db.so and libiotune-logstore.so threads are refused: only one thread at a time is
 * inside the first (decision.h), SQLite is configured for that, and nothing in either may start
 * threads. With IOTUNE_THREADS, in what programs with threads call, they are libc's own. With
 * IOTUNE_PROGRAM the product is a program, with libfuse inside; no other loads code. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

#if defined(__x86_64__)
#define BASE_VERSION "GLIBC_2.2.5"
#define STAT_VERSION 1
#elif defined(__aarch64__)
#define BASE_VERSION "GLIBC_2.17"
#define STAT_VERSION 0
#else
#error "iotune knows x86-64 and AArch64"
#endif

#define HIDDEN __attribute__((visibility("hidden")))

/* A function under its oldest version, which means the same. */
#define OLD(type, name, parameters, arguments)              \
  type old_##name parameters;                               \
  __asm__(".symver old_" #name "," #name "@" BASE_VERSION); \
  HIDDEN type name parameters;                              \
  type name parameters {                                    \
    return old_##name arguments;                            \
  }

OLD(double, exp, (double x), (x))
OLD(double, exp2, (double x), (x))
OLD(double, hypot, (double x, double y), (x, y))
OLD(double, log, (double x), (x))
OLD(double, log2, (double x), (x))
OLD(double, pow, (double x, double y), (x, y))

/* struct stat is opaque here: only its address passes. */
int __xstat64(int version, const char* path, void* status);
int __lxstat64(int version, const char* path, void* status);
int __fxstat64(int version, int descriptor, void* status);
int __fxstatat(int version, int folder, const char* path, void* status, int flags);

#ifndef IOTUNE_OWN_STAT /* libiotune-logstore.so has them straight: direct_calls.cpp */
#define STAT(name, first, old)            \
  HIDDEN int name(first, void* status);   \
  int name(first, void* status) {         \
    return old(STAT_VERSION, of, status); \
  }

/* stat and stat64 are one on 64-bit systems. */
STAT(stat, const char* of, __xstat64)
STAT(stat64, const char* of, __xstat64)
STAT(lstat, const char* of, __lxstat64)
STAT(lstat64, const char* of, __lxstat64)
STAT(fstat, int of, __fxstat64)
STAT(fstat64, int of, __fxstat64)

HIDDEN int fstatat(int folder, const char* path, void* status, int flags);
int fstatat(int folder, const char* path, void* status, int flags) {
  return __fxstatat(STAT_VERSION, folder, path, status, flags);
}
#endif

/* False: libstdc++ counts references atomically. */
HIDDEN char __libc_single_threaded = 0;

#ifdef IOTUNE_THREADS
/* The types are opaque here, too. A key is a number, a thread is one as wide as an address. */
typedef unsigned int Key;
typedef unsigned long Thread;
OLD(int, pthread_create, (Thread * made, const void* how, void* (*begin)(void*), void* argument),
    (made, how, begin, argument))
OLD(int, pthread_join, (Thread ended, void** result), (ended, result))
OLD(int, pthread_mutexattr_init, (void* kind), (kind))
OLD(int, pthread_mutexattr_settype, (void* kind, int value), (kind, value))
OLD(int, pthread_mutexattr_destroy, (void* kind), (kind))
OLD(int, pthread_mutex_trylock, (void* mutex), (mutex))
OLD(int, pthread_key_create, (Key * key, void (*end)(void*)), (key, end))
OLD(int, __pthread_key_create, (Key * key, void (*end)(void*)), (key, end))
OLD(int, pthread_key_delete, (Key key), (key))
OLD(int, pthread_setspecific, (Key key, const void* value), (key, value))
OLD(void*, pthread_getspecific, (Key key), (key))
OLD(int, pthread_sigmask, (int how, const void* set, void* before), (how, set, before))
OLD(int, pthread_once, (int* done, void (*function)(void)), (done, function))
#else
#define REFUSED(type, name, parameters, result) \
  HIDDEN type name parameters;                  \
  type name parameters {                        \
    return result;                              \
  }

REFUSED(int, pthread_create, (void), EAGAIN)
REFUSED(int, pthread_join, (void), EINVAL)
REFUSED(int, pthread_mutexattr_init, (void), 0)
REFUSED(int, pthread_mutexattr_settype, (void), 0)
REFUSED(int, pthread_mutexattr_destroy, (void), 0)
REFUSED(int, pthread_mutex_trylock, (void), EBUSY)
REFUSED(int, pthread_key_create, (void), EAGAIN)
REFUSED(int, __pthread_key_create, (void), EAGAIN)
REFUSED(int, pthread_key_delete, (void), EINVAL)
REFUSED(int, pthread_setspecific, (void), EINVAL)
REFUSED(void*, pthread_getspecific, (void), NULL)

HIDDEN int pthread_once(int* done, void (*function)(void));
int pthread_once(int* done, void (*function)(void)) {
  static int busy = 0;
  while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0) {
  }
  const int first = *done == 0;
  *done = 1;
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  if (first) function();
  return 0;
}
#endif

#ifdef IOTUNE_PROGRAM
OLD(void*, dlopen, (const char* path, int flags), (path, flags))
OLD(void*, dlsym, (void* handle, const char* name), (handle, name))
OLD(int, dlclose, (void* handle), (handle))
OLD(char*, dlerror, (void), ())

OLD(int, pthread_rwlock_rdlock, (void* lock), (lock))
OLD(int, pthread_rwlock_unlock, (void* lock), (lock))
OLD(int, pthread_rwlock_wrlock, (void* lock), (lock))
OLD(int, pthread_cancel, (Thread thread), (thread))
OLD(int, pthread_detach, (Thread thread), (thread))
OLD(int, pthread_kill, (Thread thread, int signal), (thread, signal))
OLD(int, pthread_attr_setstacksize, (void* how, size_t bytes), (how, bytes))
OLD(int, sem_init, (void* semaphore, int shared, unsigned int value), (semaphore, shared, value))
OLD(int, sem_destroy, (void* semaphore), (semaphore))
OLD(int, sem_post, (void* semaphore), (semaphore))
OLD(int, sem_wait, (void* semaphore), (semaphore))

/* std::random_device asks it where libstdc++ was built on glibc 2.36 or later. */
HIDDEN uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t drawn = 0;
  while (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
  }
  return drawn;
}

int __xmknod(int version, const char* path, unsigned int mode, unsigned long* device);
HIDDEN int mknod(const char* path, unsigned int mode, unsigned long device);
int mknod(const char* path, unsigned int mode, unsigned long device) {
  return __xmknod(0, path, mode, &device);
}

/* Before glibc 2.34 a program brings the function that runs its constructors; a later one takes
 * it, too. Destructors are the loader's in both. */
typedef void Constructor(int count, char** words, char** environment);
extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

static void construct(int count, char** words, char** environment) {
  _init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each) {
    (*each)(count, words, environment);
  }
}

typedef int Main(int count, char** words, char** environment);
int old_start(Main* main, int count, char** words, Constructor* begin, void (*end)(void),
              void (*unload)(void), void* stack);
__asm__(".symver old_start,__libc_start_main@" BASE_VERSION);

HIDDEN int __libc_start_main(Main* main, int count, char** words, Constructor* begin,
                             void (*end)(void), void (*unload)(void), void* stack);
int __libc_start_main(Main* main, int count, char** words, Constructor* begin, void (*end)(void),
                      void (*unload)(void), void* stack) {
  (void)begin, (void)end; /* none, of a program linked on glibc 2.34 or later */
  return old_start(main, count, words, construct, NULL, unload, stack);
}
#else
HIDDEN void* dlopen(const char* path, int flags);
void* dlopen(const char* path, int flags) {
  (void)path, (void)flags;
  return NULL;
}
HIDDEN void* dlsym(void* handle, const char* name);
void* dlsym(void* handle, const char* name) {
  (void)handle, (void)name;
  return NULL;
}
HIDDEN int dlclose(void* handle);
int dlclose(void* handle) {
  (void)handle;
  return -1;
}
HIDDEN char* dlerror(void);
char* dlerror(void) {
  static char no_code[] = "iotune loads no code";
  return no_code;
}
#endif

#if __GLIBC_PREREQ(2, 35)
/* The unwinder of gcc 12 asks glibc 2.35 for the frames of a code address and has no other way. */
struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_into(struct dl_phdr_info* object, size_t size, void* argument) {
  (void)size;
  struct search* search = argument;
  uintptr_t low = UINTPTR_MAX, high = 0;
  int inside = 0;
  void* frames = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_LOAD) {
      uintptr_t end = start + header->p_memsz;
      inside |= search->address >= start && search->address < end;
      low = start < low ? start : low;
      high = end > high ? end : high;
    } else if (header->p_type == PT_GNU_EH_FRAME) {
      frames = (void*)start;
    }
  }
  if (!inside || frames == NULL) return 0;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void*)low;
  search->found->dlfo_map_end = (void*)high;
  search->found->dlfo_link_map = NULL;
  search->found->dlfo_eh_frame = frames;
  return 1;
}

HIDDEN int _dl_find_object(void* address, struct dl_find_object* found);
int _dl_find_object(void* address, struct dl_find_object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
#endif
