/* Preload for runs with more ranks than cores, in all arms alike.
 *
 * MPICH over UCX waits by polling. A rank that polls while its partner has no core
 * burns its whole time slice (a barrier takes milliseconds instead of microseconds),
 * so a comparison would measure the scheduler. Here a poll that found nothing gives
 * the core away. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

typedef unsigned (*progress_fn)(void *worker);

unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker)
{
    static progress_fn real;
    progress_fn call = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (call == 0) {
        /* Threads that come here at once all find the same address. */
        *(void **)&call = dlsym(RTLD_NEXT, "ucp_worker_progress");
        if (call == 0)
            return 0;
        __atomic_store_n(&real, call, __ATOMIC_RELAXED);
    }
    unsigned done = call(worker);
    if (done == 0)
        sched_yield();
    return done;
}
