#include "recorder/ring/file_sample.h"

#include <cstddef>
#include <cstring>

#include "core/os/fnv1a.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kMaxSampledSeries = 64, kMaxName = 248;
// The last ones of a path. Kinds of files are few: what goes back from a larger number counts
// hours.
constexpr std::size_t kMaxNumbers = 8;
constexpr std::uint64_t kMostKinds = 16;

struct Numbers {
  std::uint64_t values[kMaxNumbers];
  std::size_t count;
};

// Names that differ in their numbers alone.
struct SampledSeries {
  std::uint64_t key;  // of the names without their numbers
  std::uint32_t files;
  Numbers highest;
  // Place of the number that tells kinds of files apart, and one: each kind is a series. 0: none.
  std::size_t telling;
  char newest[kMaxName];  // until there are kWholeFiles: then the last one that is recorded whole
};
constinit SampledSeries g_sampled_series[kMaxSampledSeries] = {};
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

Numbers numbers_of(const char* path) noexcept {
  Numbers numbers{};
  for (const char* at = path; *at != '\0';) {
    if (!is_digit(*at)) {
      ++at;
      continue;
    }
    std::uint64_t value = 0;
    for (; is_digit(*at); ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    if (numbers.count == kMaxNumbers) {
      std::memmove(numbers.values, numbers.values + 1, sizeof numbers.values - sizeof value);
      --numbers.count;
    }
    numbers.values[numbers.count++] = value;
  }
  return numbers;
}

// A number that began again where another one counted on marks a kind of files:
// out_0001_h1.h5, then out_0002_h0.h5. Only where one is opened again nothing counts on.
void find_telling(SampledSeries& series, const Numbers& now) noexcept {
  bool counts = false;
  std::size_t telling = 0;
  for (std::size_t i = 0; i < now.count; ++i) {
    std::uint64_t& highest = series.highest.values[i];
    if (now.values[i] > highest) {
      counts = series.highest.count != 0;
      highest = now.values[i];
    } else if (now.values[i] < highest && highest < kMostKinds && telling == 0) {
      telling = i + 1;
    }
  }
  series.highest.count = now.count;
  if (counts) series.telling = telling;
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

SampledSeries* series_of(std::uint64_t key) noexcept {
  for (SampledSeries& series : g_sampled_series) {
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
  SampledSeries* series = series_of(hashes.key.value());
  if (series == nullptr) return false;
  const Numbers numbers = numbers_of(path);
  if (series->telling == 0) find_telling(*series, numbers);
  if (series->telling != 0) {
    // Of the series itself no further file is counted.
    if (series->files == 0) series->files = 1;
    Fnv1a key = hashes.key;
    key.add('=');
    key.add(static_cast<char>('a' + numbers.values[series->telling - 1] % kMostKinds));
    series = series_of(key.value());
    if (series == nullptr) return false;
  }
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
