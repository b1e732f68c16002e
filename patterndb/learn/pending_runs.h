// Runs that are still to be learnt from: their traces, kept under names of their own in a folder of
// the user's state directory, and beside each how far its analysis has come. A run's end has little
// time (design: nobody waits for learning); what it leaves off the next one goes on with.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/calls/process_walk.h"
#include "patterndb/store/result.h"

namespace iotune::patterndb {

using analyzer::StopWhen;

// TIME-PID-RANDOM-DATABASE[-held].trace, a second name of the trace's file, made by
// tuner/decision/run_end.cpp. DATABASE: database_mark(). held: of a run that was not to draw which
// files go without settings. Beside it, of the same name but for its end: a link that says where
// the user finds the trace (.path), and how far the analysis has come (.state).
inline constexpr char kPendingSuffix[] = ".trace", kPathSuffix[] = ".path";
inline constexpr char kHeldMark[] = "-held";

// Which database a pending run's observation is for: 16 hexadecimal digits of FNV-1a of its path.
std::string database_mark(std::string_view database);

struct LearnPlaces {
  std::string folder;  // of the pending runs; empty or missing: there are none
  std::string database, spool;
  std::vector<std::string> lower = {};  // databases that runs may have got answers of
};

struct LearnRequest {
  LearnPlaces places;
  std::string own_trace;  // of the run that ends, a path; empty: none
  std::string own_name;   // under which it is kept; empty: it is not
  bool own_held = false;
  // 0: there is no hurry. Else CLOCK_MONOTONIC, by when the caller wants to go on.
  std::uint64_t until_ns = 0;
};

struct LearnReport {
  std::size_t learnt = 0;  // runs
  std::size_t left = 0;    // runs that wait, of this database
};

// Goes on with the pending runs, the one that ends first where it is small, then the oldest. Where
// another process does so already nothing is done. At least one step is made: time is looked at
// after it. A death at any moment loses nothing and counts nothing twice.
Result<LearnReport> learn_from_pending_runs(const LearnRequest& request) noexcept;

}  // namespace iotune::patterndb
