// Constants of the JSON that export_json() writes and import_json() reads. docs/database.md.
#pragma once

#include <cstdint>

namespace iotune::patterndb {

inline constexpr char kExchangeFormat[] = "iotune-patterns";
inline constexpr std::uint64_t kExchangeVersion = 5;  // 1 to 4 are read too

}  // namespace iotune::patterndb
