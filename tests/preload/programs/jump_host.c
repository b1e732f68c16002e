/* Has no HDF5 of its own. Its plug-ins end with a call of theirs, which returns to here. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int wrong = 0;
  for (int turn = 0; argc == 2 && turn < 30; ++turn) {
    const int number = turn % 4;
    char path[4096];
    snprintf(path, sizeof path, "%s/libmock_plugin_%d.so", argv[1], number);
    void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return 2;
    int (*const go)(void) = (int (*)(void))dlsym(handle, "go_by_jump");
    for (int i = 0; i < 3; ++i) wrong += go() != 100 + number;
    dlclose(handle);
  }
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
