// Cache delivery's side of the storage: what was predicted becomes pieces (read_cache.h), and
// threads of ours read them by the program's own descriptor. They are as the helper
// (helper_thread.h).
#pragma once

#include <atomic>

#include "patterns/extent.h"
#include "prefetch/cache/written_files.h"
#include "prefetch/preload/stream_slots.h"

namespace iotune::prefetch {

// By the constructor. False where nothing can be cached, which has been said.
bool set_up_caching(const PrefetchHost& host, const PrefetchOptions& options) noexcept;
void rank_begins() noexcept;  // before MPI_Init

// The file of a descriptor that the caller holds, as it is now, where it may be cached.
struct CachedFile {
  FileStamp stamp;
  std::uint64_t word = 0;
  std::uint64_t now_ns = 0;
};
// By the helper alone. False: hints are to be given.
bool may_be_cached(int fd, CachedFile& file) noexcept;

// What of the extent there was no room for.
patterns::Extent read_into_cache(const StreamSlot& slot, const CachedFile& file,
                                 const patterns::Extent& extent) noexcept;

// Nothing may be served any more, nor read ahead into the cache; `why` is said once.
void end_caching(const char* why) noexcept;
extern std::atomic<bool> g_caches;

}  // namespace iotune::prefetch
