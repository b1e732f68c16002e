// What glibc_compat.c stands in for, asked once each: constructors, threads, keys, exceptions
// across them, files, mathematics, random numbers. Prints one line; any wrong answer is another
// status.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::string made_before_main = "made";
std::once_flag once;
int times = 0;

int thrown_in_a_thread() {
  int caught = 0;
  std::thread thread([&caught] {
    try {
      throw std::runtime_error("thrown");
    } catch (const std::exception& error) {
      caught = std::string(error.what()) == "thrown" ? 1 : 0;
    }
  });
  thread.join();
  return caught;
}

int kept_by_key() {
  pthread_key_t key;
  if (pthread_key_create(&key, nullptr) != 0) return 0;
  int value = 0;
  pthread_setspecific(key, &value);
  const bool kept = pthread_getspecific(key) == &value;
  return pthread_key_delete(key) == 0 && kept ? 1 : 0;
}

int waited_for() {
  sem_t semaphore;
  if (sem_init(&semaphore, 0, 0) != 0) return 0;
  std::thread thread([&semaphore] { sem_post(&semaphore); });
  sem_wait(&semaphore);
  thread.join();
  return sem_destroy(&semaphore) == 0 ? 1 : 0;
}

}  // namespace

int main(int, char** words) {
  if (made_before_main != "made") return 2;
  for (int i = 0; i < 2; ++i) std::call_once(once, [] { ++times; });
  if (times != 1) return 3;
  if (thrown_in_a_thread() != 1) return 4;
  if (kept_by_key() != 1) return 5;
  if (waited_for() != 1) return 6;
  const std::filesystem::path file = std::string(words[1]) + "/file";
  std::ofstream(file) << "12345";
  if (std::filesystem::file_size(file) != 5 || !std::filesystem::is_regular_file(file)) return 7;
  if (std::pow(2.0, 10.0) != 1024.0 || std::exp2(3.0) != 8.0) return 8;
  std::random_device random;
  unsigned all = 0;
  for (int i = 0; i < 8; ++i) all |= random();
  if (all == 0) return 9;
  if (dlsym(dlopen(nullptr, RTLD_NOW), "no_such_function") != nullptr) return 10;
  std::puts("as it should be");
  return 0;
}
