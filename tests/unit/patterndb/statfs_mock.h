// statfs() of this test program: says another file system while `type` is set. Network file systems
// cannot be had here; that one is believed to be one can.
#pragma once

#include <cstdint>

namespace iotune::patterndb::testing {

class PretendFilesystem {
 public:
  explicit PretendFilesystem(std::int64_t type) { g_type = type; }
  ~PretendFilesystem() { g_type = 0; }
  PretendFilesystem(const PretendFilesystem&) = delete;
  PretendFilesystem& operator=(const PretendFilesystem&) = delete;

  static inline std::int64_t g_type = 0;
};

inline constexpr std::int64_t kNfs = 0x6969, kLustre = 0x0BD00BD0, kExt4 = 0xEF53,
                              kUnheardOf = 0x12345678;

}  // namespace iotune::patterndb::testing
