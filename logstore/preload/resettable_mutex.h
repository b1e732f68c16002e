// A mutex that the child of a fork finds free, whoever held it in the parent.
#pragma once

#include <pthread.h>

namespace iotune::logstore {

class ResettableMutex {
 public:
  class Guard {
   public:
    explicit Guard(ResettableMutex& mutex) noexcept : mutex_(mutex) {
      pthread_mutex_lock(&mutex_.mutex_);
    }
    ~Guard() { pthread_mutex_unlock(&mutex_.mutex_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    ResettableMutex& mutex_;
  };

  // In the child of a fork alone, which has one thread.
  void reset() noexcept { mutex_ = PTHREAD_MUTEX_INITIALIZER; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace iotune::logstore
