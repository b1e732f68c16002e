// A program whose files all stay at the default need not ask about each: at an open among many
// ranks it is the messages of the question that cost. It need not ask once it has asked often, for
// so many opens: what was trained meanwhile is met by the next question. Lives in the one process
// that decides, as long as the run.
#pragma once

#include "patterndb/decide/decide.h"
#include "patterndb/decide/run_answers.h"

namespace iotune::patterndb {

class UnaskedOpens {
 public:
  // In a row. A short run is not kept waiting for the look at all, and a program of which some
  // files have settings, or may get some from this run's own series, is asked about each.
  static constexpr int kAsksBefore = 16;
  static constexpr int kOpens = 63;

  // After one more answer without settings, given out of `database` as it is now: how many
  // further opens need no question.
  int after_answer(const iotune_question& question, const Places& places,
                   const DatabaseFile& database);
  // A file had settings, or may have got some.
  void after_another_answer() { asked_ = 0; }

 private:
  int asked_ = 0;
  bool looked_ = false, keeps_default_ = false;  // in
  DatabaseFile seen_;
};

}  // namespace iotune::patterndb
