// A read as the pieces of logs that it is made of, read in as few calls as they allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace iotune::logstore {

class ReadPlan {
 public:
  // So many pieces are planned at a time.
  static constexpr std::size_t kMostPieces = 4096;

  // The next bytes of the read. `fd` stays open for as long as the plan, or `keep` sees to that.
  void add_data(std::int64_t bytes, int fd, std::int64_t physical);
  void add_zeros(std::int64_t bytes);
  void keep(std::shared_ptr<const void> open) { kept_.push_back(std::move(open)); }

  std::int64_t bytes() const noexcept { return bytes_; }
  bool is_full() const noexcept { return pieces_ >= kMostPieces; }

  // Fills `to`, which has room for bytes(). Returns how many bytes from the beginning are right;
  // where these are not all, `wrong` is why: -errno.
  std::int64_t run(std::byte* to, int& wrong);

 private:
  struct Part {
    int fd;
    std::int64_t physical;
    std::int64_t at;  // of the read
    std::int64_t bytes;
  };
  struct Zeros {
    std::int64_t at;
    std::int64_t bytes;
  };

  std::size_t run_end(std::size_t first) const;
  void read_run(std::byte* to, std::size_t first, std::size_t end, std::int64_t& right,
                int& wrong) const;

  std::vector<Part> parts_;
  std::vector<Zeros> zeros_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::int64_t bytes_ = 0;
  std::size_t pieces_ = 0;
};

}  // namespace iotune::logstore
