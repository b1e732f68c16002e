/* libiotune-yield.so, a preload for both arms of a benchmark with more ranks
 * than cores: MPICH over UCX burns its whole time slice while it waits, so that
 * a barrier takes milliseconds and a comparison measures the scheduler. Here a
 * fruitless look at the network gives the core to another rank. Where a storage
 * takes its time by sleeping, a rank that waits for another should do so too:
 * IOTUNE_YIELD_SLEEP_NS, after a hundred fruitless looks in a row. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned (*progress_function)(void* worker);

unsigned ucp_worker_progress(void* worker);

/* An MPI that was opened privately, as Python extensions are, is out of reach
 * of RTLD_NEXT. */
static progress_function find_real(void) {
  void* symbol = dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (symbol == NULL) {
    void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) symbol = dlsym(library, "ucp_worker_progress");
  }
  if (symbol == NULL) {
    fputs("libiotune-yield: no ucp_worker_progress behind this one\n", stderr);
    abort();
  }
  /* ISO C has no cast from an object pointer to a function's. */
  progress_function progress;
  memcpy(&progress, &symbol, sizeof progress);
  return progress;
}

static long sleep_ns(void) {
  static _Atomic long known = -1;
  long ns = atomic_load_explicit(&known, memory_order_relaxed);
  if (ns < 0) {
    const char* text = getenv("IOTUNE_YIELD_SLEEP_NS");
    ns = text != NULL ? strtol(text, NULL, 10) : 0;
    if (ns < 0 || ns > 999999999) ns = 0;
    atomic_store_explicit(&known, ns, memory_order_relaxed);
  }
  return ns;
}

static _Thread_local int looks; /* that found nothing, one after the other */

static void wait_a_little(void) {
  enum { kLooks = 100 };
  if (sleep_ns() == 0 || ++looks < kLooks) {
    sched_yield();
    return;
  }
  struct timespec pause = {.tv_sec = 0, .tv_nsec = sleep_ns()};
  nanosleep(&pause, NULL);
}

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  static _Atomic(progress_function) real;
  progress_function progress = atomic_load_explicit(&real, memory_order_relaxed);
  if (progress == NULL) {
    progress = find_real();
    atomic_store_explicit(&real, progress, memory_order_relaxed);
  }
  unsigned done = progress(worker);
  if (done == 0)
    wait_a_little();
  else
    looks = 0;
  return done;
}
