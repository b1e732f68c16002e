#include "tests/bench/logstore/plain_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>

namespace iotune::bench {
namespace {

[[noreturn]] void fail(const std::string& path) {
  std::perror(path.c_str());
  std::exit(1);
}

int opened(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (file < 0) fail(path);
  return file;
}

void read_whole(int file, std::span<std::byte> to, std::int64_t offset, const char* path) {
  while (!to.empty()) {
    const ssize_t some = pread(file, to.data(), to.size(), offset);
    if (some <= 0) fail(path);
    to = to.subspan(static_cast<std::size_t>(some));
    offset += some;
  }
}

// The entry that covers the byte: the last one that begins at or before it, as nothing overlaps.
const PlainEntry* find_in(std::span<const PlainEntry> sorted, std::int64_t offset) noexcept {
  const auto behind = std::ranges::upper_bound(sorted, offset, {}, &PlainEntry::logical);
  if (behind == sorted.begin()) return nullptr;
  const PlainEntry& entry = *std::prev(behind);
  return offset - entry.logical < entry.length ? &entry : nullptr;
}

}  // namespace

PlainWriter::PlainWriter(const std::string& path)
    : file_(opened(path, O_WRONLY | O_CREAT | O_TRUNC)) {
  buffer_.reserve(kPlainBuffer);
}

PlainWriter::~PlainWriter() {
  flush();
  close(file_);
}

void PlainWriter::flush() {
  std::span<const std::byte> bytes = std::as_bytes(std::span(buffer_));
  while (!bytes.empty()) {
    const ssize_t some = write(file_, bytes.data(), bytes.size());
    if (some <= 0) fail("the plain index");
    bytes = bytes.subspan(static_cast<std::size_t>(some));
  }
  buffer_.clear();
}

int PlainWriter::sync() const {
  return fdatasync(file_);
}

PlainMap PlainMap::load(const std::string& folder) {
  std::vector<std::string> paths;
  std::size_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
    bytes += entry.file_size();
  }
  std::ranges::sort(paths);
  PlainMap map;
  map.entries_.resize(bytes / sizeof(PlainEntry));
  std::span<PlainEntry> rest(map.entries_);
  for (std::uint32_t id = 0; id < paths.size(); ++id) {
    const int file = opened(paths[id], O_RDONLY);
    struct stat status {};
    if (fstat(file, &status) != 0) fail(paths[id]);
    const auto own = rest.first(static_cast<std::size_t>(status.st_size) / sizeof(PlainEntry));
    read_whole(file, std::as_writable_bytes(own), 0, paths[id].c_str());
    close(file);
    for (PlainEntry& entry : own) entry.id = id;
    rest = rest.subspan(own.size());
  }
  std::ranges::sort(map.entries_, [](const PlainEntry& a, const PlainEntry& b) {
    return a.logical != b.logical ? a.logical < b.logical : a.end < b.end;
  });
  return map;
}

const PlainEntry* PlainMap::find(std::int64_t offset) const noexcept {
  return find_in(entries_, offset);
}

void CompressedIndex::add(const PlainEntry& entry) {
  pending_.push_back(entry);
  if (pending_.size() == kBlock) compress();
}

void CompressedIndex::close() {
  if (!pending_.empty()) compress();
  pending_ = {};
  scratch_ = {};
}

void CompressedIndex::compress() {
  const uLong size = static_cast<uLong>(pending_.size() * sizeof(PlainEntry));
  scratch_.resize(compressBound(size));
  uLongf made = scratch_.size();
  if (compress2(scratch_.data(), &made, reinterpret_cast<const Bytef*>(pending_.data()), size, 6) !=
      Z_OK) {
    fail("zlib");
  }
  first_.push_back(pending_.front().logical);
  blocks_.emplace_back(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(made));
  pending_.clear();
}

std::size_t CompressedIndex::memory_bytes() const noexcept {
  std::size_t bytes = first_.size() * sizeof first_[0] + blocks_.size() * sizeof blocks_[0];
  for (const auto& block : blocks_) bytes += block.size();
  return bytes;
}

const PlainEntry* CompressedIndex::find(std::int64_t offset) {
  const auto behind = std::ranges::upper_bound(first_, offset);
  if (behind == first_.begin()) return nullptr;
  const auto block = static_cast<std::size_t>(behind - first_.begin()) - 1;
  if (block != expanded_block_) {
    expanded_.resize(kBlock);
    uLongf size = kBlock * sizeof(PlainEntry);
    if (uncompress(reinterpret_cast<Bytef*>(expanded_.data()), &size, blocks_[block].data(),
                   blocks_[block].size()) != Z_OK) {
      fail("zlib");
    }
    expanded_.resize(size / sizeof(PlainEntry));
    expanded_block_ = block;
  }
  return find_in(expanded_, offset);
}

IndexOnDisk::IndexOnDisk(const std::string& path) : file_(opened(path, O_RDONLY)) {
  struct stat status {};
  if (fstat(file_, &status) != 0) fail(path);
  count_ = status.st_size / static_cast<std::int64_t>(sizeof(PlainEntry));
}

IndexOnDisk::~IndexOnDisk() {
  close(file_);
}

PlainEntry IndexOnDisk::at(std::int64_t place) {
  PlainEntry entry{};
  read_whole(file_, std::as_writable_bytes(std::span(&entry, 1)),
             place * static_cast<std::int64_t>(sizeof entry), "the index on disk");
  ++reads_;
  return entry;
}

std::optional<PlainEntry> IndexOnDisk::find(std::int64_t offset) {
  // What the last read brings: less than a page.
  constexpr std::int64_t kAtOnce = 85;
  std::int64_t low = 0;
  std::int64_t high = count_;
  while (high - low > kAtOnce) {
    const std::int64_t middle = low + (high - low) / 2;
    (at(middle).logical <= offset ? low : high) = middle;
  }
  std::array<PlainEntry, kAtOnce> page{};
  const auto some = std::span(page).first(static_cast<std::size_t>(high - low));
  read_whole(file_, std::as_writable_bytes(some),
             low * static_cast<std::int64_t>(sizeof(PlainEntry)), "the index on disk");
  ++reads_;
  const PlainEntry* found = find_in(some, offset);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace iotune::bench
