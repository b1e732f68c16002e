// Threads that read by patterns through the wrappers, while the prefetcher's thread serves them.
// Usage:
//   prefetch_stub DIRECTORY THREADS ROUNDS
// Each thread reads a stream of its own and, from a shared descriptor, one that others read too;
// it duplicates and closes descriptors in between, and one closes what others read. Prints how many
// threads there were that the program did not make. Exit status 0 means that every byte was right.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr long kFileBytes = 16 << 20, kUnit = 4096;

std::string g_path;
[[maybe_unused]] std::atomic<int> g_short_lived{-1};

char byte_at(long offset) {
  return static_cast<char>(offset / kUnit * 31 + 7);
}

void make_file() {
  const int fd = open(g_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char> page(kUnit);
  for (long at = 0; at < kFileBytes; at += kUnit) {
    page.assign(kUnit, byte_at(at));
    if (write(fd, page.data(), kUnit) != kUnit) std::abort();
  }
  close(fd);
}

int open_file() {
  const int fd = open(g_path.c_str(), O_RDONLY);
  if (fd < 0) std::abort();
  return fd;
}

void check(int fd, long offset) {
  char back[2 * kUnit];
  offset %= kFileBytes - 2 * kUnit;
  const long bytes = pread(fd, back, sizeof back, offset);
  if (bytes != 2 * kUnit) std::abort();
  for (long i = 0; i < bytes; i += 1024) {
    if (back[i] != byte_at(offset + i)) std::abort();
  }
}

void work(int shared, int thread, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int fd = open_file();
    for (long i = 0; i < 24; ++i) {
      check(fd, (i * 5 + thread) * 10 * kUnit);
      check(shared, (i * 7 + round) * 20 * kUnit);
    }
    const int copy = dup(fd);
    close(fd);
    for (long i = 24; i < 30; ++i) check(copy, (i * 5 + thread) * 10 * kUnit);
    close(copy);
#if !defined(__SANITIZE_THREAD__)  // it calls that the program's own race, which it is
    // Another thread may be in a read of it.
    const int mine = open_file();
    const int before = g_short_lived.exchange(mine);
    if (before >= 0) close(before);
    char byte;
    for (long i = 0; i < 8; ++i) {
      const int any = g_short_lived.load();
      if (any >= 0 && pread(any, &byte, 1, i * 40 * kUnit) == 1 &&
          byte != byte_at(i * 40 * kUnit)) {
        std::abort();
      }
    }
#endif
  }
}

int threads_now() {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* const entry = readdir(tasks)) count += entry->d_name[0] == '.' ? 0 : 1;
  closedir(tasks);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  g_path = std::string(argv[1]) + "/file";
  make_file();
  const int shared = open_file();
  // A sanitizer may have a thread of its own, from the program's first on.
  std::thread([] {}).join();
  const int before = threads_now();
  std::vector<std::thread> workers;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    workers.emplace_back(work, shared, i, std::atoi(argv[3]));
  }
  for (std::thread& worker : workers) worker.join();
  std::printf("%d\n", threads_now() - before);
  return 0;
}
