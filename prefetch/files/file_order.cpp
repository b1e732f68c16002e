#include "prefetch/files/file_order.h"

#include <cstring>

#include "core/os/fnv1a.h"
#include "core/os/private_memory.h"

namespace iotune::prefetch {
namespace {

constexpr std::uint8_t kVersion = 1;

// Names are coded in this memory.
class Coding {
 public:
  Coding() noexcept : code_(static_cast<NameCode*>(private_memory(sizeof(NameCode)))) {}
  ~Coding() {
    if (code_ != nullptr) unmap(code_, sizeof(NameCode));
  }
  Coding(const Coding&) = delete;
  Coding& operator=(const Coding&) = delete;
  NameCode* get() const noexcept { return code_; }

 private:
  NameCode* code_;
};

}  // namespace

FileOrder* FileOrder::make() noexcept {
  return static_cast<FileOrder*>(private_memory(sizeof(FileOrder)));
}

void FileOrder::release() noexcept {
  unmap(this, sizeof(FileOrder));
}

std::uint64_t FileOrder::hash_of(const char* name, std::size_t bytes) noexcept {
  Fnv1a hash;
  for (std::size_t i = 0; i < bytes; ++i) hash.add(name[i]);
  return hash.value();
}

// Where the file of this hash is in the index, or would be.
std::uint32_t* FileOrder::entry_of(std::uint64_t hash) noexcept {
  std::uint32_t at = static_cast<std::uint32_t>(hash >> 32) % kIndex;
  while (index_[at] != 0 && files_[index_[at] - 1].hash != hash) at = (at + 1) % kIndex;
  return &index_[at];
}

std::uint32_t FileOrder::last_place(std::uint64_t hash) const noexcept {
  const std::uint32_t known = *const_cast<FileOrder*>(this)->entry_of(hash);
  return known == 0 ? kNone : files_[known - 1].last - 1;
}

std::uint32_t FileOrder::add_file(std::uint64_t hash, const char* name,
                                  std::size_t bytes) noexcept {
  std::uint32_t* const entry = entry_of(hash);
  if (*entry != 0) return *entry - 1;
  if (count_ == kMostFiles || used_ + bytes + 1 > kTextBytes) return kNone;
  std::memcpy(text_ + used_, name, bytes);
  files_[count_] = {hash, used_, 0};
  used_ += static_cast<std::uint32_t>(bytes) + 1;  // the memory was zero
  *entry = ++count_;
  return count_ - 1;
}

bool FileOrder::add_read(std::uint32_t file) noexcept {
  if (file >= count_ || reads_ == kMostReads) return false;
  before_[reads_] = files_[file].last;
  sequence_[reads_] = file;
  files_[file].last = ++reads_;
  return true;
}

bool FileOrder::add(const char* name, std::size_t bytes) noexcept {
  if (full_ || bytes == 0 || bytes > kMostNameBytes) return false;
  full_ = !add_read(add_file(hash_of(name, bytes), name, bytes));
  return !full_;
}

// version, varint files, their names by file_names.h, varint reads, and runs of reads: svarint of
// how far the first one's file is from the one behind the file before, varint of how many files
// follow each other.
bool FileOrder::encode(std::uint32_t reads, NameCode& names,
                       patterns::ByteWriter& out) const noexcept {
  std::uint32_t files = 0;
  for (std::uint32_t i = 0; i < reads; ++i) {
    if (sequence_[i] >= files) files = sequence_[i] + 1;
  }
  out.u8(kVersion);
  out.varint(files);
  for (std::uint32_t i = 0; i < files && !out.overflowed(); ++i) {
    const char* const name = text_ + files_[i].text;
    names.write(name, std::strlen(name), out);
  }
  out.varint(reads);
  std::int64_t expected = 0;
  for (std::uint32_t at = 0; at < reads && !out.overflowed();) {
    std::uint32_t run = 1;
    while (at + run < reads && sequence_[at + run] == sequence_[at + run - 1] + 1) ++run;
    out.svarint(std::int64_t{sequence_[at]} - expected);
    out.varint(run);
    expected = std::int64_t{sequence_[at]} + run;
    at += run;
  }
  return !out.overflowed();
}

std::size_t FileOrder::encode(std::span<std::byte> to) const noexcept {
  for (std::uint32_t reads = reads_; reads != 0; reads /= 2) {
    const Coding names;
    if (names.get() == nullptr) return 0;
    patterns::ByteWriter out(to);
    if (encode(reads, *names.get(), out)) return out.bytes_used();
  }
  return 0;
}

bool FileOrder::decode(std::span<const std::byte> from) noexcept {
  const Coding names;
  if (names.get() == nullptr) return false;
  patterns::ByteReader in(from);
  if (in.u8() != kVersion) return false;
  const std::uint64_t files = in.varint();
  if (files > kMostFiles) return false;
  char name[kMostNameBytes];
  for (std::uint64_t i = 0; i < files; ++i) {
    const std::size_t bytes = names.get()->read(in, name);
    if (bytes == 0 || std::memchr(name, '\0', bytes) != nullptr) return false;
    // Each name is there once.
    if (add_file(hash_of(name, bytes), name, bytes) != i) return false;
  }
  const std::uint64_t reads = in.varint();
  std::int64_t expected = 0;
  while (!in.failed() && reads_ < reads) {
    const std::int64_t step = in.svarint();
    const std::uint64_t run = in.varint();
    if (in.failed() || run == 0 || run > kMostReads || step > std::int64_t{kMostFiles} ||
        step < -std::int64_t{kMostReads}) {
      return false;
    }
    const std::int64_t first = expected + step;
    if (first < 0 || first + static_cast<std::int64_t>(run) > std::int64_t{count_}) return false;
    for (std::uint64_t i = 0; i < run; ++i) {
      if (!add_read(static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i)))
        return false;
    }
    expected = first + static_cast<std::int64_t>(run);
  }
  return !in.failed() && reads_ == reads && in.bytes_left() == 0 && reads_ != 0;
}

}  // namespace iotune::prefetch
