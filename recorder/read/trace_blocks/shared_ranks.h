// A SHARED block of a trace, from which the block of each of its ranks is made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "recorder/trace_block_tokens.h"

namespace iotune::recorder {

class SharedRanks {
 public:
  // Nothing on damage.
  static std::optional<SharedRanks> read(const std::vector<std::byte>& payload);

  BlockType type() const { return type_; }
  std::size_t size() const { return size_; }
  // Number in MPI_COMM_WORLD of member `k`, 0 <= k < size().
  std::int64_t rank(std::size_t k) const { return static_cast<std::int64_t>(ranks_.at(k)); }

  // Token `i` of member k's block: of EVENTS blocks 0 is the thread, 1 the epoch, 2 the number
  // of calls. 0 where there are not as many.
  std::uint64_t token(std::size_t i, std::size_t k) const;

  // The first member behind k that does not go on as those from k on do: up to it every token is
  // that of k and as many equal steps.
  std::size_t alike_until(std::size_t k) const;

  // The least start of all calls of an EVENTS block, the same for each member.
  std::uint64_t base_ns() const;

  // The block of member k as it stood before the ranks were merged, but for its times: each of
  // them has the earliest start, the latest end, an equal share of the sum.
  std::vector<std::byte> payload(std::size_t k) const;

 private:
  struct Run {
    std::uint64_t before;  // members in the runs before
    std::uint64_t first, stride;
  };
  struct Runs {
    std::vector<Run> runs;
    std::uint64_t at(std::uint64_t k) const;
  };
  struct Column {
    std::uint64_t token;
    Runs values;
  };
  SharedRanks() = default;
  bool read_runs_of(class RunSource& source, Runs& to) const;

  BlockType type_ = BlockType::kEvents;
  std::uint64_t size_ = 0;
  Runs ranks_;
  std::vector<TokenKind> kinds_;
  std::vector<std::uint64_t> values_;
  std::vector<SharedTimes> times_;
  std::vector<Column> columns_;  // by token
};

}  // namespace iotune::recorder
