#include "analyzer/summary/summarize.h"

#include <algorithm>
#include <new>
#include <set>

#include "analyzer/calls/process_walk.h"
#include "analyzer/datasets/descriptor.h"
#include "analyzer/summary/alike_ranks.h"
#include "analyzer/summary/masked_name.h"
#include "analyzer/summary/program_identity.h"
#include "analyzer/summary/saturating.h"
#include "recorder/read/losses.h"
#include "recorder/read/trace_reader.h"

namespace iotune::analyzer {
namespace {

using recorder::ProcessCalls;
using recorder::ProcessHead;
using recorder::TraceReader;

// What such a process had in stdio's buffers never reached its files.
bool left_without_handlers(const recorder::ProcessSection& section) {
  if (section.end.empty()) return !section.alive;
  const auto how = section.end.find("end");
  return how != section.end.end() && how->second == "_exit";
}

std::string masked(const std::string& name) {
  std::string result;
  each_masked_character(name, [&](char c) { result += c; });
  return result;
}

TransferMode mode_of(const DatasetRecord& record) {
  if (record.independent && record.collective) return TransferMode::kMixed;
  if (record.independent) return TransferMode::kIndependent;
  return record.collective ? TransferMode::kCollective : TransferMode::kUnknown;
}

DatasetPattern pattern_of(const std::string& path, bool write, const DatasetRecord& record) {
  DatasetPattern pattern{};
  pattern.dataset = path;
  pattern.write = write;
  pattern.element_bytes = record.element_bytes;
  pattern.dataset_dims = record.dims;
  pattern.chunk = record.chunk;
  pattern.filters = record.filters;
  pattern.mode = mode_of(record);
  pattern.calls = record.calls;
  pattern.actual = record.actual;
  pattern.bytes = record.bytes;
  pattern.repeats = record.repeats == UINT64_MAX ? 0 : record.repeats;
  pattern.seconds = seconds_of(record.slowest_nanoseconds);
  DescribedRegions described = record.decomposition.described();
  pattern.descriptor = std::move(described.descriptor);
  pattern.process_grid = std::move(described.process_grid);
  pattern.halo = std::move(described.halo);
  pattern.ranks = described.ranks;
  return pattern;
}

// The largest dataset, of equal ones the first, is the file's dominant dataset (PDSW'15,
// section 3.3).
void choose_dominant(FilePattern& file) {
  for (std::size_t i = 0; i < file.datasets.size(); ++i) {
    if (file.datasets[i].descriptor.dimensions.empty()) continue;
    if (!file.dominant_dataset ||
        file.datasets[i].bytes > file.datasets[*file.dominant_dataset].bytes) {
      file.dominant_dataset = i;
    }
  }
  if (!file.dominant_dataset) return;
  const DatasetPattern& dominant = file.datasets[*file.dominant_dataset];
  const std::string text = dominant.descriptor.text();
  file.dominant_count = static_cast<std::size_t>(
      std::count_if(file.datasets.begin(), file.datasets.end(), [&](const DatasetPattern& other) {
        return other.bytes == dominant.bytes && other.write == dominant.write &&
               other.descriptor.text() == text;
      }));
}

FilePattern file_pattern(const std::string& path, const FileRecord& record,
                         std::uint64_t run_start) {
  FilePattern file{};
  file.path = path;
  file.masked_name = masked(base_name(path));
  for (const FileRecord::LayerUse& layer : record.layers) {
    file.bytes_written = saturating_sum(file.bytes_written, layer.written);
    file.bytes_read = saturating_sum(file.bytes_read, layer.read);
  }
  file.io_seconds = seconds_of(record.slowest_nanoseconds);
  if (record.first_open_ns != UINT64_MAX) {
    file.elapsed_seconds = seconds_of(record.last_end_ns - record.first_open_ns);
    file.opened_at_seconds =
        seconds_of(record.first_open_ns - std::min(run_start, record.first_open_ns));
  }
  std::vector<std::pair<std::uint64_t, DatasetPattern>> datasets;
  for (const auto& [key, versions] : record.datasets) {
    for (const DatasetRecord& dataset : versions) {
      datasets.emplace_back(dataset.first_transfer_ns, pattern_of(key.first, key.second, dataset));
    }
  }
  // Where HDF5 was at work, what moves beside it is the file's own book-keeping.
  const bool hdf5 = record.layers[static_cast<std::size_t>(Layer::kHdf5)].opened;
  for (const auto& [key, bytes] : record.bytes) {
    if (hdf5 || !record.datasets.empty()) break;
    for (DatasetPattern& pattern : patterns_of(bytes, key.second)) {
      datasets.emplace_back(bytes.first_transfer_ns, std::move(pattern));
    }
  }
  std::stable_sort(datasets.begin(), datasets.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [start, dataset] : datasets) file.datasets.push_back(std::move(dataset));
  choose_dominant(file);
  file.cut_short = record.cut_short;
  file.sampled_out = record.sampled_out;
  if (!record.outcome) return file;
  const FileOutcome& outcome = *record.outcome;
  const DecisionNote decision = outcome.decision.value_or(DecisionNote{});
  file.decision_source = decision.source;
  file.decision_pattern = decision.pattern;
  file.decision_message = decision.message;
  file.decision_row = decision.row;
  file.decision_distance = decision.distance;
  file.decision_state = decision.state;
  file.settings = outcome.settings;
  file.prefetch = outcome.prefetch;
  file.gather = outcome.gather;
  return file;
}

class Summarizer {
 public:
  // `members_calls`: of alike processes that are taken together.
  Summarizer(const TraceReader& reader, std::uint64_t calls_at_once, std::uint64_t members_calls)
      : reader_(reader), calls_at_once_(calls_at_once), members_calls_(members_calls) {
    summary_.warnings = recorder::losses_of(reader_.index());
    summary_.notes = recorder::ended_workers_of(reader_.index());
    summary_.processes = static_cast<std::uint32_t>(reader_.process_count());
    summary_.ranks = 1;
  }

