#include "patterndb/decide/program_answers.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "patterndb/decide/decision_writer.h"
#include "patterndb/exchange/config_xml.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {
namespace {

// An open compares whole paths.
std::string absolute_where_a_path(const std::string& name) {
  if (name.empty() || name[0] == '/' || name.find('/') == std::string::npos) return name;
  std::unique_ptr<char, void (*)(void*)> here(getcwd(nullptr, 0), free);
  return here ? std::string(here.get()) + "/" + name : name;
}

void keep(ProgramAnswer answer, const Result<Decision>& decision,
          std::vector<ProgramAnswer>& answers) {
  if (!decision) throw Fault{decision.error().text()};
  answer.decision = *decision;
  answers.push_back(std::move(answer));
}

// Of the files of one name, one of each rank perhaps, the largest has taught what to reserve: for
// all of them that could be the whole disk.
void leave_out_reservations(Decision& decision) {
  Settings kept;
  for (const auto& [name, value] : decision.settings.values()) {
    if (name == "fallocate") {
      decision.message += "; fallocate left out, files of this name may be many";
    } else {
      kept.add(name, value);
    }
  }
  decision.settings = kept;
}

// Also where there is nothing to set: a run that stays at its default on purpose has to be known
// for one, and a configuration's word for a file keeps the database's from it.
void add_from_config(const Question& question, const Places& places,
                     std::vector<ProgramAnswer>& answers) {
  Result<std::vector<std::string>> names = files_named_in(places.config);
  if (!names) throw Fault{names.error().text()};
  // Paths before base names: the first one that fits an open is taken.
  std::stable_partition(names->begin(), names->end(), [](const std::string& name) {
    return name.find('/') != std::string::npos;
  });
  Question one = question;
  for (const std::string& name : *names) {
    for (const bool creating : {true, false}) {
      one.file = absolute_where_a_path(name);
      one.creating = creating;
      keep({one.file, false, {}, creating, {}}, decide(one, {"none", {}, places.config, {}}),
           answers);
    }
  }
}

// The names of the user's own database, then those of the lower ones.
void add_from_database(const Question& question, Places places, const std::string& path,
                       std::vector<ProgramAnswer>& answers) {
  places.config.clear();
  Result<PatternDb> db = PatternDb::open(path, {Access::kReadOnly, 200});
  if (!db) throw Fault{db.error().text()};
  const Workload workload{base_name(question.program), {}, question.ranks, question.nodes};
  Result<std::vector<TunedFile>> files = db->tuned_posix_files(workload);
  if (!files) throw Fault{files.error().text()};
  Question one = question;
  for (const TunedFile& file : *files) {
    one.file = file.name;
    one.filesystem = file.filesystem;
    one.creating = file.written;
    Result<Decision> decision = decide(one, places);
    if (decision) leave_out_reservations(*decision);
    keep({file.name, true, file.filesystem, file.written, {}}, decision, answers);
  }
}

}  // namespace

Result<std::vector<ProgramAnswer>> program_answers(const Question& question,
                                                   const Places& places) noexcept {
  return guarded<std::vector<ProgramAnswer>>([&] {
    std::vector<ProgramAnswer> answers;
    Question one = question;
    one.layer = "posix";
    if (!places.config.empty()) add_from_config(one, places, answers);
    if (places.database == "none") return answers;
    std::vector<std::string> paths = {places.database};
    paths.insert(paths.end(), places.lower.begin(), places.lower.end());
    for (const std::string& path : paths) {
      if (path.empty() || access(path.c_str(), F_OK) != 0) continue;
      try {
        add_from_database(one, places, path, answers);
      } catch (const Fault&) {
        // A configuration's word holds without a database.
        if (answers.empty()) throw;
      }
    }
    return answers;
  });
}

std::string packed(const std::vector<ProgramAnswer>& answers, std::size_t most_bytes) {
  std::string bytes;
  for (const ProgramAnswer& one : answers) {
    const std::string answer = pack_program_answer(
        {one.file, one.filesystem, one.masked, one.creating}, packed(one.decision));
    if (bytes.size() + answer.size() > most_bytes) break;
    bytes += answer;
  }
  return bytes;
}

}  // namespace iotune::patterndb
