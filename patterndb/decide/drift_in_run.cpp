#include "patterndb/decide/drift_in_run.h"

#include <utility>

#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

constexpr std::size_t kMostWorkloads = 64;
constexpr std::uint64_t kHeadersAlone = 4096;
// Datasets that nobody wrote, attributes, alignment (a quarter at most): no reason for distrust.
constexpr double kMuchLarger = 1.5, kSlackBytes = 65536, kSlackBytesOfDataset = 4096;
constexpr double kSmaller = 0.9;

std::string key_of(const Question& question, const Decision& decision) {
  const std::string& stored = decision.workload_file;
  return (stored.empty() ? masked_name(question.file) : stored) + '\n' +
         std::to_string(question.ranks);
}

std::string mebibytes(double bytes) {
  return number(bytes / (1 << 20)) + " MiB";
}

std::string misfit(const KnownFile& known, std::uint64_t bytes, bool collective) {
  if (bytes <= kHeadersAlone) return {};
  if (known.only_collective && !collective) return "written independently, not collectively";
  if (known.only_independent && collective) return "written collectively, not independently";
  if (known.bytes <= 0) return {};
  const double most = known.bytes * kMuchLarger + kSlackBytes +
                      kSlackBytesOfDataset * static_cast<double>(known.datasets);
  const auto found = static_cast<double>(bytes);
  if (found >= known.bytes * kSmaller && found <= most) return {};
  return mebibytes(found) + " large, with datasets of " + mebibytes(known.bytes) + " before";
}

}  // namespace

std::string misfit(const std::vector<KnownFile>& known, std::uint64_t bytes, bool collective) {
  std::string of_newest;
  for (const KnownFile& file : known) {
    std::string why = misfit(file, bytes, collective);
    if (why.empty()) return {};
    if (of_newest.empty()) of_newest = std::move(why);
  }
  return of_newest;
}

void DriftTable::follow(const Question& question, const Decision& decision) {
  if (!question.creating || decision.settings.empty()) return;
  const auto found = by_workload_.find(key_of(question, decision));
  if (found == by_workload_.end() && by_workload_.size() >= kMostWorkloads) return;
  Followed& followed = by_workload_[key_of(question, decision)];
  followed.file = question.file;
  followed.known = decision.known;
}

void DriftTable::closed(const std::string& file, std::uint64_t bytes, bool collective) {
  for (auto& [key, followed] : by_workload_) {
    if (followed.file != file) continue;
    followed.file.clear();
    const std::string why = misfit(followed.known, bytes, collective);
    if (!why.empty()) followed.reason = base_name(file) + " was " + why;
  }
}

std::string DriftTable::reason(const Question& question, const Decision& decision) const {
  const auto found = by_workload_.find(key_of(question, decision));
  return found == by_workload_.end() ? std::string() : found->second.reason;
}

}  // namespace iotune::patterndb
