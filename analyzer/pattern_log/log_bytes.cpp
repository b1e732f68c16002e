#include "analyzer/pattern_log/log_bytes.h"

#include <algorithm>
#include <array>

#include "patterns/bytes.h"

namespace iotune::analyzer::pattern_log {
namespace {

// Stands before each section of a log that has several, and then its length as a varint. The only
// one of a log begins with its own mark.
constexpr auto kInTurn = std::byte{0xb5};
// With these began the sections of the first format.
constexpr std::byte kOlder[] = {std::byte{0xb3}, std::byte{0xb4}};

}  // namespace

const char* why_not_read(std::byte first) noexcept {
  return first == kOlder[0] || first == kOlder[1]
             ? "is a pattern log of format 1, this is format 2: to be made from its trace again"
             : "is no pattern log, or damaged";
}

void append_section(const std::vector<std::byte>& section, bool alone,
                    std::vector<std::byte>& log) {
  if (!alone) {
    log.push_back(kInTurn);
    std::array<std::byte, patterns::kMaxVarintBytes> length;
    patterns::ByteWriter to(length);
    to.varint(section.size());
    log.insert(log.end(), to.written().begin(), to.written().end());
  }
  log.insert(log.end(), section.begin(), section.end());
}

std::optional<SectionPlace> section_place(std::span<const std::byte> head,
                                          std::uint64_t bytes_left) {
  patterns::ByteReader in(head);
  const auto kind = std::byte{in.u8()};
  if (in.failed()) return std::nullopt;
  if (std::to_integer<unsigned>(kind) >> 4U == kSectionMark) {
    return SectionPlace{0, bytes_left, true};
  }
  if (kind != kInTurn) return std::nullopt;
  const std::uint64_t length = in.varint();
  const std::size_t begin = head.size() - in.bytes_left();
  if (in.failed() || length > bytes_left - begin) return std::nullopt;
  return SectionPlace{begin, length, false};
}

bool find_sections(std::span<const std::byte> log,
                   std::vector<std::span<const std::byte>>& sections) {
  std::size_t at = 0;
  while (at < log.size()) {
    const auto rest = log.subspan(at);
    const auto place =
        section_place(rest.first(std::min<std::size_t>(rest.size(), 11)), rest.size());
    if (!place || (place->last && at != 0)) return false;
    sections.push_back(rest.subspan(place->begin, static_cast<std::size_t>(place->bytes)));
    at += place->begin + static_cast<std::size_t>(place->bytes);
  }
  return !sections.empty();
}

}  // namespace iotune::analyzer::pattern_log
