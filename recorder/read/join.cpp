#include "recorder/read/join.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>

#include "recorder/format.h"
#include "recorder/read/trace_blocks/block_file.h"
#include "recorder/read/trace_blocks/block_sorter.h"
#include "recorder/read/trace_blocks/block_text.h"
#include "recorder/read/trace_blocks/buffer_reader.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::recorder {
namespace {

struct Batch {
  const TraceIndex* source;
  const EventsPlace* place;
};

struct Process {
  Attributes attributes, end;
  std::uint64_t dropped = 0;
  std::vector<std::string> damage;  // of the buffers: nothing else tells it later
  // Ranks' SHARED blocks, which stay as they are, say all but its batches of its own.
  bool only_shared = true;
  std::size_t sections = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Batch> batches;

  void add(const TraceIndex& source, const ProcessSection& section) {
    only_shared = section.only_shared && ++sections == 1;
    for (const auto& [key, value] : section.attributes) attributes[key] = value;
    for (const auto& [key, value] : section.end) end[key] = value;
    dropped = std::max(dropped, section.dropped);
    damage = section.damage;  // a buffer's, which comes after the trace that has an earlier part
    for (const EventsPlace& place : section.events) {
      Batch& batch =
          batches.try_emplace({place.thread, place.epoch}, Batch{&source, &place}).first->second;
      if (place.calls > batch.place->calls) batch = {&source, &place};
    }
  }
  long long rank() const {
    const auto found = attributes.find("rank");
    long long value = -1;
    if (found != attributes.end()) {
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    }
    return value < 0 ? 1LL << 40U : value;
  }
};

// The spill file that a buffer's process has left, and the link to it.
void remove_spill(const std::string& buffer) {
  const std::string link = spill_path(buffer);
  std::array<char, 4096> target{};
  const ssize_t bytes = ::readlink(link.c_str(), target.data(), target.size() - 1);
  const std::string path(target.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const auto name = [](const std::string& of) { return of.substr(of.rfind('/') + 1); };
  // Of another name it is not one that this buffer's process has made.
  if (name(path) == name(link)) ::unlink(path.c_str());
  if (bytes > 0) ::unlink(link.c_str());
}

std::string said_by_first(const TraceIndex& index, const char* key) {
  if (index.processes.empty()) return {};
  const auto found = index.processes.front().attributes.find(key);
  return found == index.processes.front().attributes.end() ? std::string() : found->second;
}

// `tree`: of the processes that one command line started, which are runs of their own.
bool are_of_one_run(const TraceIndex& one, const TraceIndex& other) {
  for (const char* const key : {"run", "tree"}) {
    const std::string said = said_by_first(one, key);
    if (!said.empty() && said == said_by_first(other, key)) return true;
  }
  return false;
}

// The trace that is there already, if it is of the same run.
Result<std::optional<TraceIndex>> trace_to_keep(const std::string& output,
                                                const TraceIndex& joined) {
  if (const std::optional<Error> refusal = refusal_to_replace(output)) return *refusal;
  struct stat status {};
  if (::stat(output.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<TraceIndex>();
    return Error{output, std::generic_category().message(errno)};
  }
  if (S_ISREG(status.st_mode) && status.st_size == 0) return std::optional<TraceIndex>();
  Result<TraceIndex> old = index_trace(output);
  if (!old) return Error{output, "is there already and is left alone: " + old.error().message};
  if (!are_of_one_run(*old, joined)) return std::optional<TraceIndex>();
  return std::optional<TraceIndex>(std::move(*old));
}

std::vector<Process> processes_of(const std::vector<const TraceIndex*>& sources) {
  std::vector<Process> processes;
  std::map<std::string, std::size_t> by_identity;
  for (const TraceIndex* source : sources) {
    for (const ProcessSection& section : source->processes) {
      const std::string identity = section.identity();
      std::size_t at = processes.size();
      if (!identity.empty()) at = by_identity.try_emplace(identity, at).first->second;
      if (at == processes.size()) processes.emplace_back();
      processes[at].add(*source, section);
    }
  }
  std::stable_sort(processes.begin(), processes.end(),
                   [](const Process& a, const Process& b) { return a.rank() < b.rank(); });
  return processes;
}

bool is_shared(const Batch& batch) {
  return batch.place->shared != EventsPlace::kNotShared;
}

// Taken apart they would make many ranks as large as many processes.
void write_shared(ReplacingFile& file, const TraceIndex& source, JoinReport& report) {
  for (const SharedPlace& place : source.shared_places) {
    const std::vector<std::byte> payload = read_bytes(source.file, place.offset, place.bytes);
    if (payload.empty()) {
      report.warnings.push_back(source.file.path() + ": what ranks share cannot be read");
      continue;
    }
    write_block(file, BlockType::kShared, payload);
  }
}

void write_process(ReplacingFile& file, const Process& process, JoinReport& report) {
  bool all_shared = process.only_shared;
  for (const auto& [key, batch] : process.batches) {
    if (is_shared(batch)) report.calls += batch.place->calls;
    all_shared = all_shared && is_shared(batch);
  }
  if (all_shared) return;
  Attributes attributes = process.attributes;
  // Where END is missing nothing else says it.
  if (process.dropped > 0) attributes["dropped"] = std::to_string(process.dropped);
  std::string damage;
  for (const std::string& text : process.damage) damage += (damage.empty() ? "" : "; ") + text;
  if (!damage.empty()) attributes["damage"] = damage;
  write_text_block(file, BlockType::kProcess, attributes);
  for (const auto& [key, batch] : process.batches) {
    if (is_shared(batch)) continue;
    const std::vector<std::byte> payload = read_payload(*batch.source, *batch.place);
    if (payload.empty()) {
      report.warnings.push_back(batch.source->file.path() + ": a batch of calls cannot be read");
      continue;
    }
    write_block(file, BlockType::kEvents, payload);
    const std::vector<std::byte> marks = read_marks(*batch.source, *batch.place);
    if (!marks.empty()) write_block(file, BlockType::kMarks, marks);
    report.calls += batch.place->calls;
  }
  if (!process.end.empty()) write_text_block(file, BlockType::kEnd, process.end);
}

}  // namespace

Result<JoinReport> join(const std::vector<std::string>& buffers, const std::string& output,
                        bool remove) {
  JoinReport report;
  std::vector<TraceIndex> indices;
  indices.reserve(buffers.size());
  std::optional<Error> first_error;
  for (const std::string& path : buffers) {
    Result<TraceIndex> index = index_trace(path);
    if (!index) {
      report.warnings.push_back(index.error().text());
      if (!first_error) first_error = index.error();
      continue;
    }
    for (const std::string& warning : index->warnings) {
      report.warnings.push_back(Error{path, warning}.text());
    }
    for (const ProcessSection& section : index->processes) {
      for (const std::string& damage : section.damage) {
        report.warnings.push_back(Error{path, damage}.text());
      }
    }
    indices.push_back(std::move(*index));
  }
  if (indices.empty()) {
    return first_error ? *first_error : Error{output, "no buffers to make a trace of"};
  }
  Result<std::optional<TraceIndex>> kept = trace_to_keep(output, indices.front());
  if (!kept) return kept.error();

  std::vector<const TraceIndex*> sources;
  if (kept->has_value()) sources.push_back(&**kept);
  for (const TraceIndex& index : indices) sources.push_back(&index);
  const std::vector<Process> processes = processes_of(sources);

  ReplacingFile file(output);
  write_trace_head(file);
  for (const TraceIndex* source : sources) write_shared(file, *source, report);
  for (const Process& process : processes) write_process(file, process, report);
  if (const std::optional<Error> error = file.commit()) return *error;
  report.processes = processes.size();
  if (!remove) return report;
  for (const TraceIndex& index : indices) {
    if (index.in_use) {
      report.warnings.push_back(index.file.path() + ": its process may still run; kept");
      continue;
    }
    // The buffer last: without it nobody would find the others.
    remove_spill(index.file.path());
    if (::unlink(index.file.path().c_str()) == 0) {
      ++report.removed;
    } else {
      report.warnings.push_back(index.file.path() + ": " + std::generic_category().message(errno));
    }
  }
  return report;
}

}  // namespace iotune::recorder
