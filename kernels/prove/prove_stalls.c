/* The provers' ranks are stopped now and then. */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "prove.h"

static volatile unsigned stall_state;

static unsigned drawn_of_stall(unsigned below) {
  stall_state = stall_state * 1103515245u + 12345u;
  return (stall_state >> 12) % below;
}

static void set_timer(unsigned microseconds) {
  struct itimerval once = {.it_value = {.tv_usec = (suseconds_t)microseconds}};
  setitimer(ITIMER_REAL, &once, NULL);
}

static void stall(int number) {
  int error = errno;
  (void)number;
  nanosleep(&(struct timespec){.tv_nsec = 1000L * (1 + (long)drawn_of_stall(500))}, NULL);
  set_timer(50 + drawn_of_stall(1000));
  errno = error;
}

void prove_begin_stalls(const struct prove* prove, unsigned drawn) {
  struct sigaction action = {.sa_handler = stall, .sa_flags = SA_RESTART};
  stall_state = drawn + (unsigned)prove->rank * 7919u;
  sigaction(SIGALRM, &action, NULL);
  set_timer(100);
}

void prove_end_stalls(void) {
  struct sigaction action = {.sa_handler = SIG_IGN};
  sigaction(SIGALRM, &action, NULL);
  set_timer(0);
}
