// libiotune-db.so: the C door of decision.h.
#include <sqlite3.h>

#include <cstring>

#include "patterndb/decide.h"
#include "patterndb/decision.h"
#include "patterndb/observe.h"

namespace {

using namespace iotune::patterndb;

// Without mutexes, which glibc_compat.c does not give. This copy of SQLite belongs to this library
// alone. Refused, without harm, from the second call on.
void expect_one_thread() {
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
}

// One line, cut to what fits.
void say(const char* text, char* out, size_t capacity) {
  if (out == nullptr || capacity == 0) return;
  size_t length = strnlen(text, capacity - 1);
  for (size_t i = 0; i < length; ++i) {
    out[i] = text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
  }
  out[length] = '\0';
}

int decide_into(const iotune_question& question, char* answer, size_t capacity) {
  expect_one_thread();
  Result<Decision> decision = decide(question_from(question), places_from_environment());
  if (!decision) throw Fault{decision.error().text()};
  std::string text = decision_text(*decision);
  if (text.size() >= capacity) throw Fault{"the decision is too long"};
  memcpy(answer, text.c_str(), text.size() + 1);
  return static_cast<int>(text.size());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int iotune_decide(const iotune_question* question,
                                                                    char* answer, size_t capacity) {
  if (question == nullptr || answer == nullptr || capacity == 0) return -1;
  if (question->version != IOTUNE_DECISION_VERSION) {
    say("libiotune-db.so and libiotune.so are of different versions", answer, capacity);
    return -1;
  }
  Result<int> length = guarded<int>([&] { return decide_into(*question, answer, capacity); });
  if (length) return *length;
  say(length.error().message.c_str(), answer, capacity);
  return -1;
}

extern "C" __attribute__((visibility("default"))) int iotune_observe(const char* trace_path,
                                                                     char* message,
                                                                     size_t capacity) {
  if (trace_path == nullptr) return -1;
  Result<int> done = guarded<int>([&] {
    expect_one_thread();
    const Places places = places_from_environment();
    Result<std::string> spooled = observe(trace_path, places.spool);
    if (!spooled) throw Fault{spooled.error().text()};
    fold_spool(places.database, places.spool);
    return 0;
  });
  if (done) return 0;
  say(done.error().message.c_str(), message, capacity);
  return -1;
}
