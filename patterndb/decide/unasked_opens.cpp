#include "patterndb/decide/unasked_opens.h"

#include "patterndb/store/pattern_db.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {
namespace {

bool keeps_default(const iotune_question& question, const std::string& database) {
  if (question.program == nullptr) return false;
  Result<PatternDb> db = PatternDb::open(database, {Access::kReadOnly, kMillisecondsInOpen});
  if (!db) return false;
  const Result<bool> keeps =
      db->keeps_default({base_name(question.program), {}, question.ranks, question.nodes});
  return keeps && *keeps;
}

}  // namespace

int UnaskedOpens::after_answer(const iotune_question& question, const Places& places,
                               const DatabaseFile& database) {
  if (++asked_ < kAsksBefore) return 0;
  if (!looked_ || seen_ != database) {
    looked_ = true;
    seen_ = database;
    // What a lower database would say is asked at each open.
    keeps_default_ = places.lower.empty() && keeps_default(question, places.database);
  }
  return keeps_default_ ? kOpens : 0;
}

}  // namespace iotune::patterndb
