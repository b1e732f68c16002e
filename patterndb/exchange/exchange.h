// Constants of the JSON that export_json() writes and import_json() reads. docs/database.md.
#pragma once

#include <cstdint>

namespace iotune::patterndb {

inline constexpr char kExchangeFormat[] = "iotune-patterns";
inline constexpr std::uint64_t kExchangeVersion = 4;  // 1 to 3 are read too

}  // namespace iotune::patterndb
