#include "prefetch/filesystem/read_stream.h"

#include <algorithm>
#include <new>
#include <span>

#include "patterns/bytes.h"
#include "patterns/predict/best_predictor.h"
#include "patterns/predict/recorded_plan.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;

constexpr std::size_t kMostPlanned = std::size_t{1} << 20;

std::byte* bytes_of(std::vector<std::max_align_t>& memory) {
  return reinterpret_cast<std::byte*>(memory.data());
}

}  // namespace

ReadStream::ReadStream(Prefetching& shared, ReadAheadCache::File& file, int fd,
                       const std::string& path)
    : shared_(shared), file_(file), key_(shared.models.enter(path)) {
  reader_.fd = fd;
}

ReadStream::~ReadStream() {
  shared_.cache.end(reader_);
  shared_.models.leave(key_, learned());
}

void ReadStream::start() {
  patterns::PredictorOptions how;
  earlier_ = shared_.models.find(key_);
  if (earlier_ != nullptr) how.earlier = *earlier_;
  const std::size_t bytes = shared_.kind.bytes(how);
  predictor_.resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  const std::span<std::byte> memory(bytes_of(predictor_),
                                    predictor_.size() * sizeof(std::max_align_t));
  shared_.kind.start(memory, how);
  stream_.emplace(shared_.kind, bytes_of(predictor_), shared_.limits, earlier_ != nullptr);
}

std::vector<std::byte> ReadStream::learned() {
  std::vector<std::byte> model;
  if (!stream_) return model;
  if (shared_.kind.keep != nullptr) {
    model.resize(shared_.kind.saved_bytes(bytes_of(predictor_)));
    model.resize(shared_.kind.keep(bytes_of(predictor_), model));
  } else if (shared_.kind.name == "recorded" && earlier_ == nullptr && !plan_.empty()) {
    std::vector<std::byte> scratch(patterns::plan_scratch_bytes());
    model.resize(patterns::plan_bytes_limit(plan_.size()));
    patterns::ByteWriter out(model);
    model.resize(patterns::write_plan(plan_, scratch, out) ? out.bytes_used() : 0);
  }
  return model;
}

ssize_t ReadStream::take(char* buffer, std::size_t size, off_t offset) {
  return shared_.cache.take(file_, reader_, buffer, size, offset);
}

void ReadStream::saw_read(off_t offset, std::int64_t bytes, std::uint64_t arrived_ns) {
  if (bytes <= 0) return;
  const std::uint64_t duration = RequestDelay::monotonic_ns() - arrived_ns;
  Extent requests[prefetch::kMostAhead];
  unsigned count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!stream_) start();
    const Extent access{offset, bytes};
    if (shared_.kind.name == "recorded" && earlier_ == nullptr && plan_.size() < kMostPlanned) {
      plan_.push_back(access);
    }
    const bool wants = stream_->saw_read(access, arrived_ns, duration);
    if (stream_->wants_best()) {
      best_.resize(sizeof(patterns::BestPredictor) / sizeof(std::max_align_t) + 1);
      stream_->go_on_with_best(bytes_of(best_));
    }
    if (!wants) return;
    count = stream_->plan(requests, shared_.cache.file_bytes(file_, reader_.fd));
  }
  for (unsigned i = 0; i < count; ++i) shared_.cache.request(file_, reader_, requests[i]);
}

}  // namespace iotune::prefetch
