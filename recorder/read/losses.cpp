#include "recorder/read/losses.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace iotune::recorder {
namespace {

std::string text_of(const Attributes& attributes, const char* key) {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : found->second;
}

bool is_rank(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// By host and pid: processes that others of the run, or they themselves, ended by SIGTERM.
std::set<std::string> terminated_processes(const TraceIndex& index) {
  constexpr std::string_view kKey = "terminated_";
  std::set<std::string> terminated;
  for (const ProcessSection& process : index.processes) {
    for (const auto& [key, value] : process.attributes) {
      if (!key.starts_with(kKey)) continue;
      terminated.insert(text_of(process.attributes, "host") + ' ' + key.substr(kKey.size()));
    }
  }
  return terminated;
}

bool is_ended_worker(const ProcessSection& process, const std::set<std::string>& terminated) {
  return process.end.empty() && !process.alive &&
         terminated.contains(text_of(process.attributes, "host") + ' ' +
                             text_of(process.attributes, "pid"));
}

}  // namespace

std::string process_name(const Attributes& attributes) {
  const std::string pid = "process " + text_of(attributes, "pid"),
                    rank = text_of(attributes, "rank");
  return is_rank(rank) ? "rank " + rank + " (" + pid + ")" : pid;
}

std::vector<std::string> losses_of(const TraceIndex& index) {
  std::vector<std::string> losses = index.warnings;
  std::set<std::string> ranks;
  const std::set<std::string> terminated = terminated_processes(index);
  std::uint64_t size = 0, sampled_out = 0;
  for (const ProcessSection& process : index.processes) {
    const std::string name = process_name(process.attributes) + ": ";
    if (is_rank(text_of(process.attributes, "rank"))) {
      ranks.insert(text_of(process.attributes, "rank"));
    }
    size = std::max(size, unsigned_of(process.attributes, "size"));
    for (const std::string& damage : process.damage) losses.push_back(name + damage);
    if (process.dropped > 0) {
      losses.push_back(name + std::to_string(process.dropped) +
                       " calls were not recorded for lack of memory");
    }
    sampled_out = std::max(sampled_out, unsigned_of(process.end, "sampled_out"));
    std::uint64_t calls = 0;
    for (const EventsPlace& place : process.events) calls += place.calls;
    // Threads that went on behind the end have more.
    if (const std::uint64_t made = unsigned_of(process.end, "calls"); calls < made) {
      losses.push_back(name + std::to_string(made - calls) + " of " + std::to_string(made) +
                       " calls are missing");
    }
    if (process.end.empty() && !is_ended_worker(process, terminated)) {
      losses.push_back(
          name + (process.alive ? "is still running" : "ended early (a signal, _exit or exec)"));
    }
  }
  if (sampled_out > 0) {
    losses.push_back("of " + std::to_string(sampled_out) + " further files of a series only the " +
                     "opening and settings are recorded (IOTUNE_RECORD=all records all)");
  }
  if (index.processes.empty()) losses.emplace_back("no process is in the trace");
  if (!ranks.empty() && ranks.size() < size) {
    losses.push_back("only " + std::to_string(ranks.size()) + " of " + std::to_string(size) +
                     " ranks are in the trace");
  }
  return losses;
}

std::vector<std::string> ended_workers_of(const TraceIndex& index) {
  const std::set<std::string> terminated = terminated_processes(index);
  std::map<std::string, std::uint64_t> workers;
  for (const ProcessSection& process : index.processes) {
    if (is_ended_worker(process, terminated)) ++workers[text_of(process.attributes, "parent")];
  }
  std::vector<std::string> notes;
  for (const auto& [parent, count] : workers) {
    notes.push_back(std::to_string(count) + (count == 1 ? " worker" : " workers") + " of process " +
                    parent + (count == 1 ? " was" : " were") +
                    " ended by SIGTERM, as pools end theirs; all their calls are here");
  }
  return notes;
}

std::string unreadable_text(std::uint64_t batches) {
  return std::to_string(batches) + " batches of calls are damaged";
}

}  // namespace iotune::recorder
