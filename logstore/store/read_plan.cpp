#include "logstore/store/read_plan.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace iotune::logstore {
namespace {

constexpr std::size_t kMostVectors = 1024;  // IOV_MAX of Linux

}  // namespace

void ReadPlan::add_data(std::int64_t bytes, int fd, std::int64_t physical) {
  if (!parts_.empty()) {
    Part& last = parts_.back();
    if (last.fd == fd && last.physical + last.bytes == physical && last.at + last.bytes == bytes_) {
      last.bytes += bytes;
      bytes_ += bytes;
      return;
    }
  }
  parts_.push_back({fd, physical, bytes_, bytes});
  bytes_ += bytes;
  ++pieces_;
}

void ReadPlan::add_zeros(std::int64_t bytes) {
  zeros_.push_back({bytes_, bytes});
  bytes_ += bytes;
  ++pieces_;
}

std::int64_t ReadPlan::run(std::byte* to, int& wrong) {
  for (const Zeros& zeros : zeros_) {
    std::memset(to + zeros.at, 0, static_cast<std::size_t>(zeros.bytes));
  }
  // What lies together in a log is read together, however it lies in the file.
  std::ranges::sort(parts_, {}, [](const Part& part) { return std::tie(part.fd, part.physical); });
  std::int64_t right = bytes_;
  for (std::size_t first = 0; first < parts_.size();) {
    const std::size_t end = run_end(first);
    read_run(to, first, end, right, wrong);
    first = end;
  }
  return right;
}

std::size_t ReadPlan::run_end(std::size_t first) const {
  std::size_t end = first + 1;
  while (end < parts_.size() && end - first < kMostVectors && parts_[end].fd == parts_[first].fd &&
         parts_[end].physical == parts_[end - 1].physical + parts_[end - 1].bytes) {
    ++end;
  }
  return end;
}

void ReadPlan::read_run(std::byte* to, std::size_t first, std::size_t end, std::int64_t& right,
                        int& wrong) const {
  std::int64_t skip = 0;  // bytes of parts_[first] that are there
  while (first < end) {
    iovec vectors[kMostVectors];
    int count = 0;
    for (std::size_t i = first; i < end; ++i) {
      const std::int64_t done = i == first ? skip : 0;
      vectors[count++] = {to + parts_[i].at + done,
                          static_cast<std::size_t>(parts_[i].bytes - done)};
    }
    const ssize_t some = preadv(parts_[first].fd, vectors, count, parts_[first].physical + skip);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) {
      // A log that became shorter: as damage.
      const int why = some < 0 ? -errno : -EIO;
      std::int64_t bad = parts_[first].at + skip;
      for (std::size_t i = first + 1; i < end; ++i) bad = std::min(bad, parts_[i].at);
      if (bad < right) {
        right = bad;
        wrong = why;
      }
      return;
    }
    skip += some;
    while (first < end && skip >= parts_[first].bytes) skip -= parts_[first++].bytes;
  }
}

}  // namespace iotune::logstore
