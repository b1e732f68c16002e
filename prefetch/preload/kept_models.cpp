#include "prefetch/preload/kept_models.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "core/os/fnv1a.h"
#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/size_limit.h"
#include "core/process/process_events.h"
#include "patterns/crc32c.h"
#include "patterns/predict/recorded_plan.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;
using Path = ShortText<4096>;

// How many streams of this process were on a path, by its hash.
struct Seen {
  std::uint64_t path;
  std::uint32_t streams;
};
constexpr unsigned kMostPaths = 256;
constexpr std::uint32_t kMostKept = 1024;
constinit const PrefetchHost* g_host = nullptr;
constinit Seen g_seen[kMostPaths] = {};
constinit std::uint32_t g_kept = 0;
constinit ThreadLock g_lock;

std::uint64_t hash_of(const char* text) noexcept {
  const std::uint64_t hash = Fnv1a::of(text);
  return hash == 0 ? 1 : hash;
}

// False where there is no home.
bool folder(Path& path, bool make) noexcept {
  const char* const home = g_host->state_home;
  if (home == nullptr) return false;
  path << home << "/iotune/prefetch";
  for (const char* at = path.c_str() + 1; make && *at != '\0'; ++at) {
    if (*at != '/') continue;
    Path above;
    above.add(path.c_str(), static_cast<std::size_t>(at - path.c_str()));
    raw::mkdir(above.c_str(), 0700);
  }
  if (make) raw::mkdir(path.c_str(), 0700);
  return !path.cut();
}

void add_name(Path& path, const KeptKey& key, const char* predictor) noexcept {
  path << '/';
  path.add_hex(key.path);
  const int rank = g_host->world_rank();
  path << '-' << (rank < 0 ? 0 : rank) << '-' << key.ordinal << '.' << predictor;
}

void give_back(std::span<std::byte> memory) noexcept {
  if (!memory.empty()) unmap(memory.data(), memory.size());
}

// A copy: a file that shrinks under its mapping would be a SIGBUS. Empty where it cannot be had.
std::span<std::byte> content_of(int fd) noexcept {
  struct stat status {};
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  constexpr off_t kMostBytes = off_t{64} << 20;
  if (raw::call(SYS_newfstatat, fd, raw::word(""), raw::word(&status), kEmptyPath) != 0 ||
      !S_ISREG(status.st_mode) || status.st_uid != static_cast<uid_t>(raw::getuid()) ||
      status.st_size <= 0 || status.st_size > kMostBytes) {
    return {};
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  auto* const memory = static_cast<std::byte*>(private_memory(bytes));
  if (memory == nullptr) return {};
  if (raw::read(fd, memory, bytes) == status.st_size) return {memory, bytes};
  give_back({memory, bytes});
  return {};
}

// The draft becomes the file of the key, or of the next number that is free.
bool place(const Path& draft, const Path& folder_path, KeptKey& key, const char* predictor,
           bool is_own) noexcept {
  for (; key.ordinal < kMostKeptOfPath; ++key.ordinal) {
    Path path = folder_path;
    add_name(path, key, predictor);
    if (!is_own && raw::call(SYS_linkat, raw::kAtFdcwd, raw::word(draft.c_str()), raw::kAtFdcwd,
                             raw::word(path.c_str()), 0) == 0) {
      raw::unlink(draft.c_str());
      return true;
    }
    const std::span<const std::byte> there =
        is_own ? std::span<const std::byte>() : read_kept(key, predictor);
    const bool is_anothers = !there.empty();
    release_kept(there);
    if (is_anothers) continue;
    return raw::rename(draft.c_str(), path.c_str()) == 0;
  }
  return false;
}

constinit AfterFork g_after_fork([]() noexcept { g_lock.unlock(); });

}  // namespace

void set_up_kept(const PrefetchHost& host) noexcept {
  g_host = &host;
  host.enlist(g_after_fork);
}

KeptKey kept_key(int fd) noexcept {
  ShortText<64> link;
  link << "/proc/self/fd/" << fd;
  char path[4096];
  path[0] = '\0';
  const long bytes = raw::readlink(link.c_str(), path, sizeof path - 1);
  if (bytes <= 0 || path[0] != '/') return {};
  path[bytes] = '\0';
  KeptKey key{hash_of(path), 0};
  const ThreadGuard guard(g_lock);
  for (unsigned i = 0; i < kMostPaths; ++i) {
    Seen& seen = g_seen[(key.path + i) % kMostPaths];
    if (seen.path != 0 && seen.path != key.path) continue;
    if (g_kept == kMostKept || (seen.path != 0 && seen.streams == kMostKeptOfPath)) return {};
    seen.path = key.path;
    key.ordinal = seen.streams++;
    ++g_kept;
    return key;
  }
  return {};
}

std::span<const std::byte> read_kept(const KeptKey& key, const char* predictor) noexcept {
  Path path;
  if (key.path == 0 || !folder(path, false)) return {};
  add_name(path, key, predictor);
  const int fd = raw::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return {};
  const std::span<std::byte> all = content_of(fd);
  raw::close(fd);
  // The last four bytes are the crc of the others.
  if (all.size() >= 4) {
    const std::span<const std::byte> kept = all.first(all.size() - 4);
    std::uint32_t crc = 0;
    std::memcpy(&crc, all.data() + kept.size(), 4);
    if (!kept.empty() && patterns::crc32c(kept.data(), kept.size()) == crc) return kept;
  }
  give_back(all);
  return {};
}

void release_kept(std::span<const std::byte> kept) noexcept {
  if (!kept.empty()) give_back({const_cast<std::byte*>(kept.data()), kept.size() + 4});
}

bool write_kept(KeptKey& key, const char* predictor, std::span<const std::byte> bytes,
                bool is_own) noexcept {
  Path path;
  if (key.path == 0 || bytes.empty() || !folder(path, true)) return false;
  Path draft = path;
  add_name(draft, key, predictor);
  draft << '.' << raw::getpid();
  const int fd =
      raw::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  const std::uint32_t crc = patterns::crc32c(bytes.data(), bytes.size());
  bool written = within_size_limit(bytes.size() + 4) &&
                 raw::write(fd, bytes.data(), bytes.size()) == static_cast<long>(bytes.size()) &&
                 raw::write(fd, &crc, 4) == 4;
  raw::close(fd);
  written = written && place(draft, path, key, predictor, is_own);
  if (!written) raw::unlink(draft.c_str());
  return written;
}

void leave_kept_by_jump() noexcept {
  release_by_jump(g_lock);
}

// A thread of the parent may have held it.
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
  // release_kept gives back as many bytes as there are and four.
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
