// What the log store's writer adds to a write, in a loop of writes. Each call is one arm:
//
//   logstore_writes none|plain|ours|counter stub|real SCRATCH BYTES COUNT strided|random
//
// prints "ns VALUE", a write's CPU time, the kernel's included. `none` appends to the file alone;
// `plain` keeps PLFS's record of each write, with its two looks at the clock, in a buffer of
// 102,400 entries; `ours` is logstore::LogWriter. Their clock is CLOCK_REALTIME; `counter` is
// `ours` with the processor's counter for a clock (core/os/ticks.h). With `stub` the log is a
// function that does nothing, and only the index is written. Files lie in the folder SCRATCH and
// are removed.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/os/ticks.h"
#include "logstore/write/log_writer.h"
#include "tests/bench/logstore/arm.h"
#include "tests/bench/logstore/plain_index.h"
#include "tests/generators/drawing.h"

namespace iotune::bench {
namespace {

using logstore::LogWriter;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "logstore_writes: %s\n", what.c_str());
  std::exit(1);
}

int made(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(path + ": " + std::strerror(errno));
  return file;
}

logstore::LogFile real_file(int* descriptor) {
  return {descriptor,
          [](void* self, const void* from, std::size_t size, std::int64_t offset) noexcept {
            const ssize_t some = pwrite(*static_cast<int*>(self), from, size, offset);
            return some < 0 ? -std::int64_t{errno} : std::int64_t{some};
          },
          [](void*) noexcept { return 0; }};
}

const logstore::LogFile kStub = {nullptr,
                                 [](void*, const void*, std::size_t size, std::int64_t) noexcept {
                                   return static_cast<std::int64_t>(size);
                                 },
                                 [](void*) noexcept { return 0; }};

std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct Writes {
  std::int64_t bytes, count;
  bool random;
  std::vector<std::int64_t> offsets;  // drawn before the clock starts
  std::vector<char> buffer;

  std::int64_t offset(std::int64_t k) const noexcept {
    return random ? offsets[static_cast<std::size_t>(k)] : k * 512 * bytes;
  }
};

double none(const Writes& writes, const logstore::LogFile& log, const std::string&) {
  std::int64_t end = 0;
  const double began = cpu_ns();
  for (std::int64_t k = 0; k < writes.count; ++k) {
    end += log.write_at(log.context, writes.buffer.data(), writes.buffer.size(), end);
  }
  return cpu_ns() - began;
}

double plain(const Writes& writes, const logstore::LogFile& log, const std::string& index) {
  PlainWriter writer(index);
  std::int64_t end = 0;
  const double began = cpu_ns();
  for (std::int64_t k = 0; k < writes.count; ++k) {
    const std::int64_t begin = now_ns();
    const std::int64_t some =
        log.write_at(log.context, writes.buffer.data(), writes.buffer.size(), end);
    const std::int64_t ended = now_ns();
    writer.add({writes.offset(k), end, some, static_cast<double>(begin) * 1e-9,
                static_cast<double>(ended) * 1e-9, 0, 0});
    end += some;
  }
  writer.flush();
  return cpu_ns() - began;
}

std::int64_t realtime(void*) noexcept {
  return now_ns();
}

// ns since 1970 as of the moment at which it was made, by the counter from there on.
struct CounterClock {
  ClockReading begun = read_clocks();
  TickRate rate;

  CounterClock() {
    timespec while_measured{0, 20'000'000};
    nanosleep(&while_measured, nullptr);
    rate = rate_between(begun, read_clocks(), {});
  }
  static std::int64_t now(void* self) noexcept {
    const auto& own = *static_cast<const CounterClock*>(self);
    // Within a quarter of an hour: no overflow.
    const std::uint64_t passed = (ticks_now() - own.begun.ticks) * own.rate.mult;
    return static_cast<std::int64_t>(own.begun.realtime_ns + (passed >> TickRate::kShift));
  }
};

double ours(const Writes& writes, const logstore::LogFile& log, const std::string& path,
            const logstore::LogClock& clock) {
  int index = made(path);
  std::vector<std::uint64_t> arena(LogWriter::arena_bytes() / 8 + 1);
  LogWriter writer(log, real_file(&index), clock, std::as_writable_bytes(std::span(arena)));
  if (writer.begin(1) != 0) fail("begin");
  const double began = cpu_ns();
  for (std::int64_t k = 0; k < writes.count; ++k) {
    if (writer.append(writes.offset(k), writes.buffer.data(), writes.buffer.size()) !=
        writes.bytes) {
      fail("append");
    }
  }
  if (writer.close() != 0) fail("close");
  const double took = cpu_ns() - began;
  print("index_bytes", static_cast<double>(writer.index_bytes()));
  close(index);
  return took;
}

}  // namespace
}  // namespace iotune::bench

int main(int argc, char** argv) {
  using namespace iotune::bench;
  const std::string name = argc == 7 ? argv[1] : "";
  if (name != "none" && name != "plain" && name != "ours" && name != "counter") {
    std::fputs(
        "usage: logstore_writes none|plain|ours|counter stub|real SCRATCH BYTES COUNT "
        "strided|random\n",
        stderr);
    return 2;
  }
  const std::string scratch = argv[3];
  Writes writes{std::strtoll(argv[4], nullptr, 10),
                std::strtoll(argv[5], nullptr, 10),
                std::strcmp(argv[6], "random") == 0,
                {},
                {}};
  if (writes.bytes <= 0 || writes.count <= 0) fail("BYTES and COUNT: 1 or more");
  writes.buffer.resize(static_cast<std::size_t>(writes.bytes), 'x');
  iotune::generators::Drawing draw(1);
  for (std::int64_t k = 0; writes.random && k < writes.count; ++k) {
    writes.offsets.push_back(draw.between(0, std::int64_t{1} << 40));
  }
  int file = -1;
  const std::string log_path = scratch + "/writes.log";
  if (std::strcmp(argv[2], "stub") != 0) file = made(log_path);
  const iotune::logstore::LogFile log = file < 0 ? kStub : real_file(&file);
  const std::string index = scratch + "/writes.index";
  CounterClock counter;
  const iotune::logstore::LogClock clock{&counter,
                                         name == "counter" ? &CounterClock::now : &realtime};
  const double took = name == "none"    ? none(writes, log, index)
                      : name == "plain" ? plain(writes, log, index)
                                        : ours(writes, log, index, clock);
  print("ns", took / static_cast<double>(writes.count));
  if (file >= 0) {
    close(file);
    unlink(log_path.c_str());
  }
  unlink(index.c_str());
  return 0;
}