  // At least one step. True: all processes were read.
  bool go_on(const StopWhen& stop) {
    while (next_ < reader_.process_count()) {
      const std::size_t taken = add(next_, stop);
      next_ += taken;
      if ((taken == 0 || stop()) && next_ < reader_.process_count()) return false;
    }
    return true;
  }

  bool is_whole() const { return next_ == reader_.process_count(); }

  // As summarize() has it.
  RunSummary finish(const TakeFile& take = nullptr) {
    describe_program();
    // A launcher may sit on a node that has no rank.
    const std::size_t nodes = rank_hosts_.empty() ? hosts_.size() : rank_hosts_.size();
    summary_.nodes = static_cast<std::uint32_t>(std::max<std::size_t>(1, nodes));
    if (start_ != UINT64_MAX) {
      summary_.start_unix_seconds = seconds_of(start_);
      summary_.elapsed_seconds = seconds_of(end_ - start_);
    }
    summary_.io_seconds = seconds_of(files_.slowest_nanoseconds);
    add_files(take);
    summary_.regions = region_patterns(files_.regions, start_);
    return std::move(summary_);
  }

  void save(ArchiveWriter& to) {
    archive(to);
    if (walk_) walk_->save(to);
  }
  // False: of another trace, or damaged. Not to be used then.
  bool load(ArchiveReader& from) {
    try {
      const std::uint32_t processes = summary_.processes;
      archive(from);
      if (summary_.processes != processes || next_ > processes) return false;
      if (has_walk_ && next_ == processes) return false;
      if (has_walk_) {
        make_walk(next_);
        walk_->load(from);
      }
      return from.at_end();
    } catch (const DamagedArchive&) {
      return false;
    }
  }

 private:
  template <class A>
  void archive(A& a) {
    if constexpr (!A::kReads) has_walk_ = walk_.has_value();
    a(next_, has_walk_, summary_.processes, summary_.ranks, summary_.calls, summary_.dropped,
      summary_.warnings, hosts_, rank_hosts_, start_, end_, files_);
    name_records(files_, a);
  }
  void make_walk(std::size_t index) {
    walk_.emplace(reader_.index(), index, member_of(reader_.index().processes[index]), files_);
  }
  static Member member_of(const recorder::ProcessSection& section) {
    return {recorder::unsigned_of(section.attributes, "wall_ns"), left_without_handlers(section)};
  }

