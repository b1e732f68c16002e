#include "patterndb/matching/workload_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/summary/masked_name.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

// So few files of one run with a pattern each are outputs of their own rather than a series, where
// so few digits tell them apart: steps have more.
constexpr std::size_t kFewFiles = 4, kFewDigits = 2;
// Workloads that one masked name may become; what needs more is a series that changes.
constexpr std::size_t kMostValues = 16, kMostConfirmed = 64;
constexpr std::size_t kMostNumbers = 6;

// The numbers of a base name, in order.
std::vector<std::string> numbers_of(std::string_view name) {
  const std::string_view numbered = name.substr(0, analyzer::format_ending(name));
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < numbered.size();) {
    if (!analyzer::is_digit(numbered[i])) {
      ++i;
      continue;
    }
    numbers.emplace_back(analyzer::number_at(numbered, i));
    i += numbers.back().size();
  }
  return numbers;
}

// The least text that no name beginning with `prefix` reaches; empty where there is none.
std::string behind(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

// How many values the numbers at `kept` have; 0 where one value has files of different patterns.
std::size_t count_values(const std::vector<NamedFile>& files,
                         const std::vector<std::vector<std::string>>& numbers,
                         const std::vector<std::size_t>& kept) {
  std::map<std::vector<std::string>, std::string> seen;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<std::string> value;
    for (const std::size_t at : kept) value.push_back(numbers[i][at]);
    const auto [place, fresh] = seen.try_emplace(std::move(value), files[i].patterns);
    if (!fresh && place->second != files[i].patterns) return 0;
  }
  return seen.size();
}

bool are_short(const std::vector<std::vector<std::string>>& numbers,
               const std::vector<std::size_t>& kept) {
  for (const std::vector<std::string>& one : numbers) {
    for (const std::size_t at : kept) {
      if (one[at].size() > kFewDigits) return false;
    }
  }
  return true;
}

std::string patterns_of(const ObservedFile& file) {
  std::string text;
  for (const PatternUse& use : file.uses) {
    if (use.is_dominant) text += byte_key(use.pattern) + '\n';
  }
  return text;
}

// Whether the newest earlier run that had this very file showed the same pattern.
bool shown_before(sqlite::Connection& connection, const Observation& observation,
                  const ObservedFile& file) {
  sqlite::Statement row(
      connection,
      "SELECT p.byte_key FROM workloads w JOIN observations o ON o.workload = w.id "
      "JOIN patterns p ON p.id = o.pattern WHERE w.program = ? AND w.ranks = ? "
      "AND w.nodes = ? AND o.file_path = ? AND o.run != ? "
      "ORDER BY o.observed_at DESC LIMIT 1");
  row.with(file.workload.program, file.workload.ranks, file.workload.nodes, file.path,
           observation.run);
  if (!row.step()) return false;
  const std::string key = row.text(0);
  return std::any_of(file.uses.begin(), file.uses.end(), [&](const PatternUse& use) {
    return use.is_dominant && byte_key(use.pattern) == key;
  });
}

void rename(sqlite::Connection& connection, const Workload& workload, const std::string& to) {
  sqlite::Statement row(connection,
                        "UPDATE OR IGNORE workloads SET file = ? WHERE program = ? AND file = ? "
                        "AND ranks = ? AND nodes = ?");
  row.with(to, workload.program, workload.file, workload.ranks, workload.nodes).run();
}

// Each run of digits, in endings too: as older versions had it.
std::string masked_whole(const std::string& name) {
  std::string masked;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = analyzer::is_digit(name[i]);
    if (!digit || i == 0 || !analyzer::is_digit(name[i - 1])) masked += digit ? '#' : name[i];
  }
  return masked;
}

}  // namespace

StoredName stored_name(sqlite::Connection& connection, const Workload& workload) {
  const std::string& name = workload.file;
  const std::string prefix = name.substr(0, name.find_first_of("#0123456789"));
  sqlite::Statement rows(connection,
                         "SELECT file FROM workloads WHERE program = ?1 AND file >= ?2 "
                         "AND (?3 = '' OR file < ?3) AND ranks = ?4 AND nodes = ?5");
  rows.with(workload.program, prefix, behind(prefix), workload.ranks, workload.nodes);
  const std::string masked = masked_name(name);
  StoredName found{masked};
  int most = -1;
  while (rows.step()) {
    const std::string stored = rows.text(0);
    const int shared = analyzer::shared_numbers(stored, name);
    found.distinguished = found.distinguished || (shared != 0 && masked_name(stored) == masked);
    // Of two that fit as well, the one that this version writes.
    if (shared > most || (shared == most && stored == masked)) {
      most = shared;
      found.file = stored;
    }
  }
  return found;
}

