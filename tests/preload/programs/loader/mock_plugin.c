/* A plug-in. What it does when it is loaded and unloaded is up to its host's environment. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int H5Fflush(int64_t object, int scope);
int H5Oflush(int64_t object);

int go(void) {
  volatile int result = H5Fflush(1, 0); /* not by a jump, which returns to our own caller */
  return result;
}

int go_by_jump(void) {
  return H5Fflush(1, 0);
}

static int asked(const char* what) {
  const char* const wish = getenv("PLUGIN");
  return wish != NULL && strcmp(wish, what) == 0;
}

/* The host's. */
extern void* other_thread(void*) __attribute__((weak));
extern volatile int other_thread_calls __attribute__((weak));

static void wait_for_other_thread(void) {
  pthread_t thread;
  if (other_thread == NULL || pthread_create(&thread, NULL, other_thread, NULL) != 0) _Exit(3);
  pthread_join(thread, NULL);
}

__attribute__((constructor)) static void come(void) {
  if (asked("calls")) {
    while (&other_thread_calls != NULL && other_thread_calls == 0) usleep(1000);
    usleep(200000);
    if (H5Oflush(1) < 0) _Exit(4);
  }
  if (asked("waits")) wait_for_other_thread();
}

__attribute__((destructor)) static void leave(void) {
  if (asked("waits-leaving")) wait_for_other_thread();
}