  // Returns how many processes were taken together; 0: one was left off.
  std::size_t add(std::size_t index, const StopWhen& stop) {
    const recorder::ProcessSection& first_section = reader_.index().processes[index];
    std::uint64_t recorded = 0;
    for (const recorder::EventsPlace& place : first_section.events) recorded += place.calls;
    if (recorded > calls_at_once_) return add_long(index, first_section, stop) ? 1 : 0;
    AlikeRanks ranks(reader_, index, members_calls_);
    const ProcessCalls& process = ranks.first();
    // What the index knew stands among the losses already.
    const std::size_t known = reader_.index().processes[index].damage.size();
    for (std::size_t i = known; i < process.damage.size(); ++i) {
      summary_.warnings.push_back(recorder::process_name(process.attributes) + ": " +
                                  process.damage[i]);
    }
    std::uint64_t first = UINT64_MAX, last = 0;
    for (const recorder::Call& call : process.calls) {
      first = std::min(first, call.start_ns);
      last = std::max(last, call.end_ns());
    }
    std::vector<Member> members;
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const recorder::ProcessSection& section = reader_.index().processes[index + k];
      members.push_back(member_of(section));
      count(section, process.calls.size(), members.back().wall_ns, first, last);
    }
    walk_processes(ranks, members, files_);
    return ranks.size();
  }

  // Of one process, whose calls lie from `first` to `last` after its start.
  void count(const recorder::ProcessSection& section, std::uint64_t calls, std::uint64_t wall_ns,
             std::uint64_t first, std::uint64_t last) {
    const auto host = section.attributes.find("host");
    if (host != section.attributes.end() && !host->second.empty()) {
      const auto rank = section.attributes.find("rank");
      const bool is_rank = rank != section.attributes.end() && !rank->second.starts_with('-');
      (is_rank ? rank_hosts_ : hosts_).insert(host->second);
    }
    const std::uint64_t size = recorder::unsigned_of(section.attributes, "size");
    summary_.ranks =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(size, summary_.ranks, UINT32_MAX));
    summary_.calls += calls;
    summary_.dropped += section.dropped;
    if (calls == 0) return;
    start_ = std::min(start_, wall_ns + first);
    end_ = std::max(end_, wall_ns + last);
  }

  bool add_long(std::size_t index, const recorder::ProcessSection& section, const StopWhen& stop) {
    if (!walk_) make_walk(index);
    if (!walk_->go_on(stop)) return false;
    const WalkedCalls walked = walk_->walked();
    walk_.reset();
    if (walked.unreadable_batches > 0) {
      summary_.warnings.push_back(recorder::process_name(section.attributes) + ": " +
                                  recorder::unreadable_text(walked.unreadable_batches));
    }
    count(section, walked.calls, member_of(section).wall_ns, walked.first_ns, walked.last_ns);
    return true;
  }

  // The program is that of the lowest rank; without MPI of the process with the most calls.
  void describe_program() {
    std::optional<ProcessHead> chosen;
    const auto rank_of = [](const ProcessHead& head) {
      const auto found = head.attributes.find("rank");
      return found == head.attributes.end() || found->second.starts_with('-')
                 ? UINT64_MAX
                 : std::stoull(found->second);
    };
    for (std::size_t i = 0; i < reader_.process_count(); ++i) {
      ProcessHead head = reader_.head(i);
      const bool better = !chosen || rank_of(head) < rank_of(*chosen) ||
                          (rank_of(head) == rank_of(*chosen) && head.calls > chosen->calls);
      if (better) chosen = std::move(head);
    }
    if (!chosen) return;
    const auto text = [&](const char* key) {
      const auto found = chosen->attributes.find(key);
      return found == chosen->attributes.end() ? std::string() : found->second;
    };
    summary_.run_id = text("run");
    summary_.program = text("program");
    summary_.program_name = base_name(summary_.program);
    summary_.mpi = text("mpi");
    summary_.hdf5 = text("hdf5");
    const std::string arguments = text("argv");
    for (std::size_t at = 0; !arguments.empty() && at <= arguments.size();) {
      const std::size_t end = std::min(arguments.find('\0', at), arguments.size());
      summary_.argv.push_back(arguments.substr(at, end - at));
      at = end + 1;
    }
    summary_.identity = program_identity(summary_.program, summary_.argv);
  }