std::vector<std::size_t> telling_numbers(const std::vector<NamedFile>& files, bool confirmed) {
  std::set<std::string> patterns, names;
  std::vector<std::vector<std::string>> numbers;
  for (const NamedFile& file : files) {
    patterns.insert(file.patterns);
    names.insert(file.name);
    numbers.push_back(numbers_of(file.name));
  }
  if (patterns.size() < 2) return {};
  const std::size_t count = std::min(numbers.front().size(), kMostNumbers);
  std::vector<std::vector<std::size_t>> choices;
  for (std::size_t i = 0; i < count; ++i) choices.push_back({i});
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) choices.push_back({i, j});
  }
  std::vector<std::size_t> best;
  std::size_t fewest = 0;
  for (const std::vector<std::size_t>& kept : choices) {
    const std::size_t values = count_values(files, numbers, kept);
    if (values < 2 || (fewest != 0 && values >= fewest)) continue;
    fewest = values;
    best = kept;
  }
  // A number that is another one in each of many files tells nothing: it counts them.
  const bool repeats = fewest < names.size() && fewest <= kMostValues;
  const bool few = fewest <= kFewFiles && are_short(numbers, best);
  const bool known = confirmed && fewest <= kMostConfirmed;
  return repeats || few || known ? best : std::vector<std::size_t>();
}

std::string masked_but(const std::string& name, const std::vector<std::size_t>& kept) {
  const std::size_t ending = analyzer::format_ending(name);
  const std::string_view numbered = std::string_view(name).substr(0, ending);
  std::string masked;
  std::size_t number = 0;
  for (std::size_t i = 0; i < numbered.size();) {
    if (!analyzer::is_digit(numbered[i])) {
      masked += numbered[i++];
      continue;
    }
    const std::string_view digits = analyzer::number_at(numbered, i);
    if (std::find(kept.begin(), kept.end(), number++) != kept.end()) {
      masked += digits;
    } else {
      masked += '#';
    }
    i += digits.size();
  }
  return masked + name.substr(ending);
}

std::vector<std::string> workload_files(sqlite::Connection& connection,
                                        const Observation& observation) {
  std::vector<std::string> files;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t, std::string>,
           std::vector<std::size_t>>
      series;
  for (std::size_t i = 0; i < observation.files.size(); ++i) {
    const ObservedFile& file = observation.files[i];
    const std::string name = base_name(file.path);
    const std::string masked = masked_name(name);
    const bool masked_by_us =
        file.workload.file == masked || file.workload.file == masked_whole(name);
    files.push_back(file.workload.file);
    if (!masked_by_us) continue;
    Workload asked = file.workload;
    asked.file = name;
    StoredName stored = stored_name(connection, asked);
    if (stored.file != masked && stored.file == masked_whole(name)) {
      asked.file = stored.file;
      rename(connection, asked, masked);
      stored.file = masked;
    }
    files.back() = stored.file;
    if (analyzer::shared_numbers(stored.file, name) <= 0) {
      series[{asked.program, asked.ranks, asked.nodes, masked}].push_back(i);
    }
  }
  for (const auto& [key, members] : series) {
    std::vector<NamedFile> named;
    bool confirmed = true;
    for (const std::size_t i : members) {
      const ObservedFile& file = observation.files[i];
      named.push_back({base_name(file.path), patterns_of(file)});
      if (named.back().patterns.empty()) named.pop_back();
    }
    if (named.size() < 2) continue;
    std::vector<std::size_t> kept = telling_numbers(named, false);
    if (kept.empty() && named.size() <= kMostConfirmed) {
      for (const std::size_t i : members) {
        confirmed = confirmed && shown_before(connection, observation, observation.files[i]);
      }
      kept = telling_numbers(named, confirmed);
    }
    if (kept.empty()) continue;
    for (const std::size_t i : members) {
      files[i] = masked_but(base_name(observation.files[i].path), kept);
    }
  }
  return files;
}

}  // namespace iotune::patterndb
