// How sections follow each other in a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace iotune::analyzer::pattern_log {

// What the first four bits of each section are.
inline constexpr unsigned kSectionMark = 0xd;

// Why a log that begins so is not read.
const char* why_not_read(std::byte first) noexcept;

// Appends a section. `alone`: it is the first and the last.
void append_section(const std::vector<std::byte>& section, bool alone, std::vector<std::byte>& log);

// Where the coded bytes of a section lie, from its first byte on.
struct SectionPlace {
  std::size_t begin;
  std::uint64_t bytes;
  bool last;  // it says that it is the log's only one
};

// `head`: the first bytes of the section, as many as there are up to 11; `bytes_left`: of the log
// from there on. Nothing on damage.
std::optional<SectionPlace> section_place(std::span<const std::byte> head,
                                          std::uint64_t bytes_left);

// The sections of a log. False on damage.
bool find_sections(std::span<const std::byte> log,
                   std::vector<std::span<const std::byte>>& sections);

}  // namespace iotune::analyzer::pattern_log
