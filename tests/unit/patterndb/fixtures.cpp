#include "tests/unit/patterndb/fixtures.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/words/decision_words.h"
#include "patterndb/decide/decision_writer.h"
#include "patterndb/store/places.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::patterndb::testing {

Folder::Folder() {
  // In memory, where that can be: a disk shared with others takes 0.1 s for a commit.
  std::filesystem::path memory = "/dev/shm";
  if (access(memory.c_str(), W_OK) != 0) memory = std::filesystem::temp_directory_path();
  std::string name = (memory / "iotune-db-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

std::size_t entries(const std::string& folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

std::string as_ordinary_user(const std::string& folder,
                             std::string (*function)(const std::string&)) {
  constexpr uid_t kNobody = 65534;
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  pid_t child = fork();
  if (child == 0) {
    std::string message;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
      message = "cannot become an ordinary user";
    } else {
      message = function(folder);
    }
    [[maybe_unused]] ssize_t n = write(ends[1], message.data(), message.size());
    _exit(0);
  }
  close(ends[1]);
  std::string message;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    message.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? message : "the child died";
}

Pattern one_dimensional(std::uint64_t count, std::uint64_t element_bytes, std::uint64_t ranks) {
  Pattern pattern;
  pattern.descriptor.dimensions = {{analyzer::Distribution::kBlock, count, 1}};
  pattern.write = true;
  pattern.element_bytes = element_bytes;
  pattern.ranks = ranks;
  pattern.mode = "independent";
  pattern.grid = {ranks};
  pattern.dataset_dims = {count * ranks};
  return pattern;
}

Platform local_platform(const std::string& filesystem) {
  return {filesystem, "MPICH 4.0.2", "1.10.8", host_class()};
}

Tuning tuned(const Pattern& pattern, const std::string& settings, double made_at) {
  Tuning tuning;
  tuning.pattern = pattern;
  tuning.platform = local_platform();
  tuning.settings = must(Settings::parse(settings));
  tuning.state = State::kTuned;
  tuning.gain = 1.5;
  tuning.low = 1.4;
  tuning.high = 1.6;
  tuning.rounds = 5;
  tuning.made_at = made_at;
  tuning.source = "train";
  tuning.evidence = "for vpic-io vpic#.h5";
  return tuning;
}

Observation vpic_run(double at, const std::string& run) {
  ObservedFile file;
  file.path = "/data/vpic00012.h5";
  file.workload = {"vpic-io", masked_name(file.path), 4, 1};
  file.platform = local_platform();
  file.uses = {{vpic(), "/Step#0/x", 8, 1, true}};
  file.decision_source = "unknown";
  file.bytes_written = 8ull * 4 * 33554432;
  file.seconds = 2;
  file.elapsed_seconds = 3;
  file.observed_at = at;
  return {run, "/traces/a.iotrace", "/opt/bin/vpic-io", {file}};
}

Question vpic_question(bool creating) {
  return {"hdf5",
          "/elsewhere/bin/vpic-io",
          "/data/vpic00345.h5",
          "MPICH 4.0.2",
          "1.10.8",
          "ext4",
          4,
          1,
          creating};
}

PatternDb create(const std::string& path) {
  return must(PatternDb::open(path, {Access::kCreate, 200}));
}

std::string packed_lines(const Decision& decision) {
  const std::string bytes = packed(decision);
  iotune_answer answer;
  if (bytes.size() > sizeof answer) throw std::runtime_error("too long");
  std::memcpy(&answer, bytes.data(), bytes.size());
  const iotune_decision& read = answer.decision;
  if (!tuner::is_whole(read, bytes.size())) throw std::runtime_error("not whole");
  std::ostringstream lines;
  lines << "source " << source_name(read.source) << "\nstate "
        << state_name(static_cast<State>(read.state)) << "\nrow " << read.row << "\n";
  if (read.distance_milli >= 0) lines << "thousandths " << read.distance_milli << "\n";
  lines << "pattern " << tuner::pattern_of(read) << "\nmessage " << tuner::message_of(read) << "\n";
  for (int i = 0; i < read.setting_count; ++i) {
    const tuner::Setting one = tuner::setting_of(read, i);
    lines << "set " << one.name << " " << one.value;
    lines << (one.dataset[0] == '\0' ? "" : " ") << one.dataset << "\n";
  }
  if (read.sieves != 0) lines << "sieves\n";
  for (int i = 0; i < read.refused_count; ++i) {
    const tuner::RefusedSetting one = tuner::refused_of(read, i);
    lines << "refuse " << one.name << " " << one.value << " " << one.reason << "\n";
  }
  return lines.str();
}

}  // namespace iotune::patterndb::testing
