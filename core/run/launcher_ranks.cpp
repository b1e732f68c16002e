#include "core/run/launcher_ranks.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/os/short_text.h"

namespace iotune {
namespace {

// Ranks on this node and in all: of Hydra and of Open MPI.
constexpr const char* kPairs[][2] = {{"MPI_LOCALNRANKS", "PMI_SIZE"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"}};

// Slurm's list of ranks a node, "4(x2),3": the entry of the step's node number `node`.
std::uint64_t entry_of_node(const char* list, std::uint64_t node) noexcept {
  for (const char* at = list; *at >= '0' && *at <= '9';) {
    const std::uint64_t ranks = parse_decimal(at);
    at += std::strspn(at, "0123456789");
    std::uint64_t nodes = 1;
    if (starts_with(at, "(x")) {
      nodes = parse_decimal(at + 2);
      at += std::strcspn(at, ",");
    }
    if (node < nodes) return ranks;
    node -= nodes;
    if (*at == ',') ++at;
  }
  return 0;
}

}  // namespace

std::uint64_t ranks_on_this_node() noexcept {
  for (const auto& pair : kPairs) {
    const char* const local = std::getenv(pair[0]);
    if (local != nullptr && std::getenv(pair[1]) != nullptr) return parse_decimal(local);
  }
  const char* const list = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  const char* const node = std::getenv("SLURM_NODEID");
  if (list == nullptr || node == nullptr || std::getenv("SLURM_PROCID") == nullptr) return 0;
  return entry_of_node(list, parse_decimal(node));
}

bool launcher_says_one_node() noexcept {
  for (const auto& pair : kPairs) {
    const char* const local = std::getenv(pair[0]);
    const char* const all = std::getenv(pair[1]);
    if (local != nullptr && all != nullptr) return std::strcmp(local, all) == 0;
  }
  const char* const nodes = std::getenv("SLURM_STEP_NUM_NODES");
  return nodes != nullptr && std::strcmp(nodes, "1") == 0;
}

bool launched_as_one_of_several() noexcept {
  for (const char* const name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}) {
    const char* const size = std::getenv(name);
    if (size != nullptr && std::strcmp(size, "1") != 0) return true;
  }
  return false;
}

}  // namespace iotune
