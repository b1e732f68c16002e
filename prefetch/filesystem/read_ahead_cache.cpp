#include "prefetch/filesystem/read_ahead_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <new>

namespace iotune::prefetch {
namespace {

// One read of the storage; the kernel asks for no more at once either.
constexpr off_t kPieceBytes = 1 << 20;
// What has not been asked for after so many reads of its descriptor, or so long, never will be.
constexpr std::uint64_t kReadsUntilVain = 128, kNsUntilVain = 5'000'000'000;
constexpr off_t kWholeFile = std::numeric_limits<off_t>::max();

}  // namespace

struct ReadAheadCache::File {
  Identity identity;
  unsigned holders = 0, changes = 0;
  bool size_known = false;
  std::uint64_t bytes = 0;
  std::map<off_t, PieceRef> pieces;  // by offset; none overlaps another
};

ReadAheadCache::ReadAheadCache(std::uint64_t memory_bytes, unsigned threads, RequestDelay& delay)
    : memory_bytes_(memory_bytes), delay_(delay) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ReadAheadCache::~ReadAheadCache() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  queued_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

ReadAheadCache::File* ReadAheadCache::enter_locked(const Identity& identity) {
  std::unique_ptr<File>& file = files_[identity];
  if (file == nullptr) {
    file = std::make_unique<File>();
    file->identity = identity;
  }
  ++file->holders;
  return file.get();
}

ReadAheadCache::File* ReadAheadCache::enter(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  const std::lock_guard lock(mutex_);
  return enter_locked({status.st_dev, status.st_ino});
}

void ReadAheadCache::leave(File* file) {
  if (file == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (--file->holders != 0) return;
  // Nobody has it open: it may be changed beside us from here on.
  forget_range(*file, 0, kWholeFile);
  files_.erase(file->identity);
}

void ReadAheadCache::end(AheadReader& reader) {
  std::unique_lock lock(mutex_);
  const std::deque<PieceRef> queue = queue_;
  for (const PieceRef& piece : queue) {
    if (piece->reader == &reader) forget(piece);
  }
  fetched_.wait(lock, [&] { return reader.in_flight == 0; });
  for (const PieceRef& piece : ready_) {
    if (piece->reader == &reader) piece->reader = nullptr;
  }
}

void ReadAheadCache::request(File& file, AheadReader& reader, const patterns::Extent& extent) {
  const std::lock_guard lock(mutex_);
  if (file.changes != 0) return;
  off_t at = extent.offset;
  const off_t end = extent.offset + extent.length;
  auto next = file.pieces.upper_bound(at);
  if (next != file.pieces.begin()) at = std::max(at, std::prev(next)->second->end());
  while (at < end) {
    const off_t free_until = next == file.pieces.end() ? end : std::min(end, next->first);
    for (; at < free_until; at += std::min(kPieceBytes, free_until - at)) {
      add(file, reader, at, std::min(at + kPieceBytes, free_until));
    }
    if (next == file.pieces.end()) break;
    at = std::max(at, next->second->end());
    ++next;
  }
}

void ReadAheadCache::add(File& file, AheadReader& reader, off_t from, off_t to) {
  const auto wanted = static_cast<std::size_t>(to - from);
  if (!make_room(wanted)) return;
  auto piece = std::make_shared<Piece>();
  piece->file = &file;
  piece->reader = &reader;
  piece->offset = from;
  piece->wanted = wanted;
  piece->at_read = reader.reads;
  piece->born_ns = RequestDelay::monotonic_ns();
  held_bytes_ += wanted;
  file.pieces.emplace(from, piece);
  queue_.push_back(std::move(piece));
  queued_.notify_one();
}

// What was used goes first, then what will not be any more; never what is still waited for.
bool ReadAheadCache::make_room(std::size_t bytes) {
  const std::uint64_t now = RequestDelay::monotonic_ns();
  for (auto at = ready_.begin(); held_bytes_ + bytes > memory_bytes_ && at != ready_.end();) {
    const PieceRef piece = *at++;
    const bool vain = piece->reader == nullptr ||
                      piece->reader->reads > piece->at_read + kReadsUntilVain ||
                      now > piece->born_ns + kNsUntilVain;
    if (piece->used == piece->bytes || vain) forget(piece);
  }
  return held_bytes_ + bytes <= memory_bytes_;
}

void ReadAheadCache::forget(const PieceRef& piece) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may lie in what is erased
  const PieceRef kept = piece;
  if (kept->forgotten) return;
  kept->forgotten = true;
  kept->file->pieces.erase(kept->offset);
  held_bytes_ -= kept->wanted;
  if (kept->state == State::kQueued) std::erase(queue_, kept);
  if (kept->state == State::kReady) ready_.erase(kept->place);
}

// Also what ended with the file: where that ends may change.
void ReadAheadCache::forget_range(File& file, off_t from, off_t to) {
  for (auto at = file.pieces.begin(); at != file.pieces.end();) {
    const PieceRef piece = at->second;
    ++at;
    const bool cut = piece->state != State::kReady || piece->bytes < piece->wanted;
    if (cut || (piece->offset < to && piece->end() > from)) forget(piece);
  }
}

ssize_t ReadAheadCache::take(File& file, AheadReader& reader, char* buffer, std::size_t size,
                             off_t offset) {
  std::vector<PieceRef> pieces;
  const off_t end = offset + static_cast<off_t>(size);
  std::unique_lock lock(mutex_);
  ++totals_.reads;
  ++reader.reads;
  if (file.changes != 0 || size == 0) return -1;
  auto found = file.pieces.upper_bound(offset);
  if (found != file.pieces.begin() && std::prev(found)->second->end() > offset) --found;
  off_t covered = offset;
  bool whole = true;
  for (; covered < end && found != file.pieces.end() && found->first <= covered; ++found) {
    whole = whole && found->second->state != State::kQueued;
    pieces.push_back(found->second);
    covered = found->second->end();
    if (found->second->state == State::kReady && found->second->bytes < found->second->wanted) {
      covered = end;  // the file ends there
    }
  }
  if (covered < end || !whole) {
    for (const PieceRef& piece : pieces) {
      if (piece->state == State::kQueued) forget(piece);
    }
    return -1;
  }
  bool waited = false;
  for (const PieceRef& piece : pieces) {
    waited = waited || piece->state == State::kReading;
    fetched_.wait(lock, [&] { return piece->state == State::kReady || piece->forgotten; });
    // Changed meanwhile, or it could not be read.
    if (piece->forgotten) return -1;
  }
  std::size_t bytes = 0;
  for (const PieceRef& piece : pieces) {
    const off_t from = std::max(offset, piece->offset);
    const off_t to = std::min(end, piece->offset + static_cast<off_t>(piece->bytes));
    if (to > from) {
      const auto part = static_cast<std::size_t>(to - from);
      const std::size_t fresh = std::min(part, piece->bytes - piece->used);
      piece->used += fresh;
      totals_.used_bytes += fresh;
      bytes = static_cast<std::size_t>(to - offset);
    }
    if (piece->bytes < piece->wanted) break;
  }
  ++totals_.hits;
  totals_.waited += waited ? 1 : 0;
  lock.unlock();
  // A piece that is ready is not written to any more, and is ours as long as we have it.
  for (const PieceRef& piece : pieces) {
    const off_t from = std::max(offset, piece->offset);
    const off_t to = std::min(offset + static_cast<off_t>(bytes), piece->end());
    if (to <= from) break;
    std::memcpy(buffer + (from - offset), piece->memory.get() + (from - piece->offset),
                static_cast<std::size_t>(to - from));
  }
  return static_cast<ssize_t>(bytes);
}

std::uint64_t ReadAheadCache::file_bytes(File& file, int fd) {
  {
    const std::lock_guard lock(mutex_);
    if (file.size_known) return file.bytes;
  }
  struct stat status {};
  if (fstat(fd, &status) != 0) return 0;
  const std::lock_guard lock(mutex_);
  file.size_known = true;
  return file.bytes = static_cast<std::uint64_t>(status.st_size);
}

ReadAheadCache::Totals ReadAheadCache::totals() {
  const std::lock_guard lock(mutex_);
  return totals_;
}

void ReadAheadCache::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    queued_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (ends_) return;
    const PieceRef piece = queue_.front();
    queue_.pop_front();
    piece->state = State::kReading;
    AheadReader& reader = *piece->reader;
    ++reader.in_flight;
    lock.unlock();
    const std::uint64_t began = RequestDelay::monotonic_ns();
    piece->memory.reset(new (std::nothrow) char[piece->wanted]);
    ssize_t bytes = piece->memory == nullptr ? -1 : 0;
    struct stat status {};
    while (bytes >= 0 && bytes < static_cast<ssize_t>(piece->wanted)) {
      const ssize_t part =
          pread(reader.fd, piece->memory.get() + bytes,
                piece->wanted - static_cast<std::size_t>(bytes), piece->offset + bytes);
      if (part < 0) bytes = -1;
      if (part <= 0) break;
      bytes += part;
    }
    const bool sized = fstat(reader.fd, &status) == 0;
    delay_.wait(began, bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
    lock.lock();
    --reader.in_flight;
    totals_.fetched_bytes += bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
    // A failure is the program's own to see, when it reads there.
    if (bytes < 0) forget(piece);
    if (!piece->forgotten) {
      piece->bytes = static_cast<std::size_t>(bytes);
      piece->state = State::kReady;
      piece->place = ready_.insert(ready_.end(), piece);
      if (sized) {
        piece->file->bytes = static_cast<std::uint64_t>(status.st_size);
        piece->file->size_known = true;
      }
    }
    fetched_.notify_all();
  }
}

ReadAheadCache::Change::Change(ReadAheadCache* cache, const char* path)
    : cache_(cache), file_(nullptr) {
  struct stat status {};
  if (cache != nullptr && stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
    const std::lock_guard lock(cache->mutex_);
    file_ = cache->enter_locked({status.st_dev, status.st_ino});
    entered_ = true;
  }
  begin();
}

void ReadAheadCache::Change::begin() {
  to_ = kWholeFile;
  if (file_ == nullptr) return;
  const std::lock_guard lock(cache_->mutex_);
  ++file_->changes;
}

void ReadAheadCache::Change::only(off_t offset, std::size_t bytes) noexcept {
  from_ = offset;
  to_ = offset + static_cast<off_t>(bytes);
}

ReadAheadCache::Change::~Change() {
  if (file_ == nullptr) return;
  {
    const std::lock_guard lock(cache_->mutex_);
    --file_->changes;
    file_->size_known = false;
    cache_->forget_range(*file_, from_, to_);
  }
  cache_->fetched_.notify_all();
  if (entered_) cache_->leave(file_);
}

}  // namespace iotune::prefetch
