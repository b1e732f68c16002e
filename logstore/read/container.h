// A container as a directory (FORMAT.md): made, and read with all its writers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logstore/format.h"
#include "logstore/read/limits.h"
#include "logstore/read/log_map.h"

namespace iotune::logstore {

// Makes a container at `path`, where nothing is yet: in a directory beside it that is then renamed,
// so that nobody sees half of one. Durable when it returns.
[[nodiscard]] std::optional<Error> make_container(const std::string& path,
                                                  const Description& description);

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

// An open container, as it was when it was read. Who wants later writes reads it again.
class Container {
 public:
  // Errors where `path` is no container, one of a newer version, or beyond the limits, and where
  // something in it cannot be read. Damage is none: reports() says what is lost.
  static Result<Container> open(const std::string& path, const ReadLimits& limits = {});

  // Is there a description? To tell containers from directories; nothing else is looked at.
  static bool is_at(const std::string& path);

  const Description& description() const noexcept { return description_; }
  const LogMap& map() const noexcept { return map_; }
  const std::vector<WriterReport>& reports() const noexcept { return reports_; }
  // Names in the directory that belong to nothing.
  const std::vector<std::string>& strangers() const noexcept { return strangers_; }

  // Reads what is at `offset`: as many bytes as `to` has, fewer only at the end of the file. An
  // error where bytes are missing, and where a log cannot be read. Opens the logs that it needs,
  // and closes them again.
  Result<std::size_t> read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  std::optional<Error> read_writers(const ReadLimits& limits);

  std::string path_;
  Descriptor directory_;
  Description description_{};
  LogMap map_;
  std::vector<WriterReport> reports_;
  std::vector<std::string> strangers_;
};

}  // namespace iotune::logstore
