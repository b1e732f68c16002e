#include "patterndb/store/records.h"

namespace iotune::patterndb {

namespace {

struct StateName {
  State state;
  const char* name;
};
constexpr StateName kStates[] = {{State::kUntrained, "untrained"},
                                 {State::kDefaultIsBest, "default-is-best"},
                                 {State::kTuned, "tuned"},
                                 {State::kReverted, "reverted"},
                                 {State::kRefused, "refused"}};

}  // namespace

const char* state_name(State state) {
  for (const StateName& known : kStates) {
    if (known.state == state) return known.name;
  }
  return "untrained";
}

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

std::optional<State> state_named(const std::string& name) {
  for (const StateName& known : kStates) {
    if (name == known.name) return known.state;
  }
  return std::nullopt;
}

}  // namespace iotune::patterndb
