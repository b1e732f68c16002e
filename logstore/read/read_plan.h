// Bytes of a file as the pieces of logs that they are made of, read in as few calls as they allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace iotune::logstore {

// A log that can be read for as long as `kept` is there.
struct LogToRead {
  int fd = -1;
  std::shared_ptr<const void> kept;
};

class ReadPlan {
 public:
  // So many pieces are planned at a time: 4 MiB of memory.
  static constexpr std::size_t kMostPieces = std::size_t{1} << 17U;
  // Opens the log of that number: 0 or -errno. One is open at a time, however many are planned.
  using Open = std::function<int(std::uint32_t log, LogToRead& to)>;
  // Why a run ended early: -errno, and in which log.
  struct Wrong {
    int error = 0;
    std::uint32_t log = 0;
  };

  // The next bytes of what is read.
  void add_data(std::int64_t bytes, std::uint32_t log, std::int64_t physical);
  void add_zeros(std::int64_t bytes);

  std::int64_t bytes() const noexcept { return bytes_; }
  bool is_full() const noexcept { return pieces_ >= kMostPieces; }

  // Fills `to`, which has room for bytes(). Returns how many bytes from the beginning are right;
  // where these are not all, `wrong` says why.
  std::int64_t run(std::byte* to, const Open& open, Wrong& wrong);

 private:
  struct Part {
    std::int64_t physical;
    std::int64_t at;  // of what is read
    std::int64_t bytes;
    std::int64_t end() const noexcept { return physical + bytes; }
  };
  struct Log {
    std::uint32_t number;
    std::vector<Part> parts;
  };
  struct Zeros {
    std::int64_t at;
    std::int64_t bytes;
  };
  class Run;

  Log& log_of(std::uint32_t number);

  std::vector<Log> logs_;
  std::unordered_map<std::uint32_t, std::size_t> places_;  // in logs_, where there are several
  std::size_t latest_ = 0;
  std::vector<Zeros> zeros_;
  std::int64_t bytes_ = 0;
  std::size_t pieces_ = 0;
};

}  // namespace iotune::logstore
