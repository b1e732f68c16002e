#include "prefetch/preload/saved_predictors.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/files/fresh_file.h"
#include "core/os/directory_entries.h"
#include "core/os/fnv1a.h"
#include "core/os/oldest_entries.h"
#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/process_events.h"
#include "patterns/crc32c.h"
#include "patterns/predict/recorded_plan.h"
#include "prefetch/preload/saved_folder.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;

// How many streams of this process were on a path, by its hash.
struct Seen {
  std::uint64_t path;
  std::uint32_t streams;
};
constexpr unsigned kMostPaths = 256;
constexpr std::uint32_t kMostSaved = 1024;
constinit const PrefetchHost* g_host = nullptr;
constinit Seen g_seen[kMostPaths] = {};
constinit std::uint32_t g_saved = 0;
constinit SleepLock g_lock;

std::uint64_t hash_of(const char* text) noexcept {
  const std::uint64_t hash = Fnv1a::of(text);
  return hash == 0 ? 1 : hash;
}

// HASH-RANK-NUMBER.PREDICTOR
using Name = ShortText<96>;

Name name_of(const SavedKey& key, const char* predictor) noexcept {
  Name name;
  name.add_hex(key.path);
  const int rank = g_host->world_rank();
  name << '-' << (rank < 0 ? 0 : rank) << '-' << key.ordinal << '.' << predictor;
  return name;
}

int open_file(int folder, const Name& name) noexcept {
  return static_cast<int>(raw::call(SYS_openat, folder, raw::word(name.c_str()),
                                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0));
}

bool is_own_file(int fd, struct stat& status) noexcept {
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  return raw::call(SYS_newfstatat, fd, raw::word(""), raw::word(&status), kEmptyPath) == 0 &&
         S_ISREG(status.st_mode) && status.st_uid == static_cast<uid_t>(raw::getuid());
}

void give_back(std::span<std::byte> memory) noexcept {
  if (!memory.empty()) unmap(memory.data(), memory.size());
}

// A copy: a file that shrinks under its mapping would be a SIGBUS. Empty where it cannot be had.
std::span<std::byte> content_of(int fd) noexcept {
  struct stat status {};
  constexpr off_t kMostBytes = off_t{64} << 20;
  if (!is_own_file(fd, status) || status.st_size <= 0 || status.st_size > kMostBytes) return {};
  const auto bytes = static_cast<std::size_t>(status.st_size);
  auto* const memory = static_cast<std::byte*>(private_memory(bytes));
  if (memory == nullptr) return {};
  if (raw::read(fd, memory, bytes) == status.st_size) return {memory, bytes};
  give_back({memory, bytes});
  return {};
}

// Of the path's files the one that was changed first.
std::uint32_t oldest_number(int folder, SavedKey key, const char* predictor) noexcept {
  std::uint32_t oldest = 0;
  std::int64_t oldest_ns = INT64_MAX;
  for (key.ordinal = 0; key.ordinal < kMostSavedOfPath; ++key.ordinal) {
    struct stat status {};
    const Name name = name_of(key, predictor);
    if (!stat_of(folder, name.c_str(), status) || changed_ns_of(status) >= oldest_ns) continue;
    oldest = key.ordinal;
    oldest_ns = changed_ns_of(status);
  }
  return oldest;
}

bool place(int folder, FreshFile& file, SavedKey& key, const char* predictor,
           bool is_own) noexcept {
  if (is_own) return file.take_name(name_of(key, predictor).c_str()) == 0;
  const std::uint64_t taken = SavedOfPath(key.path, predictor).numbers();
  for (std::uint32_t number = key.ordinal; number < kMostSavedOfPath; ++number) {
    if ((taken >> number & 1) != 0) continue;
    key.ordinal = number;
    const Name name = name_of(key, predictor);
    if (file.take_name(name.c_str(), FreshFile::Name::kFree) == 0) return true;
  }
  key.ordinal = oldest_number(folder, key, predictor);
  return file.take_name(name_of(key, predictor).c_str()) == 0;
}

