/* Keeps libiotune-db.so and libiotune-logstore.so at GLIBC_2.28 although they are built on a newer
 * glibc: what SQLite, libxml2, libstdc++ and libgcc want in a newer version, or from libpthread and
 * libdl of an older one, is defined here, hidden. Only one thread at a time is inside the first
 * (decision.h), SQLite is configured for that, and nothing in either may start threads or load
 * code: so most of it says no. tests/unit/patterndb/library/check_library.py reads the result. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

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

/* Functions of the same meaning under their oldest version. */
#define OLD_MATH(name, parameters, arguments)               \
  double old_##name parameters;                             \
  __asm__(".symver old_" #name "," #name "@" BASE_VERSION); \
  HIDDEN double name parameters;                            \
  double name parameters {                                  \
    return old_##name arguments;                            \
  }

OLD_MATH(exp, (double x), (x))
OLD_MATH(exp2, (double x), (x))
OLD_MATH(hypot, (double x, double y), (x, y))
OLD_MATH(log, (double x), (x))
OLD_MATH(log2, (double x), (x))
OLD_MATH(pow, (double x, double y), (x, y))

/* struct stat is opaque here: only its address passes. */
int __xstat64(int version, const char* path, void* status);
int __lxstat64(int version, const char* path, void* status);
int __fxstat64(int version, int descriptor, void* status);

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
#endif

/* False: libstdc++ counts references atomically. */
HIDDEN char __libc_single_threaded = 0;

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
  static char no_code[] = "libiotune-db.so loads no code";
  return no_code;
}

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
