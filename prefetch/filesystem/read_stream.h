// The reads of one open file as the predictor sees them, and what it has read ahead of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "prefetch/filesystem/read_ahead_cache.h"
#include "prefetch/filesystem/stream_models.h"
#include "prefetch/streams/stream.h"

namespace iotune::prefetch {

// Reads that take less found their data in memory.
inline constexpr std::uint64_t kQuickNs = 50'000;

// What all streams of a mount share.
struct Prefetching {
  Prefetching(const patterns::PredictorKind& chosen, std::uint64_t memory_bytes, unsigned threads,
              RequestDelay& delay)
      : kind(chosen),
        limits{.quick = kQuickNs, .most_ahead_bytes = memory_bytes / 2},
        cache(memory_bytes, threads, delay) {}

  const patterns::PredictorKind& kind;
  const prefetch::Limits limits;
  StreamModels models;
  ReadAheadCache cache;
};

// Safe from any thread. `file` stays the caller's, and `fd` open, until it is gone.
class ReadStream {
 public:
  ReadStream(Prefetching& shared, ReadAheadCache::File& file, int fd, const std::string& path);
  ~ReadStream();
  ReadStream(const ReadStream&) = delete;
  ReadStream& operator=(const ReadStream&) = delete;

  // As ReadAheadCache::take.
  ssize_t take(char* buffer, std::size_t size, off_t offset);
  // A read that was answered now, wherever from. Times of RequestDelay::monotonic_ns.
  void saw_read(off_t offset, std::int64_t bytes, std::uint64_t arrived_ns);

 private:
  void start();
  std::vector<std::byte> learned();

  Prefetching& shared_;
  ReadAheadCache::File& file_;
  AheadReader reader_;
  std::mutex mutex_;
  StreamModels::Key key_;
  Model earlier_;
  std::vector<std::max_align_t> predictor_;
  std::vector<std::max_align_t> best_;      // where loops explain little
  std::optional<prefetch::Stream> stream_;  // from the first read on
  std::vector<patterns::Extent> plan_;      // of this run, for the next one
};

}  // namespace iotune::prefetch
