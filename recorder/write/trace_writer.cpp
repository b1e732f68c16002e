#include "recorder/write/trace_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <system_error>

#include "patterns/bytes.h"
#include "recorder/call_table.h"
#include "recorder/events_encoder.h"
#include "recorder/format.h"
#include "recorder/read/trace_blocks/block_file.h"
#include "recorder/ring_record.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kThreadBytes = 512U << 10U;   // of records, encoded at a time
constexpr std::size_t kBufferedBytes = 64U << 20U;  // of all threads together
constexpr std::size_t kMostWords = 4096, kMostText = 64U << 10U;
constexpr std::uint64_t kLatestNs = UINT64_MAX / 4;  // an encoder takes more for a clock gone back
constexpr std::uint64_t kExactTransfers = 32;        // of a thread, where patterns keep the times

// A file without a name: whatever happens to this process, nothing of it stays.
Descriptor open_spool(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string name =
      (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + ".iotune-spool-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return Descriptor(fd);
}

template <typename T>
void put(std::byte*& to, T value) {
  std::memcpy(to, &value, sizeof value);
  to += sizeof value;
}

long long rank_of(const Attributes& attributes) {
  long long rank = -1;
  if (const auto found = attributes.find("rank"); found != attributes.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), rank);
  }
  return rank < 0 ? INT64_MAX : rank;
}

// The payload with its base, the fourth number, counted from `zero_ns`. All other times in it
// count from the base.
std::vector<std::byte> moved_base(std::span<const std::byte> payload, std::uint64_t zero_ns) {
  patterns::ByteReader reader(payload);
  std::vector<std::byte> moved(payload.size() + patterns::kMaxVarintBytes);
  patterns::ByteWriter writer(moved);
  for (int i = 0; i < 3; ++i) writer.varint(reader.varint());
  writer.varint(reader.varint() - zero_ns);
  const std::size_t head = payload.size() - reader.bytes_left();
  writer.raw(payload.data() + head, payload.size() - head);
  moved.resize(writer.bytes_used());
  return moved;
}

}  // namespace

TraceWriter::TraceWriter(std::string path, KeptTimes kept, bool replace)
    : path_(std::move(path)), kept_(kept), replace_(replace) {
  if (!replace_ && ::access(path_.c_str(), F_OK) == 0) {
    fail(std::generic_category().message(EEXIST));
    return;
  }
  if (std::optional<Error> refusal = refusal_to_replace(path_)) {
    error_ = std::move(refusal);
    return;
  }
  spool_ = open_spool(path_);
  if (!spool_) fail_with_errno();
}

bool TraceWriter::fail(std::string message) {
  if (!error_) error_ = Error{path_, std::move(message)};
  return false;
}

bool TraceWriter::fail_with_errno() {
  return fail(std::generic_category().message(errno));
}

std::uint32_t TraceWriter::add_process(Attributes attributes) {
  processes_.emplace_back().attributes = std::move(attributes);
  return static_cast<std::uint32_t>(processes_.size() - 1);
}

bool TraceWriter::add(std::uint32_t process, std::uint32_t thread, const NewCall& call) {
  if (error_ || process >= processes_.size() || call.function >= call_count() ||
      call.keys.size() > kMostWords || call.numbers.size() > kMostWords ||
      call.text.size() > kMostText || call.start_ns > kLatestNs || call.duration_ns > kLatestNs) {
    return false;
  }
  const std::uint64_t key = key_of(process, thread);
  Thread& own = threads_[key];
  const std::size_t words = call.keys.size() + call.numbers.size();
  const std::size_t bytes = kRecordHeadBytes + 8 * words + (call.text.size() + 7) / 8 * 8;
  if (own.records.size() + bytes > kThreadBytes && !flush(key, own)) return false;
  if (buffered_ + bytes > kBufferedBytes) {
    for (auto& [other, pending] : threads_) {
      if (!flush(other, pending)) return false;
    }
  }
  const bool transfer = call_table()[call.function].transfer;
  const bool exact = kept_ != KeptTimes::kPattern || !transfer || own.transfers < kExactTransfers;
  if (transfer) ++own.transfers;

  const std::size_t at = own.records.size();
  own.records.resize(at + bytes);
  std::byte* to = own.records.data() + at;
  put(to, static_cast<std::uint32_t>(bytes));
  put(to, call.function);
  put(to, call.layers);
  put(to, static_cast<std::uint8_t>(exact ? kExactRecord : 0));
  put(to, call.start_ns);
  put(to, call.duration_ns);
  put(to, static_cast<std::uint16_t>(call.keys.size()));
  put(to, static_cast<std::uint16_t>(call.numbers.size()));
  put(to, static_cast<std::uint32_t>(call.text.size()));
  for (const std::int64_t word : call.keys) put(to, word);
  for (const std::int64_t word : call.numbers) put(to, word);
  if (!call.text.empty()) std::memcpy(to, call.text.data(), call.text.size());
  buffered_ += bytes;
  Process& owner = processes_[process];
  owner.first_ns = std::min(owner.first_ns, call.start_ns);
  ++owner.calls;
  return true;
}

