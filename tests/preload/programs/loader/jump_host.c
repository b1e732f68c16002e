/* Has no HDF5 of its own. Its plug-ins end with a call of theirs, which returns to here.
   jump_host FOLDER        plug-ins come and go
   jump_host FOLDER fork   one calls on while processes are forked, which use the loader */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*Go)(void);
static const char* folder;
static atomic_int ready, stop;

static void* load(int number, Go* go) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libmock_plugin_%d.so", folder, number);
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) exit(2);
  *go = (Go)dlsym(handle, "go_by_jump");
  return handle;
}

static int come_and_go(void) {
  int wrong = 0;
  for (int turn = 0; turn < 30; ++turn) {
    const int number = turn % 4;
    Go go;
    void* const handle = load(number, &go);
    for (int i = 0; i < 3; ++i) wrong += go() != 100 + number;
    dlclose(handle);
  }
  return wrong;
}

static void* call_on(void* wrong) {
  Go go;
  load(1, &go);
  atomic_store(&ready, 1);
  while (!atomic_load(&stop)) *(int*)wrong += go() != 101;
  return NULL;
}

static int fork_beside(void) {
  pthread_t thread;
  int wrong = 0, status = 0;
  pthread_create(&thread, NULL, call_on, &wrong);
  while (!atomic_load(&ready)) usleep(1000);
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Go go;
      alarm(10);
      load(2, &go);
      _exit(go() == 102 ? 0 : 1);
    }
    if (waitpid(child, &status, 0) != child || status != 0) ++wrong;
  }
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  return wrong;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  folder = argv[1];
  const int wrong = argc == 2 ? come_and_go() : fork_beside();
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
