// How sections follow each other in a log.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace iotune::analyzer::pattern_log {

// Appends a section. `alone`: it is the first and the last.
void append_section(const std::vector<std::byte>& section, bool alone, std::vector<std::byte>& log);

// The sections of a log. False on damage.
bool find_sections(std::span<const std::byte> log,
                   std::vector<std::span<const std::byte>>& sections);

}  // namespace iotune::analyzer::pattern_log
