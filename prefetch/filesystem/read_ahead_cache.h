// What was read ahead of the programs, in bounded memory, and the threads that read it: pieces
// (piece_table.h), each of one file, which stay when they were read until there is need of room.
//
// Nothing stale is ever served: a file is known by its inode, everybody who changes it through the
// mount holds a Change meanwhile, and what was read, or begun to be read, before its end is
// forgotten. Who changes the root beside the mount is outside of this.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "patterns/extent.h"
#include "prefetch/cache/piece_table.h"
#include "prefetch/filesystem/request_delay.h"

namespace iotune::prefetch {

// One descriptor that is read ahead on. Its fields are the cache's.
struct AheadReader : PieceReader {
  int fd = -1;
  unsigned in_flight = 0;
};

class ReadAheadCache {
 public:
  struct File;

  struct Totals {
    std::uint64_t reads = 0;
    std::uint64_t hits = 0;    // served whole from memory
    std::uint64_t waited = 0;  // hits that waited for a read that was under way
    std::uint64_t fetched_bytes = 0, used_bytes = 0;
  };

  // `delay`: what a read of the storage takes; it outlives the cache.
  ReadAheadCache(std::uint64_t memory_bytes, unsigned threads, RequestDelay& delay);
  ~ReadAheadCache();
  ReadAheadCache(const ReadAheadCache&) = delete;
  ReadAheadCache& operator=(const ReadAheadCache&) = delete;

  // The file of a descriptor; nullptr where it is no regular one. Each needs its leave().
  File* enter(int fd);
  void leave(File* file);
  // Returns once no read on the reader's descriptor is under way nor will be.
  void end(AheadReader& reader);

  // Has the extent read, what of it is not there already and there is memory for.
  void request(File& file, AheadReader& reader, const patterns::Extent& extent);
  // Bytes put into `buffer`, fewer than `size` at the end of the file only; -1: it is not there,
  // and is the caller's to read. What is there in part only, or not begun, is taken over by the
  // caller; what is under way is waited for.
  ssize_t take(File& file, AheadReader& reader, char* buffer, std::size_t size, off_t offset);

  // As of late: what it says bounds requests, nothing more.
  std::uint64_t file_bytes(File& file, int fd);
  Totals totals();

  // A change of a file, from before it is begun until after it is made.
  class Change {
   public:
    Change(ReadAheadCache* cache, File* file) : cache_(cache), file_(file) { begin(); }
    // Of the file that has this name now, if there is one.
    Change(ReadAheadCache* cache, const char* path);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    // Only these bytes change, and the size if it grows.
    void only(off_t offset, std::size_t bytes) noexcept;

   private:
    void begin();
    ReadAheadCache* cache_;
    File* file_;
    bool entered_ = false;
    off_t from_ = 0, to_;
  };

 private:
  using Identity = std::pair<dev_t, ino_t>;
  // Zeroed memory of the cache's own, which takes none before it is written to.
  class Memory {
   public:
    explicit Memory(std::size_t bytes);  // throws std::bad_alloc
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* begin() const { return begin_; }
    void give_back() const;  // it stays mapped, and what was in it is lost

   private:
    std::byte* begin_;
    std::size_t bytes_;
  };

  File* enter_locked(const Identity& identity);
  void add(File& file, AheadReader& reader, off_t from, off_t to);
  void forget_range(File& file, off_t from, off_t to);
  void serve();

  RequestDelay& delay_;
  const unsigned units_;
  const Memory heads_, room_;
  std::mutex mutex_;
  std::condition_variable queued_, fetched_;
  std::map<Identity, std::unique_ptr<File>> files_;
  PieceTable table_;
  std::deque<PieceName> queue_;  // some may be gone
  Totals totals_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace iotune::prefetch
