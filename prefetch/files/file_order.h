// Files of a directory in the order in which a process read them: each name once, and which was
// read when, over all of its epochs. What a process has read itself, or the plan that another one
// has left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "prefetch/files/file_names.h"

namespace iotune::prefetch {

class FileOrder {
 public:
  static constexpr std::uint32_t kMostFiles = 32768, kMostReads = 65536, kNone = UINT32_MAX;
  static constexpr std::size_t kTextBytes = 1 << 20;

  // Mapped; pages that nothing was written to cost nothing. nullptr where there is no memory.
  static FileOrder* make() noexcept;
  void release() noexcept;

  static std::uint64_t hash_of(const char* name, std::size_t bytes) noexcept;

  // The next file that was read. False where there is no more room: then nothing is added any more.
  bool add(const char* name, std::size_t bytes) noexcept;

  // Places are 0 … size() - 1, in the order of reading.
  std::uint32_t size() const noexcept { return reads_; }
  std::uint64_t hash_at(std::uint32_t place) const noexcept {
    return files_[sequence_[place]].hash;
  }
  // NUL-terminated.
  const char* name_at(std::uint32_t place) const noexcept {
    return text_ + files_[sequence_[place]].text;
  }
  // The last place of a file, and the one before a place of the same file; kNone: there is none.
  std::uint32_t last_place(std::uint64_t hash) const noexcept;
  std::uint32_t place_before(std::uint32_t place) const noexcept { return before_[place] - 1; }

  // As many of the first places as fit. Returns the bytes; 0 where there is none, or no memory.
  std::size_t encode(std::span<std::byte> to) const noexcept;
  // Of one that is empty. False where the bytes are none of encode()'s.
  bool decode(std::span<const std::byte> from) noexcept;

 private:
  static constexpr std::uint32_t kIndex = 2 * kMostFiles;
  struct File {
    std::uint64_t hash;
    std::uint32_t text;
    std::uint32_t last;  // its last place and 1
  };

  std::uint32_t* entry_of(std::uint64_t hash) noexcept;
  std::uint32_t add_file(std::uint64_t hash, const char* name, std::size_t bytes) noexcept;
  bool add_read(std::uint32_t file) noexcept;
  bool encode(std::uint32_t reads, NameCode& names, patterns::ByteWriter& out) const noexcept;

  std::uint32_t count_, reads_, used_;
  bool full_;
  File files_[kMostFiles];
  std::uint32_t sequence_[kMostReads], before_[kMostReads];  // before_: a place and 1
  std::uint32_t index_[kIndex];                              // of files_, and 1
  char text_[kTextBytes];
};

}  // namespace iotune::prefetch