bool TraceWriter::flush(std::uint64_t key, Thread& thread) {
  if (thread.records.empty()) return true;
  const std::size_t size = thread.records.size();
  scratch_.resize(std::max(scratch_.size(), scratch_bytes_needed(size) / 8 + 1));
  payload_.resize(std::max(payload_.size(), events_bytes_at_most(size)));
  EventsRequest request;
  request.records = thread.records;
  request.thread = static_cast<std::uint32_t>(key);
  request.epoch = thread.epoch++;
  request.every_time_exact = kept_ != KeptTimes::kPattern;
  request.coded_times = kept_ == KeptTimes::kCoded;
  request.scratch = std::as_writable_bytes(std::span(scratch_));
  patterns::ByteWriter writer(payload_);
  if (!encode_events(request, writer)) return fail("a batch of calls could not be encoded");
  buffered_ -= size;
  // Threads may be many, and most of them small.
  thread.records = {};
  return spool(static_cast<std::uint32_t>(key >> 32U), writer.written());
}

bool TraceWriter::spool(std::uint32_t process, std::span<const std::byte> payload) {
  processes_[process].blocks.push_back({spooled_, static_cast<std::uint32_t>(payload.size())});
  while (!payload.empty()) {
    const ssize_t wrote =
        ::pwrite(spool_.get(), payload.data(), payload.size(), static_cast<off_t>(spooled_));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      if (wrote == 0) errno = ENOSPC;
      return fail_with_errno();
    }
    spooled_ += static_cast<std::uint64_t>(wrote);
    payload = payload.subspan(static_cast<std::size_t>(wrote));
  }
  return true;
}

Result<WrittenTrace> TraceWriter::finish() {
  for (auto& [key, thread] : threads_) {
    if (!flush(key, thread)) break;
  }
  if (error_) return *error_;
  ReplacingFile file(path_);
  write_trace_head(file);
  WrittenTrace written;
  std::vector<std::uint32_t> order(processes_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank_of(processes_[a].attributes) < rank_of(processes_[b].attributes);
  });
  for (const std::uint32_t number : order) {
    Process& process = processes_[number];
    const std::uint64_t zero = process.calls == 0 ? 0 : process.first_ns;
    // Host, pid and start_ticks tell processes apart, and a log's pids may come again.
    process.attributes["start_ticks"] = std::to_string(number + 1);
    process.attributes["ticks_per_second"] = "1000000000";
    process.attributes["wall_ns"] = std::to_string(zero);
    write_text_block(file, BlockType::kProcess, process.attributes);
    for (const SpooledBlock& block : process.blocks) {
      payload_.resize(std::max<std::size_t>(payload_.size(), block.bytes));
      const ssize_t got =
          ::pread(spool_.get(), payload_.data(), block.bytes, static_cast<off_t>(block.offset));
      if (got != static_cast<ssize_t>(block.bytes)) {
        return Error{path_, "what was written cannot be read again"};
      }
      write_block(file, BlockType::kEvents,
                  moved_base(std::span(payload_).first(block.bytes), zero));
      written.bytes += block.bytes;
    }
    write_text_block(file, BlockType::kEnd,
                     {{"end", "exit"}, {"calls", std::to_string(process.calls)}, {"dropped", "0"}});
    written.calls += process.calls;
    ++written.processes;
  }
  if (const std::optional<Error> error = file.commit(replace_)) return *error;
  return written;
}

}  // namespace iotune::recorder
