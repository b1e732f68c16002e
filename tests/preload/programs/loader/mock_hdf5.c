/* An HDF5 as far as the loader's tests need one. NUMBER tells several of them apart. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef VERSION_MINOR
#define VERSION_MINOR 10
#endif

int H5get_libversion(unsigned* major, unsigned* minor, unsigned* release) {
  *major = 1;
  *minor = VERSION_MINOR;
  *release = 8;
  return 0;
}

/* What tells an HDF5 from a library that has a few functions of such names. */
int H5check_version(unsigned major, unsigned minor, unsigned release) {
  return major == 1 && minor == VERSION_MINOR && release == 8 ? 0 : -1;
}
int H5open(void) {
  return 0;
}
int H5close(void) {
  return 0;
}

int H5Fflush(int64_t object, int scope) {
  return object == 1 && scope == 0 ? 100 + NUMBER : -1;
}
int H5Gflush(int64_t group) {
  return group == 1 ? 200 + NUMBER : -1;
}
/* The program's, if it has one. */
extern void in_the_midst(void) __attribute__((weak));
int H5Oflush(int64_t object) {
  if (in_the_midst != NULL) in_the_midst();
  return object == 1 ? 300 + NUMBER : -1;
}

#if VERSION_MINOR < 10
/* Ids have 32 bits. Nobody but the program calls this library: any other function ends it. */
int H5Fcreate(const char* name, unsigned flags, int creation, int access) {
  return name[0] == 'f' && flags == 2 && creation == 0 && access == 0 ? 0x01000000 : -1;
}
int H5Fclose(int file) {
  return file == 0x01000000 ? 0 : -1;
}
#define FORBIDDEN(name)        \
  int name(void) {             \
    puts(#name " was called"); \
    fflush(stdout);            \
    _Exit(14);                 \
  }
FORBIDDEN(H5Eget_auto2)
FORBIDDEN(H5Eset_auto2)
FORBIDDEN(H5Fget_obj_count)
FORBIDDEN(H5Iget_name)
FORBIDDEN(H5Pget_driver)
#endif

__attribute__((destructor)) static void leave(void) {
  if (getenv("TELL_LEAVING") != NULL) printf("HDF5 %d leaves\n", NUMBER);
}
