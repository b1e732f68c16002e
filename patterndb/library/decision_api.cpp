// libiotune-db.so: the C interface of decision.h.
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/summary/program_identity.h"
#include "core/words/decision_words.h"
#include "patterndb/decide/decide.h"
#include "patterndb/decide/decision.h"
#include "patterndb/decide/decision_writer.h"
#include "patterndb/decide/drift_in_run.h"
#include "patterndb/decide/program_answers.h"
#include "patterndb/decide/run_answers.h"
#include "patterndb/decide/series_trials.h"
#include "patterndb/decide/unasked_opens.h"
#include "patterndb/learn/observe.h"
#include "patterndb/learn/pending_runs.h"
#include "patterndb/settings/gate.h"
#include "patterndb/store/places.h"

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

// Read once: the variables lie all over memory, and each file's open would look at every one.
const Places& places_of_this_process(const char* site_database, const char* copy = nullptr) {
  static const Places* const places = [&] {
    auto* made = new Places(places_from_environment(site_database == nullptr ? "" : site_database));
    if (copy != nullptr) made->database = copy;
    return made;
  }();
  return *places;
}

// The question with the program as workloads have it, valid until the next call: a script is known
// by its own name, not by its interpreter's. (As much of the command line as a trace has.)
iotune_question with_identity(const iotune_question& question) {
  constexpr size_t kMostBytes = 2048;
  static std::string* const identity = new std::string;
  static std::string* const of_program = new std::string;
  iotune_question own = question;
  if (question.program == nullptr) return own;
  if (identity->empty() || *of_program != question.program) {
    std::string line(kMostBytes, '\0');
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd < 0 ? -1 : read(fd, line.data(), line.size());
    if (fd >= 0) close(fd);
    line.resize(bytes < 1 ? 0 : static_cast<size_t>(bytes) - 1);  // without the last NUL
    std::vector<std::string> arguments;
    for (size_t at = 0; !line.empty() && at <= line.size();) {
      const size_t end = std::min(line.find('\0', at), line.size());
      arguments.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    *of_program = question.program;
    *identity = iotune::analyzer::program_identity(question.program, arguments);
  }
  own.program = identity->c_str();
  return own;
}

bool is_without_settings(const Decision& decision) {
  return decision.settings.empty() && decision.of_variables.empty();
}

bool asks_the_run(const Decision& decision) {
  return decision.source == IOTUNE_SOURCE_UNKNOWN || decision.source == IOTUNE_SOURCE_UNTRAINED;
}

// Of a candidate for trial within a run: all of it is known to be right, and something reads it.
bool may_be_tried(const Settings& settings, const Question& question) {
  bool is_read = false;
  for (const auto& [name, value] : settings.values()) {
    const Known known = ask_gate(question, places_of_this_process(nullptr), name, value).known;
    is_read = is_read || known != Known::kHarmless;
  }
  Decision decision;
  decision.settings = settings;
  pass_gate(question, places_of_this_process(nullptr), decision);
  return is_read && decision.refused.empty();
}

// Kept until the process ends: files may be closed until then.
SeriesTrials& series_trials_of_this_run() {
  static SeriesTrials* const table = new SeriesTrials(may_be_tried);
  return *table;
}

DriftTable& drift_of_this_run() {
  static DriftTable* const table = new DriftTable;
  return *table;
}

RunAnswers& answers_of_this_run() {
  static RunAnswers* const answers = new RunAnswers;
  return *answers;
}

UnaskedOpens& unasked_opens_of_this_run() {
  static UnaskedOpens* const opens = new UnaskedOpens;
  return *opens;
}

// The database at this run's last question.
std::optional<DatabaseFile>& asked_database() {
  static std::optional<DatabaseFile>* const database = new std::optional<DatabaseFile>;
  return *database;
}

Result<Decision> from_what_is_stored(const iotune_question& asked, const Question& question,
                                     const std::optional<DatabaseFile>& database) {
  const Places& places = places_of_this_process(asked.site_database);
  Result<Decision> decision = decide(question, places);
  // What failed is tried again, but for a database that is not there.
  if (database && (decision || access(places.database.c_str(), F_OK) != 0)) {
    // Without settings there is nothing to distrust.
    const bool whole = decision && is_without_settings(*decision) && !asks_the_run(*decision);
    answers_of_this_run().keep(asked, *database,
                               {decision, whole ? packed(*decision) : std::string()},
                               decision && decision->by_name);
  }
  return decision;
}

// An answer of the database is applied for as long as the run's files are those that it is for.
void distrust_after_drift(const Question& question, Decision& decision) {
  if (!iotune::is_of_database(decision.source)) return;
  const std::string why = drift_of_this_run().reason(question, decision);
  if (why.empty()) {
    drift_of_this_run().follow(question, decision);
    return;
  }
  decision.source = IOTUNE_SOURCE_DRIFT;
  decision.settings = {};
  decision.message = "the workload changed in this run: " + why + "; " + decision.message;
}

// A run's own evidence, where the database has none.
Result<Decision> decide_in_run(const iotune_question& asked,
                               const std::optional<DatabaseFile>& database,
                               const RunAnswers::Answer* same) {
  const Question question = question_from(asked);
  const Places& places = places_of_this_process(asked.site_database);
  Result<Decision> decision =
      same != nullptr ? same->decision : from_what_is_stored(asked, question, database);
  if (decision) distrust_after_drift(question, *decision);
  if (question.frozen) return decision;
  // Where a configuration or a database is broken everything is left alone.
  const auto is_there = [](const std::string& path) { return access(path.c_str(), F_OK) == 0; };
  if (!decision && (!places.config.empty() || is_there(places.database) ||
                    std::any_of(places.lower.begin(), places.lower.end(), is_there))) {
    return decision;
  }
  if (decision && !asks_the_run(*decision)) return decision;
  std::optional<Decision> own =
      series_trials_of_this_run().next(question, decision ? decision->hopeful : Settings());
  if (!own) return decision;
  if (decision) {
    own->pattern = decision->pattern;
    own->message += "; " + decision->message;
  }
  pass_gate(question, places, *own);
  return std::move(*own);
}

int copy_answer(const std::string& bytes, void* answer, size_t capacity) {
  if (bytes.size() > capacity) throw Fault{"the decision is too long"};
  memcpy(answer, bytes.data(), bytes.size());
  return static_cast<int>(bytes.size());
}

// Without a look at the database: who asks so often gets the answer it got before.
int repeat_into(const iotune_question& question, void* answer, size_t capacity) {
  const std::optional<DatabaseFile>& database = asked_database();
  const RunAnswers::Answer* const same =
      database ? answers_of_this_run().find(question, *database) : nullptr;
  if (same == nullptr || same->bytes.empty()) {
    unasked_opens_of_this_run().after_another_answer();  // a file that nobody asked about before
    return 0;
  }
  return copy_answer(same->bytes, answer, capacity);
}

// Nobody named a database, and none was made yet: a state to be silent about.
bool is_before_the_first_database(const char* site_database) {
  const char* const named = secure_getenv("IOTUNE_DB");
  const Places& places = places_of_this_process(site_database);
  return (named == nullptr || *named == '\0') && places.config.empty() && places.lower.empty() &&
         access(places.database.c_str(), F_OK) != 0;
}

// Without a database each file gets the error: it is returned, for to throw one costs more than the
// answer.
Result<int> decide_into(const iotune_question& question, void* answer, size_t capacity) {
  expect_one_thread();
  if (question.known_only != 0) return repeat_into(question, answer, capacity);
  const Places& places = places_of_this_process(question.site_database, question.database_copy);
  std::optional<DatabaseFile>& database = asked_database();  // nothing: no answer is kept
  database.reset();
  if (places.config.empty()) database = database_file(places.database);
  const RunAnswers::Answer* const same =
      database ? answers_of_this_run().find(question, *database) : nullptr;
  if (same != nullptr && !same->bytes.empty() && drift_of_this_run().follows_nothing()) {
    const int bytes = copy_answer(same->bytes, answer, capacity);
    const int opens = unasked_opens_of_this_run().after_answer(question, places, *database);
    static_cast<iotune_decision*>(answer)->unasked_opens = static_cast<uint32_t>(opens);
    return bytes;
  }
  Result<Decision> decision = decide_in_run(question, database, same);
  if (!decision) return Error{{}, decision.error().text()};
  if (asks_the_run(*decision) || decision->source == IOTUNE_SOURCE_SERIES ||
      !is_without_settings(*decision)) {
    unasked_opens_of_this_run().after_another_answer();
  }
  return copy_answer(packed(*decision), answer, capacity);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int iotune_decide(const iotune_question* question,
                                                                    void* answer, size_t capacity) {
  if (question == nullptr || answer == nullptr || capacity == 0) return -1;
  char* const message = static_cast<char*>(answer);
  if (question->version != IOTUNE_DECISION_VERSION) {
    say("libiotune-db.so and libiotune.so are of different versions", message, capacity);
    return -1;
  }
  Result<int> length =
      guarded<int>([&] { return decide_into(with_identity(*question), answer, capacity); });
  if (length) return *length;
  message[0] = '\0';
  const Result<bool> first =
      guarded<bool>([&] { return is_before_the_first_database(question->site_database); });
  if (first && *first) return 0;
  say(length.error().message.c_str(), message, capacity);
  return -1;
}

extern "C" __attribute__((visibility("default"))) int iotune_program_answers(
    const iotune_question* question, void* answers, size_t capacity) {
  if (question == nullptr || answers == nullptr || capacity == 0) return -1;
  if (question->version != IOTUNE_DECISION_VERSION) return -1;
  Result<int> length = guarded<int>([&] {
    expect_one_thread();
    const Places& places = places_of_this_process(question->site_database, question->database_copy);
    const auto found =
        value_or_fault(program_answers(question_from(with_identity(*question)), places));
    return copy_answer(packed(found, capacity), answers, capacity);
  });
  if (length) return *length;
  say(length.error().message.c_str(), static_cast<char*>(answers), capacity);
  return -1;
}

extern "C" __attribute__((visibility("default"))) int iotune_learn(const iotune_run_end* end,
                                                                   char* message, size_t capacity) {
  if (end == nullptr || end->version != IOTUNE_DECISION_VERSION) return -1;
  const auto text = [](const char* given) { return given == nullptr ? "" : given; };
  Result<int> done = guarded<int>([&] {
    expect_one_thread();
    const Places places = places_from_environment(text(end->site_database));
    LearnRequest request;
    request.places = {text(end->folder), places.database, places.spool, places.lower};
    request.own_trace = text(end->trace);
    request.own_name = text(end->name);
    request.own_held = end->held != 0;
    request.until_ns = end->until_ns;
    value_or_fault(learn_from_pending_runs(request));
    return 0;
  });
  if (done) return 0;
  say(done.error().message.c_str(), message, capacity);
  return -1;
}

extern "C" __attribute__((visibility("default"))) void iotune_series_closed(const char* file,
                                                                            double seconds,
                                                                            uint64_t bytes,
                                                                            int collective) {
  if (file == nullptr) return;
  static_cast<void>(guarded<int>([&] {
    series_trials_of_this_run().closed(file, seconds, bytes, collective != 0);
    drift_of_this_run().closed(file, bytes, collective != 0);
    return 0;
  }));
}
