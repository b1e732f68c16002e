#include "analyzer/calls/late_bytes.h"

#include <algorithm>

namespace iotune::analyzer {

void LateBytes::moved_below(std::uint32_t thread, std::uint64_t bytes) {
  below_[thread] += bytes;
}

std::uint64_t LateBytes::take_below(std::uint32_t thread) {
  const auto found = below_.find(thread);
  if (found == below_.end()) return 0;
  const std::uint64_t bytes = found->second;
  found->second = 0;
  return bytes;
}

void LateBytes::wrote(const FileRecord& file, std::int64_t id, DatasetRecord& dataset, double bytes,
                      double below) {
  by_id_[id] = &dataset;
  double& owed = owed_[&dataset];
  const bool waited = owed > 0;
  owed = std::max(0.0, owed + bytes - below);
  std::vector<DatasetRecord*>& waiting = waiting_[&file];
  if (owed > 0 && !waited) waiting.push_back(&dataset);
  if (owed <= 0 && waited) std::erase(waiting, &dataset);
}

std::vector<LateBytes::Part> LateBytes::settle(const FileRecord& file,
                                               std::optional<std::int64_t> id, double below,
                                               std::uint64_t nanoseconds) {
  const auto found = waiting_.find(&file);
  if (found == waiting_.end() || below <= 0) return {};
  std::vector<DatasetRecord*> whose = found->second;
  if (id) {
    const auto dataset = by_id_.find(*id);
    const bool owes = dataset != by_id_.end() && owed_[dataset->second] > 0;
    whose = owes ? std::vector<DatasetRecord*>{dataset->second} : std::vector<DatasetRecord*>{};
  }
  double sum = 0;
  for (const DatasetRecord* one : whose) sum += owed_[one];
  std::vector<Part> parts;
  for (DatasetRecord* const one : whose) {
    double& owed = owed_[one];
    const double part = owed / sum;
    parts.push_back({one, static_cast<std::uint64_t>(part * static_cast<double>(nanoseconds))});
    owed = std::max(0.0, owed - part * below);
    if (owed <= 0) std::erase(found->second, one);
  }
  return parts;
}

}  // namespace iotune::analyzer
