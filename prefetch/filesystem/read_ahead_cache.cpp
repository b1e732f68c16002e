#include "prefetch/filesystem/read_ahead_cache.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <new>

namespace iotune::prefetch {
namespace {

constexpr PieceRules kRules{.unit_bytes = 4096, .short_ends_file = true};
// Of one read, for which the kernel takes no more than a piece's bytes.
constexpr unsigned kMostParts = static_cast<unsigned>(kPieceBytes / kRules.unit_bytes) + 1;
constexpr off_t kWholeFile = std::numeric_limits<off_t>::max();

}  // namespace

// Its pieces do not overlap.
struct ReadAheadCache::File : PieceIndex {
  Identity identity;
  unsigned holders = 0, changes = 0;
  bool size_known = false;
  std::uint64_t bytes = 0;
};

ReadAheadCache::Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(mapped);
}

ReadAheadCache::Memory::~Memory() {
  munmap(begin_, bytes_);
}

void ReadAheadCache::Memory::give_back() const {
  madvise(begin_, bytes_, MADV_DONTNEED);
}

ReadAheadCache::ReadAheadCache(std::uint64_t memory_bytes, unsigned threads, RequestDelay& delay)
    : delay_(delay),
      units_(static_cast<unsigned>(std::max<std::uint64_t>(memory_bytes / kRules.unit_bytes, 1))),
      heads_(PieceTable::heads_bytes(units_)),
      room_(std::size_t{units_} * kRules.unit_bytes) {
  table_.use(heads_.begin(), room_.begin(), units_, kRules);
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
  if (files_.empty()) room_.give_back();
}

void ReadAheadCache::end(AheadReader& reader) {
  std::unique_lock lock(mutex_);
  for (const PieceName& name : queue_) {
    const Piece* const piece = table_.named(name);
    if (piece != nullptr && piece->state == PieceState::kWanted && piece->reader == &reader) {
      table_.drop(name.number);
    }
  }
  fetched_.wait(lock, [&] { return reader.in_flight == 0; });
  table_.leave(reader);
}

void ReadAheadCache::request(File& file, AheadReader& reader, const patterns::Extent& extent) {
  const std::lock_guard lock(mutex_);
  if (file.changes != 0) return;
  off_t at = extent.offset;
  const off_t end = extent.offset + extent.length;
  const unsigned before = table_.last_before(file, at + 1);
  if (before != kNoPiece) at = std::max(at, table_.piece(before).end());
  while (at < end) {
    const unsigned next = table_.first_from(file, at);
    const off_t free_until =
        next == kNoPiece ? end : std::min<off_t>(end, table_.piece(next).offset);
    // To make room for one may end the next.
    const off_t next_end = next == kNoPiece ? end : table_.piece(next).end();
    for (; at < free_until; at += std::min<off_t>(kPieceBytes, free_until - at)) {
      add(file, reader, at, std::min<off_t>(at + kPieceBytes, free_until));
    }
    at = next_end;
  }
}

void ReadAheadCache::add(File& file, AheadReader& reader, off_t from, off_t to) {
  const PieceName name = table_.add(file, &reader, {from, to - from}, RequestDelay::monotonic_ns());
  if (name.number == kNoPiece) return;
  queue_.push_back(name);
  queued_.notify_one();
}

// Also what ended with the file: where that ends may change.
void ReadAheadCache::forget_range(File& file, off_t from, off_t to) {
  for (unsigned next = table_.first_from(file, 0); next != kNoPiece;) {
    const unsigned number = next;
    next = table_.after(file, number);
    const Piece& piece = table_.piece(number);
    const bool cut = piece.state != PieceState::kReady || piece.bytes < piece.wanted;
    if (cut || (piece.offset < to && piece.end() > from)) table_.drop(number);
  }
}

ssize_t ReadAheadCache::take(File& file, AheadReader& reader, char* buffer, std::size_t size,
                             off_t offset) {
  FoundPart parts[kMostParts];
  unsigned count = 0;
  bool waited = false;
  std::unique_lock lock(mutex_);
  ++totals_.reads;
  ++reader.reads;
  if (size == 0) return -1;
  for (;;) {
    if (file.changes != 0) return -1;
    const Found found =
        table_.find(file, {offset, static_cast<std::int64_t>(size)}, parts, kMostParts, count);
    if (found == Found::kNothing) return -1;
    if (found == Found::kWhole) break;
    waited = true;
    fetched_.wait(lock);
  }
  std::size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) table_.hold(parts[i].piece.number);
  lock.unlock();
  for (unsigned i = 0; i < count; ++i) {
    std::memcpy(buffer + bytes, parts[i].bytes, parts[i].length);
    bytes += parts[i].length;
  }
  lock.lock();
  for (unsigned i = 0; i < count; ++i) {
    totals_.used_bytes += table_.use_bytes(parts[i].piece.number, parts[i].length);
    table_.let_go(parts[i].piece.number);
  }
  ++totals_.hits;
  totals_.waited += waited ? 1 : 0;
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
    const PieceName name = queue_.front();
    queue_.pop_front();
    Piece* const piece = table_.named(name);
    if (piece == nullptr || piece->state != PieceState::kWanted) continue;
    table_.begin_filling(name.number);
    AheadReader& reader = *static_cast<AheadReader*>(piece->reader);
    ++reader.in_flight;
    std::byte* const memory = table_.memory_of(name.number);
    const off_t offset = piece->offset;
    const std::size_t wanted = piece->wanted;
    lock.unlock();
    const std::uint64_t began = RequestDelay::monotonic_ns();
    ssize_t bytes = 0;
    struct stat status {};
    while (bytes < static_cast<ssize_t>(wanted)) {
      const ssize_t part = pread(reader.fd, memory + bytes,
                                 wanted - static_cast<std::size_t>(bytes), offset + bytes);
      if (part < 0) bytes = -1;
      if (part <= 0) break;
      bytes += part;
    }
    const bool sized = fstat(reader.fd, &status) == 0;
    delay_.wait(began, bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
    lock.lock();
    --reader.in_flight;
    totals_.fetched_bytes += bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
    if (sized && bytes >= 0 && piece->state == PieceState::kFilling) {
      File& file = *static_cast<File*>(piece->index);
      file.bytes = static_cast<std::uint64_t>(status.st_size);
      file.size_known = true;
    }
    // A failure is the program's own to see, when it reads there.
    table_.end_filling(name.number, bytes);
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
