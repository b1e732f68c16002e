#include "analyzer/order/models/verdicts.h"

#include <algorithm>
#include <set>
#include <string>

#include "analyzer/order/count_overlaps.h"
#include "analyzer/order/models/order_table.h"
#include "analyzer/order/overlap_counter.h"
#include "analyzer/order/replay/recorded_events.h"
#include "analyzer/order/replay/replay.h"
#include "analyzer/summary/saturating.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {
namespace {

constexpr std::uint64_t kEnd = UINT64_MAX;

// Of one side of a group: the segments from the first access to the last one.
SegmentRange segments_of(const SiteRuns& site) {
  SegmentRange range{kEnd, 0};
  for (const AccessRun& run : site.runs) {
    range.from = std::min(range.from, run.segment);
    range.until = std::max(range.until, last_segment_of(run) + 1);
  }
  return range;
}

// Whether what an access did is visible to the other by plain order.
bool needs_order_alone(ConsistencyModel model, const SiteRuns& earlier, const SiteRuns& later) {
  if (!earlier.write() || model == ConsistencyModel::kPosix) return true;
  if (earlier.site == nullptr || later.site == nullptr) return false;
  if (model == ConsistencyModel::kCommit) return earlier.site->commits;
  return model == ConsistencyModel::kMpiIo && earlier.site->atomic && later.site->atomic;
}

// Of segments of `a` and ranges of segments of `b`, all pairs that are not properly synchronised.
// Whether a pair is depends on two steps: what the segment of `a` is visible from, which rises
// with it, and from where `b` is not before it, which rises, too.
class WrongPairs {
 public:
  WrongPairs(const ConflictGroup& group, const HappensBefore& order, ConsistencyModel model)
      : order_(order),
        model_(model),
        p_(static_cast<std::uint32_t>(group.a.process)),
        q_(static_cast<std::uint32_t>(group.b.process)),
        file_(group.a.file),
        alone_a_(needs_order_alone(model, group.a, group.b)),
        alone_b_(needs_order_alone(model, group.b, group.a)),
        of_a_(segments_of(group.a)),
        of_b_(segments_of(group.b)) {}

  // `take` gets such ranges of both until it returns false.
  template <class Take>
  void each(Take take) const {
    std::uint64_t least_b = of_b_.from;
    for (std::uint64_t i = of_a_.from; i < of_a_.until;) {
      const std::uint64_t visible = from_a(i);
      // Segments of b that are not before i.
      least_b = first_where(least_b, of_b_.until, [&](std::uint64_t j) { return from_b(j) > i; });
      if (least_b == of_b_.until) break;
      const std::uint64_t end_b = std::min(visible, of_b_.until);
      // All behind i with the same two answers.
      std::uint64_t next = first_where(
          i + 1, of_a_.until, [&](std::uint64_t later) { return from_a(later) != visible; });
      next = std::min(next, from_b(least_b));
      if (least_b < end_b && !take(SegmentRange{i, next}, SegmentRange{least_b, end_b})) return;
      i = next;
    }
  }

 private:
  std::uint64_t from_a(std::uint64_t i) const {
    return order_.first_visible(model_, p_, i, q_, file_, alone_a_);
  }
  std::uint64_t from_b(std::uint64_t j) const {
    return order_.first_visible(model_, q_, j, p_, file_, alone_b_);
  }

