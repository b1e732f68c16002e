#include "tuner/opens/collective_open.h"

#include "core/run/presence.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/path_filter.h"

namespace iotune::tuner {
namespace {

bool agree(const CollectiveOpen& open, bool mine, std::uint64_t hash = 0) noexcept {
  return open.mpi == nullptr ? mine : all_agree(*open.mpi, open.comm, mine, hash);
}

bool receive(CollectiveOpen& open) noexcept {
  FileQuestion question{open.path, open.kind->layer, open.making.creating, 0, 1, nullptr};
  if (open.mpi != nullptr) return receive_decision(*open.mpi, open.comm, question, open.answer);
  ask_as_run(1, question);
  question.nodes = run_nodes();
  return ask_database(question, open.answer);
}

// A call that must make a new file and fails with our settings may leave a file that makes the next
// try fail. Only the open in the POSIX layer shows whether the call made that file: where such
// opens are not recorded, nothing is put into the call.
Reason why_not(const CollectiveOpen& open) noexcept {
  const bool seen = recorder::path_is_traced(open.path) && recorder::buffer_exists();
  return !open.must_be_new || seen ? Reason::kNone : Reason::kOpensNotRecorded;
}

// The reason for which nothing is put into the call.
Reason prepare(CollectiveOpen& open, bool named_relatively) noexcept {
  const Decision& decision = open.answer.decision;
  if (open.mpi != nullptr) {
    plan_hints(*open.mpi, open.path, open.info, decision, {run_nodes(), named_relatively},
               open.hints);
  } else {
    fill(open.hints.wanted, decision);  // for what goes by the descriptor
  }
  std::uint64_t hash = kHashStart;
  const Reason own = why_not(open);
  const bool able = open.kind->plan(open, hash);
  if (!agree(open, able && own == Reason::kNone, hash)) {
    return own != Reason::kNone ? own : Reason::kRanksDiffer;
  }
  if (hash == kHashStart) return Reason::kNone;  // agreed that nothing is to be changed
  open.kind->add_candidates(open);
  if (open.mpi != nullptr) add_hints(decision, open.hints, open.attempts);
  // Equal hashes: all ranks have the same candidates.
  open.carries = open.attempts.count > 0;
  const bool built = !open.carries || open.kind->build(open);
  // Before the vote: no rank makes the file before the vote, so it is still known whether it
  // existed.
  arm(open.path, open.making, decision, open.hints.wanted, open.opens);
  if (agree(open, built)) return Reason::kNone;
  disarm(open.opens);
  clear(open.opens);
  open.kind->discard(open);
  open.carries = false;
  return Reason::kNoListOnARank;
}

// From now on the call is the program's own, or has been made.
void end_attempts(CollectiveOpen& open) noexcept {
  open.carries = false;
  unwatch();
  if (open.mpi != nullptr) show_file_errors(*open.mpi, open.file_errors);
  leave_out_hints(open.answer.decision, open.attempts, open.hints);
}

// Whether the call would fail with any settings: its file is missing, or a new file cannot be made.
bool is_hopeless(CollectiveOpen& open) noexcept {
  return open.must_be_new ? !remove_made(open.made) : !is_there(open.path);
}

}  // namespace

bool decide_open(CollectiveOpen& open, bool named_relatively) noexcept {
  clear(open.answer.decision);
  clear(open.hints);
  clear(open.opens);
  clear(open.attempts);
  open.file_errors = {};
  open.made.made = false;
  open.notes = open.carries = false;
  open.failure = Reason::kNone;
  if (!receive(open)) return false;
  const Decision& decision = open.answer.decision;
  open.notes = open.mpi == nullptr ||
               (rank_in(*open.mpi, open.comm) == 0 && decision.source != IOTUNE_SOURCE_NONE);
  if (decision.setting_count == 0) return true;  // nothing to vote on
  open.failure = prepare(open, named_relatively);
  if (!open.carries) return true;
  if (open.mpi != nullptr) hide_file_errors(*open.mpi, open.file_errors);
  watch(open.path, open.made);
  return true;
}

bool repeat_open(CollectiveOpen& open, const OpenOutcome& outcome) noexcept {
  if (!open.carries) return false;
  const OpenKind& kind = *open.kind;
  if (outcome.failed) kind.keep_words_of(open, outcome);
  if (agree(open, !outcome.failed) || !agree(open, outcome.failed || kind.may_close(open))) {
    end_attempts(open);
    return false;
  }
  if (!outcome.failed) {
    keep_words(open.attempts, "on another rank");
    kind.close(open, outcome.file);
  }
  kind.discard(open);
  advance(open.attempts, agree(open, is_hopeless(open)));
  if (!is_own_call(open.attempts)) {
    const bool built = kind.build(open);
    if (!agree(open, built)) advance(open.attempts, true);
  }
  if (is_own_call(open.attempts)) {
    kind.discard(open);
    end_attempts(open);
  }
  return true;
}

}  // namespace iotune::tuner
