#include "logstore/store/log_windows.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace iotune::logstore {

LogWindows::Window* LogWindows::find(Log log) noexcept {
  for (Window& window : windows_) {
    if (window.log == log) {
      window.used = ++uses_;
      return &window;
    }
  }
  return nullptr;
}

bool LogWindows::read(Log log, std::int64_t physical, void* to, std::size_t size) noexcept {
  Window* const window = find(log);
  if (window == nullptr || physical < window->begin) return false;
  const std::int64_t at = physical - window->begin;
  if (at + static_cast<std::int64_t>(size) > window->size) return false;
  std::memcpy(to, window->bytes.get() + at, size);
  window->next = physical + static_cast<std::int64_t>(size);
  return true;
}

bool LogWindows::goes_on(Log log, std::int64_t physical, std::size_t size) noexcept {
  Window* window = find(log);
  if (window == nullptr) {
    window = &*std::ranges::min_element(windows_, {}, &Window::used);
    window->log = log;
    window->next = -1;
    window->size = 0;
    window->used = ++uses_;
  }
  const std::int64_t gap = physical - window->next;
  const bool goes_on = window->next >= 0 && gap >= 0 && gap <= kLongestGap;
  window->next = physical + static_cast<std::int64_t>(size);
  return goes_on;
}

bool LogWindows::fill(Log log, int fd, std::int64_t physical) noexcept {
  Window* const window = find(log);
  if (window == nullptr) return false;
  if (window->bytes == nullptr) window->bytes.reset(new (std::nothrow) std::byte[kWindowBytes]);
  if (window->bytes == nullptr) return false;
  const ssize_t got = pread(fd, window->bytes.get(), kWindowBytes, physical);
  window->begin = physical;
  window->size = std::max<std::int64_t>(got, 0);
  return got > 0;
}

void LogWindows::clear() noexcept {
  for (Window& window : windows_) window = {};
}

}  // namespace iotune::logstore
