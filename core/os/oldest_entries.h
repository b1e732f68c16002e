// The oldest of many entries of a directory, met in any order.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <cstring>

namespace iotune {

inline std::int64_t changed_ns_of(const struct stat& status) noexcept {
  return status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

// Large: to be kept in static memory, for the first traced call may happen on a signal's stack.
template <unsigned Most, std::size_t NameBytes>
class OldestEntries {
 public:
  struct Entry {
    std::int64_t changed_ns;  // since the epoch
    std::uint64_t bytes;
    char name[NameBytes];
  };

  void clear() noexcept { found_ = 0; }

  // A name that is too long is passed over.
  void add(const char* name, const struct stat& status) noexcept {
    const std::size_t name_bytes = std::strlen(name) + 1;
    if (name_bytes > NameBytes) return;
    const std::int64_t changed_ns = changed_ns_of(status);
    unsigned at = found_;
    while (at > 0 && entry_[at - 1].changed_ns > changed_ns) --at;
    if (at == Most) return;
    if (found_ < Most) ++found_;
    std::memmove(entry_ + at + 1, entry_ + at, (found_ - at - 1) * sizeof(Entry));
    entry_[at].changed_ns = changed_ns;
    entry_[at].bytes = static_cast<std::uint64_t>(status.st_size);
    std::memcpy(entry_[at].name, name, name_bytes);
  }

  bool full() const noexcept { return found_ == Most; }
  // From the oldest on.
  const Entry* begin() const noexcept { return entry_; }
  const Entry* end() const noexcept { return entry_ + found_; }

 private:
  unsigned found_ = 0;
  Entry entry_[Most] = {};
};

}  // namespace iotune
