#include "recorder/preload/file_sample.h"

#include <cstddef>
#include <cstring>

#include "recorder/fnv1a.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/thread_state.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kMaxSeries = 64, kMaxName = 248;

// Names that differ in their numbers alone.
struct Series {
  std::uint64_t key;  // of the names without their numbers
  std::uint32_t files;
  char newest[kMaxName];  // until there are kWholeFiles: then the last one that is recorded whole
};
constinit Series g_series[kMaxSeries] = {};
constinit std::uint64_t g_sampled_out = 0;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

struct Hashes {
  Fnv1a name, key;
  bool has_number = false;
};

Hashes hashes_of(const char* path) noexcept {
  Hashes hashes;
  bool in_number = false;
  for (const char* at = path; *at != '\0'; ++at) {
    const bool digit = is_digit(*at);
    hashes.name.add(*at);
    if (!digit || !in_number) hashes.key.add(digit ? '#' : *at);
    in_number = digit;
    hashes.has_number = hashes.has_number || digit;
  }
  return hashes;
}

// Whether `name` counts on from `before`, which differs from it in numbers alone: the first number
// that is another one is larger.
bool counts_on(const char* before, const char* name) noexcept {
  while (*before != '\0' && *name != '\0') {
    if (!is_digit(*before)) {
      ++before;
      ++name;
      continue;
    }
    const auto take = [](const char*& at, std::size_t& digits) {
      while (*at == '0') ++at;
      const char* const first = at;
      while (is_digit(*at)) ++at;
      digits = static_cast<std::size_t>(at - first);
      return first;
    };
    std::size_t a_digits = 0, b_digits = 0;
    const char* const a = take(before, a_digits);
    const char* const b = take(name, b_digits);
    if (a_digits != b_digits) return b_digits > a_digits;
    const int order = std::memcmp(a, b, a_digits);
    if (order != 0) return order < 0;
  }
  return false;
}

Series* series_of(std::uint64_t key) noexcept {
  for (Series& series : g_series) {
    if (series.files == 0) series.key = key;
    if (series.key == key) return &series;
  }
  return nullptr;
}

}  // namespace

bool is_sampled_out(const char* path) noexcept {
  const std::size_t bytes = std::strlen(path);
  if (!configuration().samples_files || !one_thread_records() || bytes >= kMaxName) return false;
  const Hashes hashes = hashes_of(path);
  if (!hashes.has_number) return false;
  Series* const series = series_of(hashes.key.value());
  if (series == nullptr) return false;
  if (series->files < kWholeFiles) {
    if (series->files == 0 || counts_on(series->newest, path)) {
      std::memcpy(series->newest, path, bytes + 1);
      ++series->files;
    }
    return false;
  }
  return !is_drawn(hashes.name.value()) && counts_on(series->newest, path);
}

bool one_thread_records() noexcept {
  return g_recording != kWatched && recorded_threads() <= 1;
}

bool is_opening_unrecorded() noexcept {
  return t_thread.unrecorded == ThreadState::Unrecorded::kInside;
}

void count_sampled_out() noexcept {
  ++g_sampled_out;
}

std::uint64_t sampled_out_files() noexcept {
  return g_sampled_out;
}

}  // namespace iotune::recorder
