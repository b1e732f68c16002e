#include "analyzer/order/models/happens_before.h"

#include <algorithm>

#include "analyzer/order/models/order_table.h"

namespace iotune::analyzer {

const char* name_of(ConsistencyModel model) {
  switch (model) {
    case ConsistencyModel::kPosix:
      return "POSIX";
    case ConsistencyModel::kCommit:
      return "commit";
    case ConsistencyModel::kSession:
      return "session";
    case ConsistencyModel::kMpiIo:
      return "MPI-IO";
  }
  return "";
}

HappensBefore::HappensBefore(std::size_t processes, const std::vector<FileEvent>& file_events)
    : clocks_(processes), kept_(processes), files_(processes) {
  std::vector<FileEvent> events = file_events;
  std::sort(events.begin(), events.end(), [](const FileEvent& a, const FileEvent& b) {
    return a.process != b.process ? a.process < b.process : a.number < b.number;
  });
  for (const FileEvent& event : events) {
    FileLine& line = files_[event.process][event.file];
    const auto note = [&](FileRole role, std::vector<std::uint64_t>& numbers) {
      if ((event.roles & role) != 0) numbers.push_back(event.number);
    };
    note(kCommits, line.commits);
    note(kClosesSession, line.closes);
    note(kMpiSyncsOut, line.syncs_out);
    const std::uint64_t behind = event.number + 1;
    if ((event.roles & kOpensSession) != 0) {
      line.opens.push_back({(event.roles & kMeetsFirst) != 0 ? behind : event.number, behind});
    }
    if ((event.roles & kMpiSyncsIn) != 0) line.syncs_in.push_back({event.number, behind});
  }
}

void HappensBefore::keep(std::uint32_t process, std::uint64_t number, ClockStore::Row row) {
  std::vector<Kept>& kept = kept_[process];
  if (!kept.empty() && kept.back().row == row) return;
  kept.push_back({number, clocks_.hold(row)});
}

void HappensBefore::add_unknown(const std::string& reason, std::uint32_t process,
                                std::uint64_t event) {
  const auto [found, is_new] = unknown_by_reason_.emplace(reason, unknown_.size());
  if (is_new) unknown_.push_back({reason, 0, process, event});
  ++unknown_[found->second].times;
}

std::uint64_t HappensBefore::first_after(std::uint32_t p, std::uint64_t i, std::uint32_t q) const {
  const std::vector<Kept>& kept = kept_[q];
  const auto found = std::partition_point(
      kept.begin(), kept.end(), [&](const Kept& at) { return clocks_.at(at.row)[p] <= i; });
  return found == kept.end() ? kNever : found->segment;
}

const HappensBefore::FileLine* HappensBefore::line_of(std::uint32_t process,
                                                      std::uint32_t file) const {
  const auto found = files_[process].find(file);
  return found == files_[process].end() ? nullptr : &found->second;
}

// Out of `p` by the first such event behind the segment, and, where `in` is given, into `q` by the
// first such event that comes after it.
std::uint64_t HappensBefore::through(const std::vector<std::uint64_t>* out,
                                     const std::vector<Entry>* in, std::uint32_t p, std::uint64_t i,
                                     std::uint32_t q) const {
  const auto leaves = std::lower_bound(out->begin(), out->end(), i);
  if (leaves == out->end()) return kNever;
  const std::uint64_t after = first_after(p, *leaves + 1, q);
  if (in == nullptr || after == kNever) return after;
  const auto enters = std::partition_point(in->begin(), in->end(),
                                           [&](const Entry& at) { return at.knows < after; });
  return enters == in->end() ? kNever : enters->from;
}

std::uint64_t HappensBefore::first_visible(ConsistencyModel model, std::uint32_t p, std::uint64_t i,
                                           std::uint32_t q, std::uint32_t file,
                                           bool order_alone) const {
  if (order_alone || model == ConsistencyModel::kPosix) return first_after(p, i, q);
  const FileLine* const earlier = line_of(p, file);
  const FileLine* const later = line_of(q, file);
  if (earlier == nullptr) return kNever;
  if (model == ConsistencyModel::kCommit) return through(&earlier->commits, nullptr, p, i, q);
  if (later == nullptr) return kNever;
  if (model == ConsistencyModel::kSession) {
    return through(&earlier->closes, &later->opens, p, i, q);
  }
  return through(&earlier->syncs_out, &later->syncs_in, p, i, q);
}

HappensBefore::Missing HappensBefore::missing(ConsistencyModel model, std::uint32_t p,
                                              std::uint64_t i, std::uint32_t q, std::uint64_t j,
                                              std::uint32_t file, bool order_alone) const {
  if (j >= first_visible(model, p, i, q, file, order_alone)) return Missing::kNothing;
  if (j < first_after(p, i, q)) return Missing::kOrder;
  const FileLine* const earlier = line_of(p, file);
  if (earlier == nullptr) return Missing::kOut;
  const std::vector<std::uint64_t>& out = model == ConsistencyModel::kCommit ? earlier->commits
                                          : model == ConsistencyModel::kSession
                                              ? earlier->closes
                                              : earlier->syncs_out;
  return j >= through(&out, nullptr, p, i, q) ? Missing::kIn : Missing::kOut;
}

}  // namespace iotune::analyzer
