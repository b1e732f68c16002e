#include "patterndb/decide/exploration.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

namespace iotune::patterndb {

namespace {

std::uint64_t hash(std::uint64_t state, std::string_view text) {
  for (char c : text) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return (state ^ 0xffu) * 0x100000001b3u;  // an end mark: "ab","c" is not "a","bc"
}

// FNV's high bits hardly depend on a text's last letters, in which run ids differ.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string number_of_this_process() {
  static std::uint64_t number = 0;
  if (number == 0 && getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    number = (static_cast<std::uint64_t>(getpid()) << 32) ^ static_cast<std::uint64_t>(now.tv_nsec);
  }
  return "process " + std::to_string(number);
}

std::string variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

bool exploration_is_on() {
  return variable("IOTUNE_EXPLORE") != "off";
}

std::string seed_of_this_run() {
  // A job may start its program often: its number alone is not enough.
  std::string job = variable("SLURM_JOB_ID"), run = variable("IOTUNE_RUN_ID");
  if (job.empty() && run.empty()) return number_of_this_process();
  return job + " " + variable("SLURM_STEP_ID") + " " + run;
}

double draw(const std::string& seed, const Workload& workload, const std::string& byte_key) {
  std::uint64_t state = hash(0xcbf29ce484222325u, seed);
  state = hash(hash(hash(state, workload.program), workload.file), byte_key);
  return static_cast<double>(mixed(state) >> 11) * 0x1p-53;
}

}  // namespace iotune::patterndb
