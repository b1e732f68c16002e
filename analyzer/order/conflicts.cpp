#include "analyzer/order/conflicts.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/order/count_overlaps.h"
#include "analyzer/order/overlap_counter.h"
#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

struct BoundedSite {
  SiteRuns site;
  RunBounds bounds;
};

using SitesOfFiles = std::map<std::uint32_t, std::vector<BoundedSite>>;

SitesOfFiles sites_of_files(const TraceAccesses& trace) {
  SitesOfFiles found;
  for (std::size_t process = 0; process < trace.processes.size(); ++process) {
    const std::vector<AccessRun>& runs = trace.processes[process].runs;
    for (std::size_t from = 0; from < runs.size();) {
      RunBounds bounds = bounds_of(runs[from]);
      std::size_t to = from + 1;
      for (; to < runs.size() && runs[to].file == runs[from].file &&
             runs[to].site == runs[from].site && runs[to].write == runs[from].write;
           ++to) {
        const RunBounds more = bounds_of(runs[to]);
        bounds = {std::min(bounds.first, more.first), std::max(bounds.end, more.end)};
      }
      const std::uint32_t file = runs[from].file;
      const CallSite& site = trace.processes[process].sites[runs[from].site];
      found[file].push_back(
          {{process, file, std::span(runs).subspan(from, to - from), &site}, bounds});
      from = to;
    }
  }
  return found;
}

void add_groups_of_file(std::vector<BoundedSite>& sites, std::vector<ConflictGroup>& to) {
  std::sort(sites.begin(), sites.end(), [](const BoundedSite& x, const BoundedSite& y) {
    return std::tie(x.bounds.first, x.site.process) < std::tie(y.bounds.first, y.site.process);
  });
  for (std::size_t i = 0; i < sites.size(); ++i) {
    for (std::size_t k = i + 1; k < sites.size(); ++k) {
      if (sites[k].bounds.first >= sites[i].bounds.end) break;
      const SiteRuns *a = &sites[i].site, *b = &sites[k].site;
      if (a->process == b->process || (!a->write() && !b->write())) continue;
      if (a->process > b->process) std::swap(a, b);
      const std::uint64_t pairs = OverlapCounter(a->runs, b->runs).count();
      if (pairs > 0) to.push_back({*a, *b, pairs});
    }
  }
}

ConflictKind kind_of(const ConflictGroup& group) {
  if (group.a.site->truncates || group.b.site->truncates) return ConflictKind::kTruncate;
  return group.a.write() && group.b.write() ? ConflictKind::kWriteWrite : ConflictKind::kWriteRead;
}

}  // namespace

std::string site_text(const CallSite& site) {
  std::string text;
  if (site.hdf5 != nullptr) {
    text = site.hdf5->name;
    if (!site.dataset.empty()) text += " of " + site.dataset;
    text += " → ";
  }
  if (site.mpi != nullptr) text.append(site.mpi->name).append(" → ");
  text += site.function->name;
  if (site.truncates && site.function->meaning.opens()) text += " (empties it)";
  return text;
}

std::vector<ConflictGroup> conflict_groups(const TraceAccesses& trace) {
  std::vector<ConflictGroup> found;
  for (auto& [file, sites] : sites_of_files(trace)) add_groups_of_file(sites, found);
  return found;
}

ConflictPlace place_of(const TraceAccesses& trace, const AccessRun& run, const SiteRuns& of) {
  const ProcessAccesses& process = trace.processes[of.process];
  const CallSite& site = *of.site;
  ConflictPlace place{};
  place.rank = process.rank;
  place.offset = run.start;
  place.length = run.length;
  place.process = of.process;
  place.segment = run.segment;
  place.write = run.write;
  place.truncates = site.truncates;
  place.metadata = site.hdf5 != nullptr && site.dataset.empty();
  place.collective = site.mpi != nullptr && site.mpi->meaning.collective;
  return place;
}

std::vector<FileConflicts> find_conflicts(
    const TraceAccesses& trace, std::span<const ConflictGroup> groups,
    const std::function<void(const ConflictGroup&, SiteConflicts&)>& judge) {
  std::map<std::uint32_t, FileConflicts> files;
  std::map<std::uint32_t, std::set<std::size_t>> processes_of;
  for (std::size_t process = 0; process < trace.processes.size(); ++process) {
    for (const AccessRun& run : trace.processes[process].runs) {
      processes_of[run.file].insert(process);
    }
  }
  for (const auto& [file, processes] : processes_of) {
    if (processes.size() < 2) continue;
    files[file].file = file;
    files[file].processes = processes.size();
  }
  std::map<std::tuple<std::uint32_t, ConflictKind, std::string, std::string>, SiteConflicts> sites;
  std::map<std::uint32_t, std::set<std::int64_t>> ranks;
  std::set<std::tuple<const SiteConflicts*, std::size_t, std::size_t>> process_pairs;
  for (const ConflictGroup& group : groups) {
    std::string first = site_text(*group.a.site), second = site_text(*group.b.site);
    const ConflictKind kind = kind_of(group);
    // One line for both ways round; the write first.
    const bool swapped =
        std::make_pair(!group.a.write(), first) > std::make_pair(!group.b.write(), second);
    if (swapped) std::swap(first, second);
    SiteConflicts& of_sites = sites[{group.a.file, kind, first, second}];
    if (of_sites.pairs == 0) {
      of_sites.kind = kind;
      of_sites.first = first;
      of_sites.second = second;
      const auto found = OverlapCounter(group.a.runs, group.b.runs).example();
      of_sites.example[swapped ? 1 : 0] = place_of(trace, found->first, group.a);
      of_sites.example[swapped ? 0 : 1] = place_of(trace, found->second, group.b);
    }
    of_sites.pairs = saturating_sum(of_sites.pairs, group.pairs);
    if (process_pairs.emplace(&of_sites, group.a.process, group.b.process).second) {
      ++of_sites.process_pairs;
    }
    for (const SiteRuns& of : {group.a, group.b}) {
      ranks[group.a.file].insert(trace.processes[of.process].rank);
    }
    if (judge) judge(group, of_sites);
  }
  for (auto& [key, of_sites] : sites) {
    FileConflicts& file = files[std::get<0>(key)];
    file.pairs = saturating_sum(file.pairs, of_sites.pairs);
    for (std::size_t m = 0; m < kModels; ++m) {
      file.wrong[m] = saturating_sum(file.wrong[m], of_sites.models[m].wrong);
    }
    file.sites.push_back(std::move(of_sites));
  }
  std::vector<FileConflicts> found;
  for (auto& [number, file] : files) {
    file.ranks.assign(ranks[number].begin(), ranks[number].end());
    std::stable_sort(file.sites.begin(), file.sites.end(),
                     [](const auto& x, const auto& y) { return x.pairs > y.pairs; });
    found.push_back(std::move(file));
  }
  return found;
}

}  // namespace iotune::analyzer