  void add_files(const TakeFile& take) {
    std::set<std::string> said;  // files that are stdout
    for (const recorder::ProcessSection& process : reader_.index().processes) {
      const auto found = process.attributes.find("stdout");
      if (found != process.attributes.end()) said.insert(found->second);
    }
    std::vector<FileTable::iterator> files;
    for (auto one = files_.begin(); one != files_.end(); ++one) files.push_back(one);
    std::stable_sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      return a->second.first_open_ns < b->second.first_open_ns;
    });
    for (const FileTable::iterator& one : files) {
      const auto known = files_.extract(one);
      FilePattern file = file_pattern(known.key(), known.mapped(), start_);
      file.is_stdout = said.contains(file.path);
      if (take) {
        take(std::move(file));
      } else {
        summary_.files.push_back(std::move(file));
      }
    }
  }

  const TraceReader& reader_;
  std::uint64_t calls_at_once_, members_calls_;
  std::size_t next_ = 0;          // process
  std::optional<LongWalk> walk_;  // of it, left off
  bool has_walk_ = false;         // of an archive
  RunSummary summary_{};
  FileTable files_;
  std::set<std::string> rank_hosts_, hosts_;  // of ranks; of all other processes
  std::uint64_t start_ = UINT64_MAX, end_ = 0;
};

// Of alike processes that one step takes together.
constexpr std::uint64_t kCallsAStep = 32768;

}  // namespace

struct ResumableSummary::Work {
  TraceReader reader;
  std::uint64_t calls_at_once;
  Summarizer summarizer;

  Work(TraceReader from, std::uint64_t at_once)
      : reader(std::move(from)),
        calls_at_once(at_once),
        summarizer(reader, calls_at_once, kCallsAStep) {}
};

ResumableSummary::ResumableSummary(std::unique_ptr<Work> work) : work_(std::move(work)) {}
ResumableSummary::ResumableSummary(ResumableSummary&&) noexcept = default;
ResumableSummary::~ResumableSummary() = default;

Result<ResumableSummary> ResumableSummary::open(const std::string& trace_path,
                                                std::uint64_t calls_at_once) {
  Result<TraceReader> reader = TraceReader::open(trace_path);
  if (!reader) return reader.error();
  return ResumableSummary(std::make_unique<Work>(std::move(*reader), calls_at_once));
}

bool ResumableSummary::go_on(const StopWhen& stop) {
  return work_->summarizer.go_on(stop);
}

bool ResumableSummary::is_whole() const {
  return work_->summarizer.is_whole();
}

std::string ResumableSummary::state() {
  ArchiveWriter to;
  work_->summarizer.save(to);
  return to.bytes();
}

bool ResumableSummary::restore(std::string_view state) {
  ArchiveReader from(state);
  auto restored = std::make_unique<Work>(std::move(work_->reader), work_->calls_at_once);
  const bool good = restored->summarizer.load(from);
  if (!good) {
    restored = std::make_unique<Work>(std::move(restored->reader), work_->calls_at_once);
  }
  work_ = std::move(restored);
  return good;
}

RunSummary ResumableSummary::finish() {
  return work_->summarizer.finish();
}

std::string ResumableSummary::run_id() const {
  if (work_->reader.process_count() == 0) return {};
  const recorder::Attributes& attributes = work_->reader.index().processes[0].attributes;
  const auto found = attributes.find("run");
  return found == attributes.end() ? std::string() : found->second;
}

Result<RunSummary> summarize(const std::string& trace_path, std::uint64_t calls_at_once,
                             const TakeFile& take) {
  try {
    const Result<TraceReader> reader = TraceReader::open(trace_path);
    if (!reader) return reader.error();
    Summarizer whole(*reader, calls_at_once, UINT64_MAX);
    whole.go_on([] { return false; });
    return whole.finish(take);
  } catch (const std::bad_alloc&) {
    return Error{trace_path, "out of memory"};
  } catch (const std::exception& error) {
    return Error{trace_path, error.what()};
  }
}

}  // namespace iotune::analyzer
