#include "logstore/store/compaction.h"

namespace iotune::logstore {

void compact_on_close(const std::string& /*path*/) noexcept {}

}  // namespace iotune::logstore
