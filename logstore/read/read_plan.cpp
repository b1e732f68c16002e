#include "logstore/read/read_plan.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "logstore/read/container_files.h"

namespace iotune::logstore {
namespace {

// What lies so close together in a log is read together.
constexpr std::int64_t kLongestGap = 4096;
constexpr std::int64_t kWindowBytes = std::int64_t{1} << 20U;
// Larger parts are read to where they belong.
constexpr std::int64_t kSmallPart = 65536;

}  // namespace

// The logs one after the other, and each from its beginning to its end.
class ReadPlan::Run {
 public:
  Run(std::byte* to, std::int64_t bytes, Wrong& wrong) : to_(to), right_(bytes), wrong_(wrong) {}

  void read_log(Log& log, const Open& open) {
    LogToRead opened;
    if (const int error = open(log.number, opened); error != 0) {
      for (const Part& part : log.parts) fail(part.at, error, log.number);
      return;
    }
    // However it lies in the file. A writer's writes mostly follow each other in both.
    if (!std::ranges::is_sorted(log.parts, {}, &Part::physical)) {
      std::ranges::sort(log.parts, {}, &Part::physical);
    }
    for (std::size_t first = 0; first < log.parts.size();) {
      const std::size_t end = window_end(log.parts, first);
      const auto window = std::span<const Part>(log.parts).subspan(first, end - first);
      if (window.size() == 1 || !read_window(opened.fd, window)) {
        for (const Part& part : window) read_part(opened.fd, part, log.number);
      }
      first = end;
    }
  }
  std::int64_t right() const { return right_; }

 private:
  static std::size_t window_end(const std::vector<Part>& parts, std::size_t first) {
    std::int64_t last = parts[first].end();
    std::size_t next = first + 1;
    if (parts[first].bytes > kSmallPart) return next;
    for (; next < parts.size(); ++next) {
      const Part& part = parts[next];
      const bool is_near = part.physical - last <= kLongestGap && part.bytes <= kSmallPart &&
                           part.end() - parts[first].physical <= kWindowBytes;
      if (!is_near) break;
      last = std::max(last, part.end());
    }
    return next;
  }

  // False where not all of it can be read: then each part may still be.
  bool read_window(int fd, std::span<const Part> parts) {
    const std::int64_t begin = parts.front().physical;
    std::int64_t end = begin;
    for (const Part& part : parts) end = std::max(end, part.end());
    const auto size = static_cast<std::size_t>(end - begin);
    if (size > window_bytes_) {
      window_ = std::make_unique_for_overwrite<std::byte[]>(size);
      window_bytes_ = size;
    }
    if (read_at(fd, std::span(window_.get(), size), begin) != end - begin) return false;
    for (const Part& part : parts) {
      std::memcpy(to_ + part.at, window_.get() + (part.physical - begin),
                  static_cast<std::size_t>(part.bytes));
    }
    return true;
  }

  void read_part(int fd, const Part& part, std::uint32_t log) {
    std::int64_t done = 0;
    while (done < part.bytes) {
      const ssize_t some = pread(fd, to_ + part.at + done,
                                 static_cast<std::size_t>(part.bytes - done), part.physical + done);
      if (some < 0 && errno == EINTR) continue;
      // A log that became shorter: as damage.
      if (some <= 0) return fail(part.at + done, some < 0 ? -errno : -EIO, log);
      done += some;
    }
  }

  void fail(std::int64_t at, int error, std::uint32_t log) {
    if (at >= right_) return;
    right_ = at;
    wrong_ = {error, log};
  }

  std::byte* to_;
  std::int64_t right_;
  Wrong& wrong_;
  std::unique_ptr<std::byte[]> window_;
  std::size_t window_bytes_ = 0;
};

ReadPlan::Log& ReadPlan::log_of(std::uint32_t number) {
  if (latest_ < logs_.size() && logs_[latest_].number == number) return logs_[latest_];
  const auto [place, is_new] = places_.try_emplace(number, logs_.size());
  if (is_new) logs_.push_back({number, {}});
  latest_ = place->second;
  return logs_[latest_];
}

void ReadPlan::add_data(std::int64_t bytes, std::uint32_t log, std::int64_t physical) {
  std::vector<Part>& parts = log_of(log).parts;
  if (!parts.empty() && parts.back().end() == physical &&
      parts.back().at + parts.back().bytes == bytes_) {
    parts.back().bytes += bytes;
  } else {
    parts.push_back({physical, bytes_, bytes});
    ++pieces_;
  }
  bytes_ += bytes;
}

void ReadPlan::add_zeros(std::int64_t bytes) {
  zeros_.push_back({bytes_, bytes});
  bytes_ += bytes;
  ++pieces_;
}

std::int64_t ReadPlan::run(std::byte* to, const Open& open, Wrong& wrong) {
  for (const Zeros& zeros : zeros_) {
    std::memset(to + zeros.at, 0, static_cast<std::size_t>(zeros.bytes));
  }
  Run run(to, bytes_, wrong);
  for (Log& log : logs_) run.read_log(log, open);
  return run.right();
}

}  // namespace iotune::logstore
