#include "patterndb/decide/program_answers.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

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
  std::vector<std::string> names = value_or_fault(files_named_in(places.config));
  // Paths before base names: the first one that fits an open is taken.
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) {
    return name.find('/') != std::string::npos;
  });
  Question one = question;
  for (const std::string& name : names) {
    for (const bool creating : {true, false}) {
      one.file = absolute_where_a_path(name);
      one.creating = creating;
      answers.push_back({one.file, false, "", creating,
                         value_or_fault(decide(one, {"none", {}, places.config, {}}))});
    }
  }
}

// The names of the user's own database, then those of the lower ones.
void add_from_database(const Question& question, Places places, const std::string& path,
                       std::vector<ProgramAnswer>& answers) {
  places.config.clear();
  PatternDb db = value_or_fault(PatternDb::open(path, {Access::kReadOnly, 200}));
  const Workload workload{base_name(question.program), {}, question.ranks, question.nodes};
  Question one = question;
  for (const TunedFile& file : value_or_fault(db.tuned_posix_files(workload))) {
    one.file = file.name;
    one.filesystem = file.filesystem;
    one.creating = file.written;
    Decision decision = value_or_fault(decide(one, places));
    leave_out_reservations(decision);
    answers.push_back({file.name, true, file.filesystem, file.written, std::move(decision)});
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

}  // namespace iotune::patterndb
