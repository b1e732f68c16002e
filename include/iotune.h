/* iotune for programs that want to say more than their calls do. A program that includes this needs
 * no library: without iotune preloaded, every function does nothing and says so. C99 and C++. */
#ifndef IOTUNE_H
#define IOTUNE_H

#include <errno.h>
#include <stddef.h>
#ifndef __PIC__
/* Where code is not position-independent the linker takes a weak function that it does not find for
 * one that will never be: it is asked for by name. Weak itself: in libdl before glibc 2.34. */
#include <dlfcn.h>
#pragma weak dlsym
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* In libiotune.so; call iotune_preexecute. */
extern int iotune_preexecute_slice(void (*slice)(void*), void* argument) __attribute__((weak));

/* Runs slice(argument) ahead of the program, in a thread of iotune's: the part of the program that
 * says what will be read, such as its loop without the work. Returns at once:
 *
 *   0        the slice runs
 *   ENOSYS   iotune is not preloaded, or cannot be reached
 *   ENOTSUP  nothing is prefetched (IOTUNE_PREFETCH is not set, or IOTUNE_MODE is not tune)
 *   EBUSY    a slice is running; there is one at a time
 *   EAGAIN   there is no thread to be had
 *
 * On descriptors that the program opened, in the slice:
 *   read, pread    become prefetches, return what the program's will, and leave the buffer alone;
 *                  where the slice "wrote" the bytes before, they wait for the program's write
 *   write, pwrite  fail with EROFS; the bytes count as the program's to write
 *   lseek          moves an offset of the slice's own, which begins where the program's is
 * Every other call is made as it is, so the slice must make none that changes a file, closes one of
 * the program's, or moves its data in another way (readv, fread, sendfile, aio_read, ...). Files
 * that the slice opens itself it reads as ever: to find in an index what will be read. What
 * `argument` points at must live until the slice has returned, and the slice must not write to what
 * the program uses meanwhile. No MPI, no HDF5, no stdio. */
static inline int iotune_preexecute(void (*slice)(void*), void* argument) {
  int (*run)(void (*)(void*), void*) = iotune_preexecute_slice;
#ifndef __PIC__
  if (run == NULL && dlsym != NULL) {
    void* const all = NULL; /* RTLD_DEFAULT, which needs _GNU_SOURCE */
    *(void**)&run = dlsym(all, "iotune_preexecute_slice");
  }
#endif
  return run != NULL ? run(slice, argument) : ENOSYS;
}

/* In libiotune.so; call iotune_region_begin and iotune_region_end. */
extern int iotune_region_enter(const char* name, long long value) __attribute__((weak));
extern int iotune_region_leave(const char* name) __attribute__((weak));

/* The value of a region that has none. */
#define IOTUNE_NO_VALUE (-__LONG_LONG_MAX__ - 1LL)

/* Begins a region: a part of the run that the program has a name for, such as a time step.
 * `iotune show` tells how long it took and what it read and wrote. Regions may lie inside each
 * other; each thread has its own. `value`: what tells this entry from others, such as the number of
 * the step, or IOTUNE_NO_VALUE. Of a name longer than 207 bytes the beginning is kept.
 *
 *   0        done
 *   ENOSYS   iotune is not preloaded, or cannot be reached
 *   ENOTSUP  nothing is recorded */
static inline int iotune_region_begin(const char* name, long long value) {
  int (*enter)(const char*, long long) = iotune_region_enter;
#ifndef __PIC__
  static int (*found)(const char*, long long);
  static int looked;
  if (enter == NULL && dlsym != NULL && !__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    void* const all = NULL; /* RTLD_DEFAULT, which needs _GNU_SOURCE */
    void* const address = dlsym(all, "iotune_region_enter");
    __atomic_store_n((void**)&found, address, __ATOMIC_RELAXED);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
  }
  if (enter == NULL) *(void**)&enter = __atomic_load_n((void**)&found, __ATOMIC_RELAXED);
#endif
  return enter != NULL ? enter(name, value) : ENOSYS;
}

/* Ends the innermost region of that name that this thread has begun, and those inside of it; with
 * NULL the innermost one whatever its name is. Beside what iotune_region_begin returns:
 *
 *   EINVAL   no such region is open; nothing is ended */
static inline int iotune_region_end(const char* name) {
  int (*leave)(const char*) = iotune_region_leave;
#ifndef __PIC__
  static int (*found)(const char*);
  static int looked;
  if (leave == NULL && dlsym != NULL && !__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    void* const all = NULL;
    void* const address = dlsym(all, "iotune_region_leave");
    __atomic_store_n((void**)&found, address, __ATOMIC_RELAXED);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
  }
  if (leave == NULL) *(void**)&leave = __atomic_load_n((void**)&found, __ATOMIC_RELAXED);
#endif
  return leave != NULL ? leave(name) : ENOSYS;
}

#ifdef __cplusplus
}

namespace iotune {
/* A region that ends with its scope. */
class Region {
 public:
  explicit Region(const char* name, long long value = IOTUNE_NO_VALUE) : name_(name) {
    iotune_region_begin(name, value);
  }
  ~Region() { iotune_region_end(name_); }

 private:
  Region(const Region&);
  Region& operator=(const Region&);
  const char* name_; /* must live as long */
};
}  // namespace iotune
#endif
#endif
