#include "recorder/read/trace_blocks/block_scan.h"

#include <algorithm>
#include <array>

#include "patterns/bytes.h"
#include "patterns/crc32c.h"

namespace iotune::recorder {
namespace {

struct Head {
  std::uint32_t magic, type_word, bytes, crc;
  std::uint64_t whole() const {
    return (kBlockHeadBytes + std::uint64_t{bytes} + kBlockAlignment - 1) / kBlockAlignment *
           kBlockAlignment;
  }
};

class Scanner {
 public:
  Scanner(const InputFile& file, std::uint64_t begin, std::uint64_t end, BlockScan& scan)
      : file_(file), at_(begin), end_(std::min(end, file.size())), scan_(scan) {}

  void run() {
    while (at_ < end_) {
      Head head{};
      if (good_block(at_, head)) {
        scan_.blocks.push_back({static_cast<std::uint8_t>(head.type_word), at_ + kBlockHeadBytes,
                                head.bytes, orphan_});
        if (head.type_word == static_cast<std::uint32_t>(BlockType::kProcess)) orphan_ = false;
        at_ += head.whole();
      } else {
        skip();
      }
    }
  }

 private:
  void skip() {
    const std::uint64_t begin = at_;
    Head claimed{};
    const bool has_head = read_head(begin, claimed);
    std::uint64_t last_nonzero = begin;
    Head next{};
    bool found = false;
    while (at_ < end_ && !found) {
      if (!is_zero(at_)) last_nonzero = at_ + kBlockAlignment;
      at_ += kBlockAlignment;
      found = at_ < end_ && good_block(at_, next);
    }
    const std::uint64_t lost_end = found ? at_ : std::min(last_nonzero, end_);
    if (lost_end <= begin) return;
    if (scan_.skipped_bytes == 0) scan_.first_skipped = begin;
    scan_.skipped_bytes += lost_end - begin;
    // One damaged block that still says what it was leaves no doubt about the next one.
    const bool no_process = claimed.type_word == static_cast<std::uint32_t>(BlockType::kEvents) ||
                            claimed.type_word == static_cast<std::uint32_t>(BlockType::kMarks) ||
                            claimed.type_word == static_cast<std::uint32_t>(BlockType::kEnd);
    const bool known =
        has_head && claimed.magic == kBlockMagic && no_process && begin + claimed.whole() == at_;
    if (!known) orphan_ = true;
  }

  bool good_block(std::uint64_t at, Head& head) {
    if (!read_head(at, head) || head.magic != kBlockMagic || head.type_word > 0xff ||
        head.bytes > kMaxPayloadBytes || at + kBlockHeadBytes + head.bytes > end_) {
      return false;
    }
    std::array<std::byte, 8> covered{};
    patterns::ByteWriter writer(covered);
    writer.u32le(head.type_word);
    writer.u32le(head.bytes);
    std::uint32_t crc = patterns::crc32c(covered.data(), covered.size());
    std::uint64_t next = at + kBlockHeadBytes, left = head.bytes;
    while (left > 0) {
      const std::span<const std::byte> bytes = window(next);
      const std::size_t take =
          static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left));
      if (take == 0) return false;
      crc = patterns::crc32c(bytes.data(), take, crc);
      next += take;
      left -= take;
    }
    return crc == head.crc;
  }

  bool read_head(std::uint64_t at, Head& head) {
    if (at + kBlockHeadBytes > end_) return false;
    const std::span<const std::byte> bytes = window(at, kBlockHeadBytes);
    patterns::ByteReader reader(bytes);
    head.magic = reader.u32le();
    head.type_word = reader.u32le();
    head.bytes = reader.u32le();
    head.crc = reader.u32le();
    return !reader.failed();
  }

  bool is_zero(std::uint64_t at) {
    const std::span<const std::byte> bytes = window(at, kBlockAlignment);
    const std::size_t size = std::min<std::size_t>(bytes.size(), kBlockAlignment);
    return std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size),
                       [](std::byte b) { return b == std::byte{0}; });
  }

  // The file's bytes from `at` on, `least` of them where the file has as many.
  std::span<const std::byte> window(std::uint64_t at, std::size_t least = 1) {
    if (at < window_at_ || at + least > window_at_ + window_bytes_) {
      window_at_ = at;
      window_bytes_ = file_.read(at, buffer_);
    }
    return std::span<const std::byte>(buffer_).subspan(at - window_at_,
                                                       window_at_ + window_bytes_ - at);
  }

  const InputFile& file_;
  std::uint64_t at_, end_;
  BlockScan& scan_;
  bool orphan_ = false;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(64U << 10U);
  std::uint64_t window_at_ = 0;
  std::size_t window_bytes_ = 0;
};

}  // namespace

void scan_blocks(const InputFile& file, std::uint64_t begin, std::uint64_t end, BlockScan& scan) {
  Scanner(file, begin, end, scan).run();
}

}  // namespace iotune::recorder
