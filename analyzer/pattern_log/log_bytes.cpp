#include "analyzer/pattern_log/log_bytes.h"

#include <array>

#include "patterns/bytes.h"

namespace iotune::analyzer::pattern_log {
namespace {

// The first byte of each section.
constexpr auto kAlone = std::byte{0xb1};   // the rest of the log is this section
constexpr auto kInTurn = std::byte{0xb2};  // varint length, the section

}  // namespace

void append_section(const std::vector<std::byte>& section, bool alone,
                    std::vector<std::byte>& log) {
  log.push_back(alone ? kAlone : kInTurn);
  if (!alone) {
    std::array<std::byte, patterns::kMaxVarintBytes> length;
    patterns::ByteWriter to(length);
    to.varint(section.size());
    log.insert(log.end(), to.written().begin(), to.written().end());
  }
  log.insert(log.end(), section.begin(), section.end());
}

bool find_sections(std::span<const std::byte> log,
                   std::vector<std::span<const std::byte>>& sections) {
  patterns::ByteReader in(log);
  while (in.bytes_left() > 0) {
    const auto head = std::byte{in.u8()};
    if (head == kAlone && sections.empty()) {
      sections.push_back(in.take(in.bytes_left()));
      return true;
    }
    if (head != kInTurn) return false;
    const std::uint64_t length = in.varint();
    if (in.failed() || length > in.bytes_left()) return false;
    sections.push_back(in.take(length));
  }
  return !sections.empty();
}

}  // namespace iotune::analyzer::pattern_log
