// Communicators of a run, named off line: by their parent, which creation on it made them, and the
// colour. Files are communicators too: the collectives on one handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace iotune::analyzer {

// Processes by rank, and back.
class Members {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;  // a rank without a record

  explicit Members(std::vector<std::uint32_t> processes);

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
  const std::vector<std::uint32_t>& processes() const { return processes_; }

 private:
  std::vector<std::uint32_t> processes_;
  std::unordered_map<std::uint32_t, std::size_t> ranks_;
};

using CommId = std::uint32_t;
constexpr CommId kUnknownComm = UINT32_MAX;

// What a member says when it makes a communicator by colours.
struct MemberColour {
  std::int64_t colour = 0, key = 0;
};

// Of each colour the old ranks in their new order. Colours below 0 belong to nobody.
std::vector<std::pair<std::int64_t, std::vector<std::size_t>>> split_by_colour(
    const std::vector<MemberColour>& by_rank);

}  // namespace iotune::analyzer
