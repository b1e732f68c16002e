// Files of a container, opened so that nobody can make a reader look anywhere else.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recorder/read/result.h"

namespace iotune::logstore {

using recorder::Error;
using recorder::Result;

// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const noexcept { return fd_; }
  int release() noexcept;

 private:
  int fd_;
};

struct OpenFile {
  Descriptor descriptor;
  std::int64_t size = 0;
};

// For reading: nothing but a regular file, and nothing that a link leads to.
Result<OpenFile> open_regular(int directory, const std::string& name);

// Reads until `to` is full or the file ends. -1: errno says why.
ssize_t read_at(int fd, std::span<std::byte> to, std::int64_t offset);
// Writes all of it. False: errno says why.
bool write_at(int fd, std::span<const std::byte> from, std::int64_t offset);

// Which file has a name now. A file that is replaced by rename is another one.
struct FileIdentity {
  std::uint64_t inode = 0;  // 0: there is none
  std::int64_t seconds = 0, nanoseconds = 0;
  std::int64_t size = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
FileIdentity identity_of(int directory, const char* name) noexcept;

// Says what errno says.
Error failed(const std::string& path, const char* what);

}  // namespace iotune::logstore