  // The least number of [from, until) of which `is` holds, which it does for all behind it.
  template <class Is>
  static std::uint64_t first_where(std::uint64_t from, std::uint64_t until, Is is) {
    // Mostly close to the beginning.
    std::uint64_t step = 1;
    while (from < until) {
      const std::uint64_t at = until - from > step ? from + step - 1 : until - 1;
      if (is(at)) {
        until = at;
        break;
      }
      from = at + 1;
      step *= 2;
    }
    while (from < until) {
      const std::uint64_t middle = from + (until - from) / 2;
      if (is(middle)) {
        until = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  }

  const HappensBefore& order_;
  ConsistencyModel model_;
  std::uint32_t p_, q_, file_;
  bool alone_a_, alone_b_;
  SegmentRange of_a_, of_b_;
};

// Adds the segments of all accesses of the run.
void add_segments(const AccessRun& run, std::vector<std::uint64_t>& to) {
  const std::size_t begin = to.size();
  to.push_back(run.segment);
  for (const RunLevel& level : run.levels) {
    if (level.segment_step == 0) continue;
    const std::size_t end = to.size();
    for (std::int64_t k = 1; k < level.count; ++k) {
      for (std::size_t at = begin; at < end; ++at) {
        to.push_back(to[at] + static_cast<std::uint64_t>(k * level.segment_step));
      }
    }
  }
}

// Notes what calls on files count in the models.
class FileEvents : public EventSink {
 public:
  void event(std::size_t process, std::uint64_t number, EventKind kind, std::uint32_t file,
             const recorder::Call& call) override {
    if (file == kNoFile || kind == EventKind::kMpi || kind == EventKind::kProcess) return;
    const FileCall* const found = file_call(call.name());
    if (found == nullptr || found->roles == 0 || !read_arguments(call, arguments_)) return;
    const std::int64_t result = arguments_.result.value_or(0);
    const Layer layer = call.signature()->layer;
    // MPI gives 0, fopen NULL where it failed, others less than 0.
    const bool is_stream = layer == Layer::kStdio && kind == EventKind::kOpen;
    const bool failed = layer == Layer::kMpiIo ? result != 0 : is_stream ? result == 0 : result < 0;
    if (failed) return;
    events.push_back({static_cast<std::uint32_t>(process), file, number, found->roles});
  }

  std::vector<FileEvent> events;

 private:
  recorder::CallArguments arguments_;
};

std::string who(const ConflictPlace& place) {
  return place.rank < 0 ? "process " + std::to_string(place.process)
                        : "rank " + std::to_string(place.rank);
}

// The outermost call of the site.
std::string call_of(const ConflictPlace& place, const CallSite& site) {
  const auto* const call = site.hdf5 != nullptr  ? site.hdf5
                           : site.mpi != nullptr ? site.mpi
                                                 : site.function;
  return who(place) + "'s " + std::string(call->name);
}

std::string missing_text(ConsistencyModel model, HappensBefore::Missing missing,
                         const std::string& earlier, const std::string& later,
                         const std::string& later_who) {
  if (missing == HappensBefore::Missing::kOrder) {
    return "nothing orders " + earlier + " and " + later + ": a barrier or a message between them";
  }
  const bool out = missing == HappensBefore::Missing::kOut;
  switch (model) {
    case ConsistencyModel::kCommit:
      return earlier + " needs fsync, MPI_File_sync or a close before what orders it before " +
             later;
    case ConsistencyModel::kSession:
      return out ? earlier + " needs a close before what orders it before " + later
                 : later_who + " has to open the file after " + earlier + " was closed";
    case ConsistencyModel::kMpiIo:
      return out ? earlier +
                       " needs MPI_File_sync or MPI_File_close before what orders it before " +
                       later
                 : later + " needs MPI_File_sync or MPI_File_open after what orders " + earlier +
                       " before it";
    case ConsistencyModel::kPosix:
      break;
  }
  return "";
}

void find_example(const TraceAccesses& trace, const ConflictGroup& group,
                  const HappensBefore& order, ConsistencyModel model, SiteConflicts::Model& to) {
  const OverlapCounter overlaps(group.a.runs, group.b.runs);
  WrongPairs(group, order, model).each([&](SegmentRange of_a, SegmentRange of_b) {
    const auto found = overlaps.example(of_a, of_b);
    if (!found) return true;
    ConflictPlace first = place_of(trace, found->first, group.a);
    ConflictPlace second = place_of(trace, found->second, group.b);
    std::string first_call = call_of(first, *group.a.site);
    std::string second_call = call_of(second, *group.b.site);
    const auto p = static_cast<std::uint32_t>(first.process);
    const auto q = static_cast<std::uint32_t>(second.process);
    auto missing = order.missing(model, p, first.segment, q, second.segment, group.a.file,
                                 needs_order_alone(model, group.a, group.b));
    const auto other = order.missing(model, q, second.segment, p, first.segment, group.a.file,
                                     needs_order_alone(model, group.b, group.a));
    const bool is_swapped = missing == HappensBefore::Missing::kOrder &&
                            (other != HappensBefore::Missing::kOrder || !first.write);
    if (is_swapped) {
      missing = other;
      std::swap(first, second);
      std::swap(first_call, second_call);
    }
    to.missing = missing_text(model, missing, first_call, second_call, who(second));
    to.example = {first, second};
    return false;
  });
}

}  // namespace

std::uint64_t count_wrong(const ConflictGroup& group, const HappensBefore& order,
                          ConsistencyModel model) {
  const SegmentRange all_a = segments_of(group.a), all_b = segments_of(group.b);
  const OverlapCounter overlaps(group.a.runs, group.b.runs);
  std::uint64_t wrong = 0;
  WrongPairs(group, order, model).each([&](SegmentRange of_a, SegmentRange of_b) {
    const bool is_all = of_a.from <= all_a.from && of_a.until >= all_a.until &&
                        of_b.from <= all_b.from && of_b.until >= all_b.until;
    wrong = saturating_sum(wrong, is_all ? group.pairs : overlaps.count(of_a, of_b));
    return true;
  });
  return wrong;
}

TraceVerdict verify_traces(std::span<const recorder::TraceIndex> traces) {
  TraceVerdict result;
  FileEvents events;
  result.accesses = read_accesses(traces, &events);
  const TraceAccesses& trace = result.accesses;
  for (const recorder::TraceIndex& index : traces) {
    for (const recorder::ProcessSection& process : index.processes) {
      const auto found = process.attributes.find("order");
      result.order_recorded |= found != process.attributes.end() && found->second == "yes";
    }
  }

  const std::vector<ConflictGroup> groups = conflict_groups(trace);
  std::set<std::uint32_t> files;
  ReplayWish wish;
  wish.segments.resize(trace.processes.size());
  for (const ConflictGroup& group : groups) {
    files.insert(group.a.file);
    for (const SiteRuns* const site : {&group.a, &group.b}) {
      for (const AccessRun& run : site->runs) add_segments(run, wish.segments[site->process]);
    }
  }
  for (std::vector<std::uint64_t>& segments : wish.segments) {
    std::sort(segments.begin(), segments.end());
    segments.erase(std::unique(segments.begin(), segments.end()), segments.end());
  }
  for (const FileEvent& event : events.events) {
    if (files.contains(event.file)) wish.file_events.push_back(event);
  }
  const HappensBefore order = replay(recorded_events(traces), std::move(wish));
  result.unknown = order.unknown();

  result.files = find_conflicts(trace, groups, [&](const ConflictGroup& group, SiteConflicts& to) {
    for (std::size_t m = 0; m < kModels; ++m) {
      const std::uint64_t wrong = count_wrong(group, order, kConsistencyModels[m]);
      if (wrong == 0) continue;
      SiteConflicts::Model& model = to.models[m];
      model.wrong = saturating_sum(model.wrong, wrong);
      if (!model.example) find_example(trace, group, order, kConsistencyModels[m], model);
    }
  });
  return result;
}

}  // namespace iotune::analyzer
