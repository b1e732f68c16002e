#include "fuse/request_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <utility>

namespace iotune::fuse {
namespace {

std::string program_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

std::uint64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void RequestRecorder::add(recorder::AccessKind kind, int pid, const std::string& path,
                          std::int64_t offset, std::int64_t length, std::uint64_t start_ns) {
  const std::lock_guard lock(mutex_);
  // The clock may have been set back: calls stand in the order of their ends.
  last_ns_ = std::max(last_ns_, realtime_ns());
  const auto [found, fresh] = processes_.try_emplace(pid, 0);
  if (fresh) {
    // Requests of the kernel's own (read-ahead, write-back) may come as nobody's.
    const std::string program = pid == 0 ? "kernel" : program_of(pid);
    found->second = writer_.trace().add_process({{"rank", std::to_string(processes_.size() - 1)},
                                                 {"pid", std::to_string(pid)},
                                                 {"host", host_name()},
                                                 {"program", program},
                                                 {"argv", program},
                                                 {"cwd", "/"},
                                                 {"rank_from", "fuse"}});
  }
  recorder::NewAccess access;
  access.kind = kind;
  access.path = path;
  access.offset = offset;
  access.length = length;
  access.start_ns = std::min(start_ns, last_ns_);
  access.end_ns = last_ns_;
  const std::int64_t thread = writer_.take_thread(found->second, access.start_ns, access.end_ns);
  if (thread < 0 || !writer_.add(found->second, static_cast<std::uint32_t>(thread), access)) {
    ++lost_;
  }
}

bool RequestRecorder::finish() {
  const std::lock_guard lock(mutex_);
  if (lost_ != 0) {
    std::fprintf(stderr, "iotune: %llu requests could not be recorded\n",
                 static_cast<unsigned long long>(lost_));
  }
  if (processes_.empty()) {
    std::fprintf(stderr, "iotune: no request came: no trace is written\n");
    return true;
  }
  const std::string run = "fuse-" + std::to_string(getpid()) + "-" + std::to_string(last_ns_);
  for (const auto& [pid, number] : processes_) {
    recorder::Attributes& attributes = writer_.trace().attributes(number);
    attributes["size"] = std::to_string(processes_.size());
    attributes["run"] = run;
  }
  const auto written = writer_.finish();
  if (written) return lost_ == 0;
  std::fprintf(stderr, "iotune: %s\n", written.error().text().c_str());
  return false;
}

}  // namespace iotune::fuse
