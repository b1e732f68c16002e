/* Loads and unloads plug-ins that have an HDF5 of their own. First it writes a file, which iotune
   traces. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int H5Fflush(int64_t object, int scope); /* the host's own HDF5, number 0 */
int H5Gflush(int64_t group);

static char folder[4000], stream_path[4096];

static void write_file(const char* name) {
  static char block[8192];
  const int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (fd < 0 || write(fd, block, sizeof block) != sizeof block || close(fd) != 0) exit(2);
}

static void* load(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) printf("%s\n", dlerror());
  return handle;
}

/* What it calls nobody has called before, in this process. */
void* other_thread(void* unused) {
  FILE* const stream = fopen(stream_path, "w");
  if (stream == NULL || fputs("0123456789", stream) < 0 || fclose(stream) != 0) _Exit(7);
  if (H5Gflush(1) != 200) _Exit(5);
  if (access(folder, R_OK) != 0) _Exit(6);
  return unused;
}

volatile int other_thread_calls;

/* While the main thread is in the plug-in's constructor. */
static void* call_soon(void* unused) {
  usleep(100000);
  other_thread_calls = 1;
  if (H5Fflush(1, 0) != 100) _Exit(5);
  return unused;
}

static int plugin(int number) {
  char name[64];
  snprintf(name, sizeof name, "libmock_plugin_%d.so", number);
  void* const handle = load(name);
  if (handle == NULL) return -1;
  int (*const go)(void) = (int (*)(void))dlsym(handle, "go");
  const int first = go(), second = go();
  if (dlclose(handle) != 0) return -1;
  return first == second ? first : -1;
}

static int come_and_go(int turns) {
  int wrong = 0;
  for (int i = 0; i < turns; ++i) {
    const int number = 1 + i % 3;
    wrong += plugin(number) != 100 + number;
    wrong += H5Fflush(1, 0) != 100;
  }
  return wrong;
}

static atomic_int stop;

static void* call_on(void* wrong) {
  while (!atomic_load(&stop)) {
    if (H5Fflush(1, 0) != 100) ++*(int*)wrong;
    usleep(10);
  }
  return NULL;
}

/* By a library that might be unloaded, too. */
static void* call_plugin_on(void* wrong) {
  void* const handle = load("libmock_plugin_0.so");
  int (*const go)(void) = handle == NULL ? NULL : (int (*)(void))dlsym(handle, "go");
  while (!atomic_load(&stop)) {
    if (go == NULL || go() != 100) ++*(int*)wrong;
    usleep(10);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* const mode = argv[1];
  snprintf(folder, sizeof folder, "%s", argv[2]);
  snprintf(stream_path, sizeof stream_path, "%s.stream", argv[3]);
  write_file(argv[3]);
  int wrong = 0;
  if (strcmp(mode, "constructor") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, call_soon, NULL);
    wrong += load("libmock_plugin_1.so") == NULL;
    pthread_join(thread, NULL);
  } else if (strcmp(mode, "waits") == 0) {
    wrong += plugin(1) != 101;
  } else if (strcmp(mode, "scopes") == 0) {
    /* The last plug-in's HDF5 has no versions: the host's is found first. */
    wrong += plugin(0) != 100;
    wrong += plugin(3) != 103;
    wrong += plugin(4) != 100;
  } else if (strcmp(mode, "come-and-go") == 0) {
    wrong += come_and_go(90);
  } else if (strcmp(mode, "beside") == 0) {
    pthread_t threads[2];
    int counts[2] = {0, 0};
    pthread_create(&threads[0], NULL, call_on, &counts[0]);
    pthread_create(&threads[1], NULL, call_plugin_on, &counts[1]);
    wrong += come_and_go(300);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    wrong += counts[0] + counts[1];
  } else if (strcmp(mode, "runpath") == 0) {
    void* const handle = dlopen("libmock_found_by_runpath.so", RTLD_NOW);
    if (handle == NULL) printf("%s\n", dlerror());
    wrong += handle == NULL;
  } else {
    return 2;
  }
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
