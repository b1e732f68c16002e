// What a recorded call is for the replay.
#pragma once

#include <cstdint>
#include <functional>

#include "analyzer/order/replay/order_event.h"
#include "recorder/read/call.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

// Reads the calls of one process. MPI's argument names are those of the standard.
class CallDecoder {
 public:
  // The process's handles of MPI_COMM_WORLD and MPI_COMM_SELF; those of MPICH's ABI where the trace
  // does not say.
  struct FixedComms {
    std::int64_t world = 0x44000000, self = 0x44000001;
  };

  // The process of a process id on the same host, UINT32_MAX if it has no record.
  CallDecoder(std::function<std::uint32_t(std::int64_t)> process_of, FixedComms fixed)
      : process_of_(std::move(process_of)), fixed_(fixed) {}

  // Fills a cleared event, but for its number. False: the call orders nothing.
  bool decode(const recorder::Call& call, OrderEvent& event);

 private:
  std::int64_t comm_of(std::int64_t handle) const;

  std::function<std::uint32_t(std::int64_t)> process_of_;
  FixedComms fixed_;
  recorder::CallArguments arguments_;
};

}  // namespace iotune::analyzer
