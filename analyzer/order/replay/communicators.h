// Communicators of a run, named off line: by their parent, their members, and which creation of
// these on it made them. Files are communicators too: the collectives on one handle.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace iotune::analyzer {

// Processes by rank, and back.
class Members {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;      // a rank without a record
  static constexpr std::uint32_t kNotYet = UINT32_MAX - 1;  // one that has not said yet who it is

  explicit Members(const std::vector<std::uint32_t>& processes) : processes_(processes.size()) {
    for (std::size_t rank = 0; rank < processes.size(); ++rank) set(rank, processes[rank]);
  }
  explicit Members(std::size_t size) : processes_(size, kNotYet) {}

  static bool is_process(std::uint32_t process) { return process < kNotYet; }
  std::size_t size() const { return processes_.size(); }
  std::uint32_t process(std::int64_t rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < processes_.size()
               ? processes_[static_cast<std::size_t>(rank)]
               : kAbsent;
  }
  // SIZE_MAX: it is none of them.
  std::size_t rank(std::uint32_t process) const {
    const auto found = ranks_.find(process);
    return found == ranks_.end() ? SIZE_MAX : found->second;
  }
  void set(std::size_t rank, std::uint32_t process) {
    processes_[rank] = process;
    if (is_process(process)) ranks_.emplace(process, rank);
  }

 private:
  std::vector<std::uint32_t> processes_;
  std::unordered_map<std::uint32_t, std::size_t> ranks_;
};

using CommId = std::uint32_t;
constexpr CommId kUnknownComm = UINT32_MAX;

// What a communicator, or an open file, was made from.
struct CommOrigin {
  CommId parent;
  std::int64_t members;  // as its members say them; of a file 0
  std::int64_t tag;      // of MPI_Comm_create_group, else 0
  auto operator<=>(const CommOrigin&) const = default;
};

}  // namespace iotune::analyzer
