#include "prefetch/baselines/pre_execution.h"

#include <algorithm>

#include "core/os/raw_syscall.h"
#include "prefetch/preload/program_transfers.h"

namespace iotune::prefetch {
namespace {

// PPIS looks at its flag between blocks of this size.
constexpr std::int64_t kBlockBytes = 1 << 20;

long read_block(int fd, std::byte* block, const patterns::Extent& wanted) noexcept {
  return raw::call(SYS_pread64, fd, raw::word(block), std::min(kBlockBytes, wanted.length),
                   wanted.offset);
}

}  // namespace

constinit const Schedule kPp{.name = "pp", .read_block = read_block, .block_bytes = kBlockBytes};
constinit const Schedule kPpis{.name = "ppis",
                               .wait_for_turn = wait_for_program,
                               .read_block = read_block,
                               .block_bytes = kBlockBytes};

}  // namespace iotune::prefetch
