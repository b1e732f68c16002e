// Calls the wrappers from threads, a forked child and a signal handler. Usage:
//   preload_stub DIRECTORY THREADS CALLS
// Every thread writes CALLS times 64 bytes to a file of its own and reads them back, then reads
// CALLS times where nothing is, each time elsewhere: these calls overflow its ring as lists. A
// timer's signals write to another file meanwhile; a forked child does as a thread. Then kWaves
// times as many threads, one wave after the other, make CALLS / 16 of the latter: they go on with
// the rings of ended ones. Exit status 0 means that every call did what it should.
#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "recorder/ring/process_buffer.h"

namespace {

constexpr long kUnit = 64;
constexpr int kWaves = 20;
int g_signal_file = -1;
std::atomic<int> g_signals = 0;  // signals reach any thread

void on_alarm(int) {
  const int kept = errno;
  if (write(g_signal_file, "s", 1) == 1) ++g_signals;
  errno = kept;
}

int open_in(const std::string& directory, const std::string& name) {
  const int fd = open((directory + "/" + name).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) std::abort();
  return fd;
}

// No two alike: offsets far behind the file's end.
void read_elsewhere(int fd, int thread, int calls) {
  auto state = static_cast<std::uint64_t>(thread);
  char back[kUnit];
  for (int i = 0; i < calls; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto at = static_cast<off_t>((std::uint64_t{1} << 40U) + (state >> 24U));
    if (pread(fd, back, 1 + (state >> 58U), at) != 0) std::abort();
  }
}

void work(const std::string& directory, int thread, int calls) {
  const int fd = open_in(directory, "thread" + std::to_string(thread));
  char block[kUnit], back[kUnit];
  std::memset(block, 'a' + thread, sizeof block);
  for (int i = 0; i < calls; ++i) {
    const long at = i % 7 == 6 ? long{i} * 3 * kUnit : long{i} * 2 * kUnit;  // a pattern, a break
    if (pwrite(fd, block, sizeof block, at) != kUnit) std::abort();
    if (pread(fd, back, sizeof back, at) != kUnit || std::memcmp(block, back, kUnit) != 0) {
      std::abort();
    }
  }
  read_elsewhere(fd, thread, calls);
  const int copy = dup(fd);
  if (copy < 0 || close(fd) != 0 || close(copy) != 0) std::abort();
  // Errors keep their errno through the wrapper.
  errno = 0;
  if (pread(-1, back, 1, 0) != -1 || errno != EBADF) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string directory = argv[1];
  const int threads = std::atoi(argv[2]);
  const int calls = std::atoi(argv[3]);
  g_signal_file = open_in(directory, "signals");
  std::signal(SIGALRM, on_alarm);
  itimerval every{{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &every, nullptr);

  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work, directory, i, calls);
  const pid_t child = fork();
  if (child == 0) {
    work(directory, threads, calls);
    _exit(0);
  }
  // The buffer may be ended while threads go on (MPI_Finalize, exit): nothing is lost.
  for (int i = 0; i < 20; ++i) {
    usleep(2000);
    iotune::recorder::end_buffer("test");
  }
  for (std::thread& worker : workers) worker.join();
  const int elsewhere = open_in(directory, "elsewhere");
  for (int wave = 0; wave < kWaves; ++wave) {
    workers.clear();
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back(read_elsewhere, elsewhere, wave * threads + i, calls / 16);
    }
    // Neither end of the buffer nor of a thread waits for the other.
    iotune::recorder::end_buffer("test");
    for (std::thread& worker : workers) worker.join();
  }
  int status = 1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  every = {};
  setitimer(ITIMER_REAL, &every, nullptr);
  std::printf("%d\n", g_signals.load());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
