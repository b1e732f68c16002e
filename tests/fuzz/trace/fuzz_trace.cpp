// Any bytes as a trace or a process buffer: opening them, walking through their calls and asking
// what of these conflicts in which order ends, in bounded memory. Seeds are real traces
// (tests/data); as a checksum would keep all but the first changed byte from being read, those of
// blocks are put right, but for inputs of an odd size.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "analyzer/order/conflicts.h"
#include "analyzer/order/models/verdicts.h"
#include "patterns/crc32c.h"
#include "recorder/format.h"
#include "recorder/read/call_walk.h"
#include "recorder/read/format_call.h"
#include "recorder/read/trace_reader.h"

namespace {

using namespace iotune;
using namespace iotune::recorder;

constexpr std::size_t kBlockHead = 16, kAlign = 8;
// A block may say that a call was made 2^40 times, in a few bytes: that is no damage.
constexpr std::size_t kMostCalls = 1U << 14U, kMostProcesses = 8;

std::uint32_t word_at(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8U |
         static_cast<std::uint32_t>(at[2]) << 16U | static_cast<std::uint32_t>(at[3]) << 24U;
}

void mend_checksums(std::vector<std::uint8_t>& file) {
  for (std::size_t at = 0; at + kBlockHead <= file.size();) {
    const std::uint32_t length = word_at(file.data() + at + 8);
    if (std::memcmp(file.data() + at, "IBLK", 4) != 0 || length > file.size() - at - kBlockHead) {
      at += kAlign;
      continue;
    }
    std::vector<std::byte> covered(8 + std::size_t{length});
    std::memcpy(covered.data(), file.data() + at + 4, 8);
    std::memcpy(covered.data() + 8, file.data() + at + kBlockHead, length);
    const std::uint32_t crc = iotune::patterns::crc32c(covered.data(), covered.size());
    for (unsigned i = 0; i < 4; ++i) {
      file[at + 12 + i] = static_cast<std::uint8_t>(crc >> 8U * i);
    }
    at += (kBlockHead + length + kAlign - 1) / kAlign * kAlign;
  }
}

// A file in memory by a name that open() takes.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : fd_(memfd_create("trace", 0)) {
    if (fd_ < 0) std::abort();
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
      if (wrote <= 0) std::abort();
      bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void walk(const TraceReader& trace) {
  for (std::size_t p = 0; p < std::min(trace.process_count(), kMostProcesses); ++p) {
    const ProcessHead head = trace.head(p);
    std::size_t calls = 0;
    ProcessWalk groups(trace.index(), p, UINT64_MAX);
    CallGroup group;
    while (calls < kMostCalls && groups.next(group)) {
      for (const Call* call : group.calls) {
        if (++calls > kMostCalls) break;
        (void)format_call(*call);
      }
    }
    if (head.calls < kMostCalls) (void)trace.read(p);
  }
}

// Of an input with few calls: each event of order is replayed by itself.
void verify(const TraceReader& trace) {
  std::size_t calls = 0;
  for (std::size_t p = 0; p < trace.process_count(); ++p) {
    const std::size_t more = trace.head(p).calls;
    if (p == kMostProcesses || more >= kMostCalls - calls) return;
    calls += more;
  }
  const analyzer::TraceVerdict verdict = analyzer::verify_traces(std::span(&trace.index(), 1));
  (void)analyzer::find_conflicts(verdict.accesses);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size % 2 == 0) mend_checksums(bytes);
  const MemoryFile file(bytes);
  const auto trace = TraceReader::open(file.path());
  if (!trace) return 0;
  walk(*trace);
  verify(*trace);
  return 0;
}
