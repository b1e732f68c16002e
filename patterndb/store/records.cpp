#include "patterndb/store/records.h"

namespace iotune::patterndb {

FileLayer file_layer_named(const std::string& name) {
  if (name == "mpiio") return FileLayer::kMpiIo;
  return name == "posix" ? FileLayer::kPosix : FileLayer::kHdf5;
}

Platform platform_of_layer(Platform platform, FileLayer layer) {
  constexpr char kNone[] = "none";
  if (layer != FileLayer::kHdf5) platform.hdf5 = kNone;
  if (layer == FileLayer::kPosix) platform.mpi = kNone;
  return platform;
}

std::optional<State> state_named(std::string_view name) {
  for (unsigned i = 0; i < IOTUNE_STATES; ++i) {
    if (name == kStateNames[i]) return static_cast<State>(i);
  }
  return std::nullopt;
}

}  // namespace iotune::patterndb
