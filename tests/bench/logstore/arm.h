// What the programs of this benchmark share: clocks, and lines "name value".
#pragma once

#include <time.h>

#include <cstdint>
#include <cstdio>

namespace iotune::bench {

inline double clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
inline double cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
inline double wall_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

inline void print(const char* name, double value) {
  std::printf("%s %.17g\n", name, value);
}

// The largest resident memory of this process so far. Not getrusage(2)'s, which counts what the
// parent had when it forked.
inline double peak_bytes() {
  double kib = 0;
  std::FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "VmHWM: %lf kB", &kib) == 1) break;
  }
  if (status != nullptr) std::fclose(status);
  return kib * 1024.0;
}

}  // namespace iotune::bench
