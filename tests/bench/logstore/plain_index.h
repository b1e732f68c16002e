// The baseline: the index that PLFS keeps, a record for each write, and the two ways out of its
// size that the papers dismiss: compressed by zlib in memory, and looked up on the disk.
//
// Written from the papers' description (HPDC 2013, 2 and 3.1). Where there is a choice it is made
// in the baseline's favour: PLFS holds a balanced tree of 56 bytes an entry, this a sorted array
// of 48.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace iotune::bench {

// As on PLFS's disk. Bytes; seconds since 1970.
struct PlainEntry {
  std::int64_t logical;
  std::int64_t physical;
  std::int64_t length;
  double begin;
  double end;
  std::uint32_t id;  // of the writer
  std::uint32_t unused;
};
static_assert(sizeof(PlainEntry) == 48);

// PLFS flushes its buffer when it holds so many entries, and at close.
inline constexpr std::size_t kPlainBuffer = 102'400;

// One process's index: entries in a buffer, appended to a file whenever it is full. A path that
// cannot be written ends the program.
class PlainWriter {
 public:
  explicit PlainWriter(const std::string& path);
  PlainWriter(const PlainWriter&) = delete;
  PlainWriter& operator=(const PlainWriter&) = delete;
  ~PlainWriter();

  void add(const PlainEntry& entry) {
    buffer_.push_back(entry);
    if (buffer_.size() == kPlainBuffer) flush();
  }
  void flush();
  // As fdatasync(2).
  int sync() const;

 private:
  int file_;
  std::vector<PlainEntry> buffer_;
};

// All entries in memory, sorted by place in the file; later ones behind earlier ones.
class PlainMap {
 public:
  // The files of a folder in the order of their names, which gives the writers' numbers.
  static PlainMap load(const std::string& folder);

  const std::vector<PlainEntry>& entries() const noexcept { return entries_; }
  std::size_t memory_bytes() const noexcept { return entries_.capacity() * sizeof(PlainEntry); }
  const PlainEntry* find(std::int64_t offset) const noexcept;

 private:
  std::vector<PlainEntry> entries_;
};

// Sorted entries in blocks of 192 KiB, each compressed by zlib (level 6). The block of the last
// look-up stays expanded.
class CompressedIndex {
 public:
  // In the order of their places.
  void add(const PlainEntry& entry);
  void close();

  std::size_t memory_bytes() const noexcept;
  const PlainEntry* find(std::int64_t offset);

 private:
  static constexpr std::size_t kBlock = 4096;
  void compress();

  std::vector<std::int64_t> first_;  // of each block: its first place
  std::vector<std::vector<unsigned char>> blocks_;
  std::vector<PlainEntry> pending_, expanded_;
  std::vector<unsigned char> scratch_;
  std::size_t expanded_block_ = SIZE_MAX;
};

// Sorted entries in a file: nothing in memory, some reads for each look-up.
class IndexOnDisk {
 public:
  explicit IndexOnDisk(const std::string& path);
  IndexOnDisk(const IndexOnDisk&) = delete;
  IndexOnDisk& operator=(const IndexOnDisk&) = delete;
  ~IndexOnDisk();

  std::optional<PlainEntry> find(std::int64_t offset);
  std::int64_t reads() const noexcept { return reads_; }

 private:
  PlainEntry at(std::int64_t place);

  int file_;
  std::int64_t count_;
  std::int64_t reads_ = 0;
};

}  // namespace iotune::bench