// A thread of the parent may have held it.
constinit AfterFork g_after_fork([]() noexcept { g_lock.unlock(); });

}  // namespace

void set_up_saved(const PrefetchHost& host) noexcept {
  g_host = &host;
  host.enlist(g_after_fork);
  set_up_saved_folder(host);
}

SavedKey saved_key(int fd) noexcept {
  ShortText<64> link;
  link << "/proc/self/fd/" << fd;
  char path[4096];
  path[0] = '\0';
  const long bytes = raw::readlink(link.c_str(), path, sizeof path - 1);
  if (bytes <= 0 || path[0] != '/') return {};
  path[bytes] = '\0';
  SavedKey key{hash_of(path), 0};
  const SleepGuard guard(g_lock);
  for (unsigned i = 0; i < kMostPaths; ++i) {
    Seen& seen = g_seen[(key.path + i) % kMostPaths];
    if (seen.path != 0 && seen.path != key.path) continue;
    if (g_saved == kMostSaved || (seen.path != 0 && seen.streams == kMostSavedOfPath)) return {};
    seen.path = key.path;
    key.ordinal = seen.streams++;
    ++g_saved;
    return key;
  }
  return {};
}

std::span<const std::byte> read_saved(const SavedKey& key, const char* predictor) noexcept {
  if (key.path == 0) return {};
  const Descriptor folder(open_saved_folder(false));
  if (!folder) return {};
  const Name name = name_of(key, predictor);
  const Descriptor file(open_file(folder.get(), name));
  if (!file) return {};
  const std::span<std::byte> all = content_of(file.get());
  if (all.empty()) return {};
  // The last four bytes are the crc of the others.
  if (all.size() > 4) {
    const std::span<const std::byte> saved = all.first(all.size() - 4);
    std::uint32_t crc = 0;
    std::memcpy(&crc, all.data() + saved.size(), 4);
    if (patterns::crc32c(saved.data(), saved.size()) == crc) return saved;
  }
  give_back(all);
  raw::call(SYS_unlinkat, folder.get(), raw::word(name.c_str()), 0);
  return {};
}

void touch_saved(const SavedKey& key, const char* predictor) noexcept {
  if (key.path == 0) return;
  const Descriptor folder(open_saved_folder(false));
  if (!folder) return;
  const Name name = name_of(key, predictor);
  raw::call(SYS_utimensat, folder.get(), raw::word(name.c_str()), 0, AT_SYMLINK_NOFOLLOW);
}

SavedOfPath::SavedOfPath(std::uint64_t path, const char* predictor) noexcept
    : path_(path), predictor_(predictor), folder_(path == 0 ? -1 : open_saved_folder(false)) {}

// By the folder's entries: on a network file system it would take long to ask for each.
std::uint64_t SavedOfPath::numbers() noexcept {
  static_assert(kMostSavedOfPath == 64, "a bit each");
  constexpr std::size_t kRoom = 16384;
  using Room = char[kRoom];
  void* const memory = !folder_ ? nullptr : private_memory(kRoom);
  if (memory == nullptr) return 0;
  const Name first = name_of({path_, 0}, predictor_);
  // HASH-RANK-
  const std::size_t common = first.size() - std::strlen(predictor_) - 2;
  std::uint64_t found = 0;
  for_each_entry(folder_.get(), *static_cast<Room*>(memory), [&](const char* name) noexcept {
    if (std::strncmp(name, first.c_str(), common) != 0) return true;
    const char* at = name + common;
    std::uint32_t number = 0;
    for (; *at >= '0' && *at <= '9' && number < kMostSavedOfPath; ++at) {
      number = number * 10 + static_cast<std::uint32_t>(*at - '0');
    }
    const bool is_name = at != name + common && number < kMostSavedOfPath && *at == '.' &&
                         std::strcmp(at + 1, predictor_) == 0;
    if (is_name) found |= std::uint64_t{1} << number;
    return true;
  });
  unmap(memory, kRoom);
  return found;
}

