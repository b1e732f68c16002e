#include "gather/account.h"

namespace iotune::gather {
namespace {

// In the order of NotHeld. docs/explain/gather.md lists them.
constexpr const char* kReasons[] = {
    "in pieces larger than 64 KiB, or in one larger than 1 KiB on a local file system",
    "in atomic mode",
    "through a view that is not followed (another representation, or very many pieces)",
    "beyond the memory that may hold them",
    "after an error of the file",
    "with arguments that are the call's own to refuse, or very large counts",
    "in another type than the dataset's",
    "in a collective transfer, or one with other settings",
    "to what is no regular hyperslab",
    "to a dataset of a kind that is not gathered (compact, virtual, filtered in parallel …)",
    "after a call by which others may see the file's bytes at any time",
    "because its log could not be written",
};
static_assert(sizeof kReasons / sizeof *kReasons == static_cast<std::size_t>(NotHeld::kCount));

}  // namespace

void Account::note(void (*write)(const GatherNote& note), const char* file,
                   std::uint64_t waiting_bytes) const noexcept {
  GatherNote held{file, "", 0, counts};
  held.counts.waiting_bytes = waiting_bytes;
  write(held);
  for (std::size_t i = 0; i < sizeof kReasons / sizeof *kReasons; ++i) {
    if (not_held_[i] > 0) write({file, kReasons[i], not_held_[i], {}});
  }
}

void note_refused(void (*write)(const GatherNote& note), const char* file,
                  const char* reason) noexcept {
  write({file, reason, 0, {}});
}

}  // namespace iotune::gather
