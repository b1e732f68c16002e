// A batch of regular calls to accesses, run by run: in time for its patterns and not for its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/order/accesses/process_accesses.h"
#include "recorder/read/call.h"
#include "recorder/read/trace_blocks/stream_totals.h"

namespace iotune::analyzer {

class PatternBatch {
 public:
  explicit PatternBatch(ProcessReader& reader) : reader_(reader) {}

  // Whether the calls of such a stream need not be read one by one with all that ran inside them.
  static bool suffices(const recorder::CallStream& stream);

  // False, with nothing done, on damage.
  bool take(const recorder::EventsPlace& place);

 private:
  enum class Way : std::uint8_t {
    kPassOver,  // says nothing of bytes or order
    kOneByOne,  // opens, closes, events
    kByOffset,  // transfers whose offsets and lengths stand among their numbers
    kByView     // transfers of MPI-IO with offsets of their own
  };
  // How far the calls of a stream were taken.
  struct Cursor {
    Way way = Way::kPassOver;
    bool is_event = false;
    std::uint64_t taken = 0;
    std::size_t run = 0;       // of the totals' runs
    std::uint64_t of_run = 0;  // calls of it that were taken
  };
  static Way way_of(const recorder::CallStream& stream);

  void take_row(std::size_t stream, std::uint64_t calls, const CallsAround& around);
  void take_turns(const std::vector<std::uint32_t>& turns, std::uint64_t calls, std::size_t pair);
  bool may_be_woven(const std::vector<std::uint32_t>& turns) const;
  void weave(const std::vector<std::uint32_t>& turns, std::uint64_t calls, std::size_t pair);
  void take_one(std::size_t stream, const CallsAround& around);
  void take_accesses(std::size_t stream, std::uint64_t calls, std::uint64_t segment,
                     std::int64_t segment_step, const CallsAround& around);
  void flush_open();
  CallsAround around_of(std::size_t stream, std::size_t pair, std::size_t place) const;
  void find_calls_around();
  // The numbers of the stream's next call, and by how much its offset grows in the calls that go
  // on from it: returns how many there are, itself included, `most` at most. Takes none of them.
  std::uint64_t next_numbers(std::size_t stream, std::uint64_t most, std::int64_t& step);
  std::uint64_t next_in_run(std::size_t stream, std::int64_t& step);
  std::uint64_t next_alike(std::size_t stream, std::uint64_t most, std::int64_t& step);
  void advance(std::size_t stream, std::uint64_t calls);

  ProcessReader& reader_;
  recorder::BatchPatterns batch_;
  std::vector<Cursor> cursors_;
  // The first call of MPI-IO in each pair or behind it.
  std::vector<const recorder::CallSignature*> mpi_from_;
  std::vector<std::int64_t> numbers_;  // of one call
  // An open whose file the note behind it names.
  struct Open {
    std::size_t number;
    recorder::Call call;
    std::vector<std::int64_t> numbers;
    CallsAround around;
  };
  std::optional<Open> open_;
};

}  // namespace iotune::analyzer