std::span<const std::byte> SavedOfPath::begin_of(std::uint32_t number,
                                                 std::span<std::byte> room) noexcept {
  if (!folder_) return {};
  const Descriptor file(open_file(folder_.get(), name_of({path_, number}, predictor_)));
  struct stat status {};
  if (!file || !is_own_file(file.get(), status)) return {};
  const long bytes = raw::read(file.get(), room.data(), room.size());
  return room.first(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
}

void release_saved(std::span<const std::byte> saved) noexcept {
  if (!saved.empty()) give_back({const_cast<std::byte*>(saved.data()), saved.size() + 4});
}

bool write_saved(SavedKey& key, const char* predictor, std::span<const std::byte> bytes,
                 bool is_own) noexcept {
  if (key.path == 0 || bytes.empty()) return false;
  const Descriptor folder(open_saved_folder(true));
  if (!folder) return false;
  // bound_saved_folder() removes the drafts that deaths left.
  FreshFile file(folder.get(), kDraftBegin);
  const std::uint32_t crc = patterns::crc32c(bytes.data(), bytes.size());
  file.write(bytes.data(), bytes.size());
  file.write(&crc, sizeof crc);
  const bool written = place(folder.get(), file, key, predictor, is_own);
  if (written) bound_saved_folder(folder.get());
  return written;
}

void leave_saved_by_jump() noexcept {
  release_by_jump(g_lock);
  leave_saved_folder_by_jump();
}

PlanRecorder* PlanRecorder::make() noexcept {
  return static_cast<PlanRecorder*>(private_memory(sizeof(PlanRecorder)));
}

void PlanRecorder::release() noexcept {
  unmap(this, sizeof(PlanRecorder));
}

void PlanRecorder::add(const Extent& access) noexcept {
  if (full_) return;
  accesses_[pending_++] = access;
  if (pending_ == kPiece) encode();
}

void PlanRecorder::encode() noexcept {
  const std::size_t scratch_bytes = patterns::plan_scratch_bytes();
  auto* const scratch = static_cast<std::byte*>(private_memory(scratch_bytes));
  patterns::ByteWriter out({plan_ + bytes_, kPlanBytes - bytes_});
  full_ = scratch == nullptr ||
          !patterns::write_plan({accesses_, pending_}, {scratch, scratch_bytes}, out);
  if (!full_) bytes_ += out.bytes_used();
  pending_ = 0;
  if (scratch != nullptr) unmap(scratch, scratch_bytes);
}

std::span<const std::byte> PlanRecorder::copy() noexcept {
  if (full_) return {};
  const std::size_t scratch_bytes = patterns::plan_scratch_bytes();
  const std::size_t room = bytes_ + patterns::plan_bytes_limit(pending_) + 4;
  auto* const scratch = static_cast<std::byte*>(private_memory(scratch_bytes));
  auto* const plan = static_cast<std::byte*>(private_memory(room));
  std::size_t used = 0;
  if (scratch != nullptr && plan != nullptr) {
    std::memcpy(plan, plan_, bytes_);
    patterns::ByteWriter out({plan + bytes_, room - 4 - bytes_});
    if (pending_ == 0 ||
        patterns::write_plan({accesses_, pending_}, {scratch, scratch_bytes}, out)) {
      used = bytes_ + out.bytes_used();
    }
  }
  if (scratch != nullptr) unmap(scratch, scratch_bytes);
  if (plan != nullptr && used == 0) unmap(plan, room);
  if (used == 0) return {};
  // release_saved gives back as many bytes as there are and four.
  const std::size_t page = 4096;
  const std::size_t first_free = (used + 4 + page - 1) / page * page;
  if (first_free < room) unmap(plan + first_free, room - first_free);
  return {plan, used};
}

std::span<const std::byte> PlanRecorder::finish() noexcept {
  if (!full_ && pending_ != 0) encode();
  return {plan_, bytes_};
}

}  // namespace iotune::prefetch
