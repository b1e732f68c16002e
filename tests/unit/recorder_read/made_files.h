// Rings, process buffers and traces as the recorder writes them, made by hand.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "patterns/bytes.h"
#include "patterns/crc32c.h"
#include "recorder/call_numbers.h"
#include "recorder/events_encoder.h"
#include "recorder/format.h"

namespace iotune::recorder::made {

struct RecordTimes {
  std::uint64_t start = 0, duration = 0;
};

class RingBytes {
 public:
  void add(CallNumber number, RecordTimes times, std::vector<std::int64_t> keys,
           std::vector<std::int64_t> numbers, const std::string& text = {}, bool control = false,
           std::uint8_t layers = 0) {
    const std::size_t whole = 32 + 8 * (keys.size() + numbers.size()) + (text.size() + 7) / 8 * 8;
    const std::size_t at = bytes_.size();
    newest_ = at;
    bytes_.resize(at + whole);
    put(at, static_cast<std::uint32_t>(whole));
    put(at + 4, static_cast<std::uint16_t>(number));
    put(at + 6, layers);
    put(at + 7, static_cast<std::uint8_t>(control ? 1 : 0));
    put(at + 8, times.start);
    put(at + 16, times.duration);
    put(at + 24, static_cast<std::uint16_t>(keys.size()));
    put(at + 26, static_cast<std::uint16_t>(numbers.size()));
    put(at + 28, static_cast<std::uint32_t>(text.size()));
    std::size_t to = at + 32;
    for (const auto* words : {&keys, &numbers}) {
      for (const std::int64_t word : *words) {
        put(to, word);
        to += 8;
      }
    }
    if (!text.empty()) std::memcpy(bytes_.data() + to, text.data(), text.size());
    ++calls_;
  }
  // The last records go on in turns for so many calls, each by its strides (FORMAT.md, "Repeat").
  void repeat(std::uint64_t calls, const std::vector<std::vector<std::int64_t>>& strides,
              std::uint64_t end) {
    std::size_t to = bytes_.size();
    std::size_t whole = 32;
    for (const auto& leaf : strides) whole += 40 + 8 * leaf.size();
    bytes_.resize(to + whole);
    put(to, static_cast<std::uint32_t>(whole));
    put(to + 4, std::uint16_t{0xFFFF});
    put(to + 7, static_cast<std::uint8_t>(strides.size()));
    put(to + 8, calls);
    to += 32;
    for (const auto& leaf : strides) {
      const std::uint64_t own = calls / strides.size();
      for (const std::uint64_t word :
           {std::uint64_t{leaf.size()}, 10 * own, std::uint64_t{10}, std::uint64_t{10}, end}) {
        put(to, word);
        to += 8;
      }
      for (const std::int64_t stride : leaf) {
        put(to, stride);
        to += 8;
      }
    }
    calls_ += calls;
  }
  // The newest record has times of its own though it is no control call.
  void mark_exact() { put(newest_ + 7, kExactRecord); }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::size_t calls() const { return calls_; }

 private:
  template <typename T>
  void put(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::vector<std::byte> bytes_;
  std::size_t calls_ = 0, newest_ = 0;
};

inline std::vector<std::byte> encoded(const std::vector<std::byte>& records,
                                      std::uint32_t thread = 0, std::uint32_t epoch = 0,
                                      bool every_time = true) {
  std::vector<std::uint64_t> scratch(scratch_bytes_needed(records.size()) / 8 + 1);
  std::vector<std::byte> payload(events_bytes_at_most(records.size()));
  EventsRequest request;
  request.records = records;
  request.thread = thread;
  request.epoch = epoch;
  request.every_time_exact = every_time;
  request.scratch = std::as_writable_bytes(std::span(scratch));
  patterns::ByteWriter writer(payload);
  if (!encode_events(request, writer)) return {};
  payload.resize(writer.bytes_used());
  return payload;
}

inline void add_block(std::vector<std::byte>& to, BlockType type,
                      const std::vector<std::byte>& payload) {
  std::vector<std::byte> block(kBlockHeadBytes + payload.size());
  patterns::ByteWriter head(block);
  head.u32le(kBlockMagic);
  head.u32le(static_cast<std::uint32_t>(type));
  head.u32le(static_cast<std::uint32_t>(payload.size()));
  head.u32le(
      patterns::crc32c(payload.data(), payload.size(), patterns::crc32c(block.data() + 4, 8)));
  head.raw(payload.data(), payload.size());
  block.resize((block.size() + 7) / 8 * 8);
  to.insert(to.end(), block.begin(), block.end());
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::string process_text(int pid, int rank, const std::string& run = "run-1",
                                std::uint32_t table = 0) {
  std::string text = "pid=" + std::to_string(pid) + "\nhost=made\nrun=" + run +
                     "\nrank=" + std::to_string(rank) +
                     "\nsize=2\nprogram=/opt/a%20b\nstart_ticks=0\nwall_ns=1000000000000\n";
  if (table != 0) text += "table=" + std::to_string(table) + "\n";
  return text;
}

inline std::vector<std::byte> trace_head() {
  std::vector<std::byte> bytes = bytes_of(kTraceMagic);
  bytes.resize(16);
  bytes[12] = std::byte{kFormatVersion};
  return bytes;
}

struct MadeRing {
  std::uint32_t thread, epoch;
  std::vector<std::byte> records;
};

// A process buffer with one segment of blocks and any number of rings.
inline std::vector<std::byte> buffer_bytes(std::uint32_t pid, const std::vector<std::byte>& blocks,
                                           const std::vector<MadeRing>& rings,
                                           std::uint32_t state = 0) {
  std::vector<std::byte> bytes(kBufferHeadBytes);
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  std::memcpy(bytes.data(), "IOTBUF", 6);
  put(8, kFormatVersion);
  put(12, static_cast<std::uint32_t>(kBufferHeadBytes));
  put(16, pid);
  put(20, state);
  put(32, std::uint64_t{1'000'000'000'000});
  put(40, std::uint64_t{1'000'000});
  put(48, std::uint64_t{1'000'001'000'000});
  put(64, static_cast<std::uint32_t>(1 + rings.size()));
  std::size_t entry = kSegmentTableOffset;
  const auto add_segment = [&](std::uint32_t kind, std::uint32_t thread, std::uint64_t word,
                               const std::vector<std::byte>& content) {
    const std::size_t before = kRingHeadBytes + (kind == 2 ? kRingMarksBytes : 0);
    const std::size_t size = (before + content.size() + 256 + 4095) / 4096 * 4096;
    put(entry, kind);
    put(entry + 4, thread);
    put(entry + 8, std::uint64_t{bytes.size()});
    put(entry + 16, std::uint64_t{size});
    entry += kSegmentEntryBytes;
    const std::size_t at = bytes.size();
    bytes.resize(at + size);
    put(at, word);
    std::memcpy(bytes.data() + at + before, content.data(), content.size());
  };
  add_segment(1, 0, blocks.size(), blocks);
  for (const MadeRing& ring : rings) {
    add_segment(2, ring.thread, std::uint64_t{ring.epoch} << 32U | ring.records.size(),
                ring.records);
  }
  return bytes;
}

// A folder that vanishes with the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/iotune-read-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name, const std::vector<std::byte>& bytes) const {
    const std::string path = path_ + "/" + name;
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace iotune::recorder::made
