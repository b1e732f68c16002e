#include "prefetch/files/watched_files.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/process_events.h"
#include "prefetch/cache/written_files.h"
#include "prefetch/files/file_follower.h"
#include "prefetch/preload/saved_predictors.h"

namespace iotune::prefetch {
namespace {

constexpr const char* kKind = "files";  // ending of the plans
constexpr unsigned kMostDirectories = 8;
// Of fewer files nothing is worth a plan, and its place may be another directory's.
constexpr std::uint32_t kLeastFiles = 16;
// Plans are looked for after so many files, and not often.
constexpr std::uint32_t kFilesBefore = 4;
constexpr unsigned kMostTries = 4;
constexpr std::size_t kMostBytesATry = std::size_t{8} << 20;
constexpr std::size_t kPlanBytes = std::size_t{1} << 20;
// The files before the one that begins lie so near to it in an order that is the right one.
constexpr std::uint32_t kNear = 4;
constexpr std::uint32_t kMostPlaces = 16;
constexpr unsigned kMostFoldersOfNumbers = 4;

struct Directory {
  std::uint32_t folder_bytes;  // 0: free
  std::uint64_t hash;
  FileOrder* own;
  FileOrder* saved;
  FileFollower follower;
  std::uint64_t previous[2];  // the files that began before, the last one first
  std::uint32_t begun, predicted;
  unsigned tries;
  std::uint32_t saved_number;  // of `saved`
  SavedKey key;
  bool is_written;
  char folder[kMostRootBytes + 1];  // with its slash
};

constinit bool g_watches = false;
constinit bool g_unfit = false;  // a handler jumped out of a change
constinit SleepLock g_lock;
constinit Directory g_directories[kMostDirectories] = {};

// Out of reach first: in a child that another thread forks in between, the address may be that of
// other memory when it forgets.
void release(FileOrder*& order) noexcept {
  FileOrder* const held = std::exchange(order, nullptr);
  if (held != nullptr) held->release();
}

void forget(Directory& directory) noexcept {
  release(directory.own);
  release(directory.saved);
  directory = {};
}

// The child's files are its own, and its parent's helpers are not there.
constinit AfterFork g_after_fork([]() noexcept {
  g_lock.unlock();
  for (Directory& one : g_directories) {
    if (one.folder_bytes != 0) forget(one);
  }
});

struct Place {
  char path[kMostRootBytes + kMostNameBytes + 1];
  std::size_t folder_bytes = 0, bytes = 0;
  const char* name() const noexcept { return path + folder_bytes; }
  std::size_t name_bytes() const noexcept { return bytes - folder_bytes; }
};

bool has_digit(const char* begin, const char* end) noexcept {
  return std::any_of(begin, end, [](char c) { return c >= '0' && c <= '9'; });
}

// The folder of a file is the one above those that are numbered: chunk c/3/0 is one of c.
std::size_t folder_of(const char* path, std::size_t bytes) noexcept {
  const char* end = path + bytes;
  while (end > path && end[-1] != '/') --end;
  for (unsigned i = 0; i < kMostFoldersOfNumbers && end > path + 1; ++i) {
    const char* above = end - 1;
    while (above > path && above[-1] != '/') --above;
    if (above <= path + 1 || !has_digit(above, end)) break;
    end = above;
  }
  return static_cast<std::size_t>(end - path);
}

// False where it is no name that can be opened again.
bool place_of(int fd, Place& place) noexcept {
  ShortText<64> link;
  link << "/proc/self/fd/" << fd;
  const long bytes = raw::readlink(link.c_str(), place.path, sizeof place.path);
  if (bytes <= 1 || bytes >= static_cast<long>(sizeof place.path) || place.path[0] != '/') {
    return false;
  }
  place.path[bytes] = '\0';
  if (ends_with(place.path, " (deleted)")) return false;
  place.bytes = static_cast<std::size_t>(bytes);
  place.folder_bytes = folder_of(place.path, place.bytes);
  return place.folder_bytes <= kMostRootBytes && place.name_bytes() != 0 &&
         place.name_bytes() <= kMostNameBytes;
}

Directory* find(const Place& place) noexcept {
  for (Directory& one : g_directories) {
    if (one.folder_bytes == place.folder_bytes &&
        std::memcmp(one.folder, place.path, place.folder_bytes) == 0) {
      return &one;
    }
  }
  return nullptr;
}

// One that is free, else the one of which least is known; nullptr where all are worth something.
Directory* make(const Place& place) noexcept {
  Directory* least = &g_directories[0];
  for (Directory& one : g_directories) {
    if (one.begun < least->begun) least = &one;
  }
  if (least->begun >= kLeastFiles) return nullptr;
  forget(*least);
  least->folder_bytes = static_cast<std::uint32_t>(place.folder_bytes);
  std::memcpy(least->folder, place.path, place.folder_bytes);
  least->folder[place.folder_bytes] = '\0';
  least->hash = FileOrder::hash_of(place.path, place.folder_bytes);
  least->key = {least->hash == 0 ? 1 : least->hash, 0};
  return least;
}

// Whether both files that began before lie just before this place.
bool comes_behind(const FileOrder& order, std::uint32_t place,
                  const Directory& directory) noexcept {
  unsigned found = 0;
  for (const std::uint64_t hash : directory.previous) {
    for (std::uint32_t back = 1; back <= kNear && back <= place; ++back) {
      if (order.hash_at(place - back) != hash) continue;
      ++found;
      break;
    }
  }
  return found == 2;
}

bool follow_in(Directory& directory, const FileOrder* order, std::uint64_t hash) noexcept {
  if (order == nullptr) return false;
  std::uint32_t place = order->last_place(hash);
  for (std::uint32_t i = 0; i < kMostPlaces && place != FileOrder::kNone; ++i) {
    if (comes_behind(*order, place, directory)) {
      directory.follower.follow(order, place + 1);
      return true;
    }
    place = order->place_before(place);
  }
  return false;
}

void look_among_saved(Directory& directory, std::uint64_t hash) noexcept {
  const std::uint64_t numbers = SavedOfPath(directory.key.path, kKind).numbers();
  std::size_t looked_at = 0;
  for (std::uint32_t number = 0; number < kMostSavedOfPath && looked_at < kMostBytesATry;
       ++number) {
    if ((numbers >> number & 1) == 0) continue;
    const SavedKey key{directory.key.path, number};
    const std::span<const std::byte> plan = read_saved(key, kKind);
    looked_at += plan.size();
    FileOrder* order = plan.empty() ? nullptr : FileOrder::make();
    const bool is_right =
        order != nullptr && order->decode(plan) && follow_in(directory, order, hash);
    release_saved(plan);
    if (!is_right) {
      release(order);
      continue;
    }
    release(directory.saved);
    directory.saved = order;
    directory.saved_number = number;
    return;
  }
}

void choose(Directory& directory, std::uint64_t hash) noexcept {
  if (follow_in(directory, directory.saved, hash) || follow_in(directory, directory.own, hash)) {
    return;
  }
  if (directory.begun < kFilesBefore || directory.tries == kMostTries) return;
  ++directory.tries;
  look_among_saved(directory, hash);
}

}  // namespace

void set_up_files(const PrefetchHost& host) noexcept {
  host.enlist(g_after_fork);
  g_watches = true;
}

FileBegun file_begins(int fd, bool waited) noexcept {
  Place place;
  if (!g_watches || !place_of(fd, place)) return {};
  const std::uint64_t hash = FileOrder::hash_of(place.name(), place.name_bytes());
  const SleepGuard guard(g_lock);
  if (g_unfit) return {};
  Directory* directory = find(place);
  if (directory == nullptr) directory = make(place);
  if (directory == nullptr) return {};
  ++directory->begun;
  const FileFollower::Begun begun = directory->follower.begins(hash, waited);
  const FileOrder* const order = directory->follower.order();
  if (begun.foreseen && order == directory->saved) ++directory->predicted;
  if (order == nullptr) choose(*directory, hash);
  directory->previous[1] = directory->previous[0];
  directory->previous[0] = hash;
  return {begun.ahead, directory->follower.order() != nullptr, begun.bytes};
}

void file_ends(int fd, std::uint64_t bytes_read) noexcept {
  Place place;
  FileStamp stamp;
  if (!g_watches || bytes_read == 0 || bytes_read > 2 * kMostFileBytes) return;
  if (!stamp_of(fd, stamp) || stamp.bytes == 0 || stamp.bytes > kMostFileBytes) return;
  // Nearly all of it: programs leave out a header or the end.
  if (bytes_read < stamp.bytes - stamp.bytes / 8 || !place_of(fd, place)) return;
  const SleepGuard guard(g_lock);
  Directory* const directory = g_unfit ? nullptr : find(place);
  if (directory == nullptr) return;
  if (directory->own == nullptr) directory->own = FileOrder::make();
  if (directory->own != nullptr) directory->own->add(place.name(), place.name_bytes());
}

void keep_file_orders() noexcept {
  if (!g_watches) return;
  const SleepGuard guard(g_lock);
  if (g_unfit) return;
  for (Directory& one : g_directories) {
    if (one.own == nullptr || one.own->size() < kLeastFiles) continue;
    if (2 * one.predicted >= one.begun) {
      touch_saved({one.key.path, one.saved_number}, kKind);
      continue;
    }
    auto* const memory = static_cast<std::byte*>(private_memory(kPlanBytes));
    if (memory == nullptr) return;
    const std::size_t bytes = one.own->encode({memory, kPlanBytes});
    if (bytes != 0) {
      one.is_written =
          write_saved(one.key, kKind, {memory, bytes}, one.is_written) || one.is_written;
    }
    unmap(memory, kPlanBytes);
  }
}

bool next_file(FileAhead& file) noexcept {
  const SleepGuard guard(g_lock);
  for (unsigned number = 0; number < kMostDirectories && !g_unfit; ++number) {
    Directory& directory = g_directories[number];
    if (directory.folder_bytes == 0) continue;
    const FileOrder* const order = directory.follower.order();
    const std::uint32_t place = directory.follower.next();
    if (place == FileFollower::kNone) continue;
    const char* const name = order->name_at(place);
    file.directory = number;
    file.hash = order->hash_at(place);
    std::memcpy(file.path, directory.folder, directory.folder_bytes);
    std::memcpy(file.path + directory.folder_bytes, name, std::strlen(name) + 1);
    return true;
  }
  return false;
}

void set_file_bytes(const FileAhead& file, std::uint32_t bytes) noexcept {
  const SleepGuard guard(g_lock);
  if (!g_unfit) g_directories[file.directory].follower.set_bytes(file.hash, bytes);
}

void leave_files_by_jump() noexcept {
  if (!g_lock.is_held()) return;
  g_unfit = true;
  g_lock.unlock();
}

}  // namespace iotune::prefetch
