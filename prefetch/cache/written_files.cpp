#include "prefetch/cache/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/os/directory_entries.h"
#include "core/os/fnv1a.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/process_events.h"
#include "core/process/process_namespace.h"
#include "prefetch/budget/shared_table.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::prefetch {
namespace {

using recorder::kMaxDescriptors;

constexpr unsigned kWords = 4096, kProcesses = 512, kEntries = 60;

// A word: who may write in the low bits, above them a count of changes.
constexpr unsigned kWriterBits = 24;
constexpr std::uint64_t kOneChange = std::uint64_t{1} << kWriterBits;

// A process's share of the words, so that it can be taken back when the process is dead: number of
// the word and how many, 0: free. What has no room stays until nobody has the table any more.
using Entry = std::uint32_t;
constexpr unsigned kCountBits = 20;
constexpr Entry entry_of(unsigned word, unsigned count) noexcept {
  return word << kCountBits | count;
}
constexpr Entry kCount = (Entry{1} << kCountBits) - 1;

// Zero is free. A process id, and above it the number of its space of process ids: who is in
// another one cannot be asked whether it lives.
using Owner = std::uint64_t;

struct Process {
  std::atomic<Owner> owner;
  std::atomic<std::uint64_t> run;  // of a rank: its run's print
  std::atomic<Entry> entries[kEntries];
};
// The file, as fallocate makes it: all zero is an empty table.
struct Table {
  Process processes[kProcesses];
  std::atomic<std::uint64_t> words[kWords];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

constinit Table* g_table = nullptr;
constinit std::uint64_t g_table_device = 0, g_table_inode = 0;
constinit ShortText<512> g_path;
constinit std::atomic<Process*> g_own{nullptr};  // nullptr: there was no room
constinit std::uint64_t g_space = 0;             // of process ids
constinit long g_pid = 0;
// Of each descriptor that may write the number of its word, and one. What has a higher number
// counts until the process ends.
constinit std::atomic<std::uint16_t> g_writing[kMaxDescriptors] = {};
constinit std::atomic<int> g_highest{-1};
// Words of what was mapped; a child of fork has the mappings too.
constexpr unsigned kMostMapped = 64;
constinit std::atomic<std::uint16_t> g_mapped[kMostMapped] = {};

unsigned word_number(std::uint64_t device, std::uint64_t inode) noexcept {
  std::uint64_t mixed = inode * 0x9E3779B97F4A7C15u ^ device * 0xC2B2AE3D27D4EB4Fu;
  mixed ^= mixed >> 29;
  return static_cast<unsigned>(mixed * 0x9E3779B97F4A7C15u >> 52);
}
static_assert(kWords == 1u << 12);

void count_in(Process* process, unsigned word) noexcept {
  if (process == nullptr) return;
  for (std::atomic<Entry>& entry : process->entries) {
    Entry now = entry.load(std::memory_order_relaxed);
    while (now == 0 || (now >> kCountBits == word && (now & kCount) != kCount)) {
      const Entry more = now == 0 ? entry_of(word, 1) : now + 1;
      if (entry.compare_exchange_weak(now, more, std::memory_order_seq_cst)) return;
    }
  }
}

void count_out(Process* process, unsigned word) noexcept {
  if (process == nullptr) return;
  for (std::atomic<Entry>& entry : process->entries) {
    Entry now = entry.load(std::memory_order_relaxed);
    while (now != 0 && now >> kCountBits == word) {
      const Entry less = (now & kCount) == 1 ? 0 : now - 1;
      if (entry.compare_exchange_weak(now, less, std::memory_order_seq_cst)) return;
    }
  }
}

// First in the word, then in the process's share, and out the other way round: a death in between
// leaves the word too high.
void add_writer(unsigned word) noexcept {
  g_table->words[word].fetch_add(kOneChange + 1, std::memory_order_seq_cst);
  count_in(g_own.load(std::memory_order_acquire), word);
}

void remove_writer(unsigned word) noexcept {
  count_out(g_own.load(std::memory_order_acquire), word);
  g_table->words[word].fetch_add(kOneChange - 1, std::memory_order_seq_cst);
}

// Of a process that is dead, or has executed another program. A process that dies in here leaves
// its own number as the owner's: the next one goes on.
void take_back(Process& process) noexcept {
  for (std::atomic<Entry>& entry : process.entries) {
    const Entry had = entry.exchange(0, std::memory_order_seq_cst);
    const std::uint64_t count = had & kCount;
    if (count == 0) continue;
    g_table->words[had >> kCountBits].fetch_add(kOneChange - count, std::memory_order_seq_cst);
  }
  process.run.store(0, std::memory_order_relaxed);
  process.owner.store(0, std::memory_order_release);
}

Owner own_name() noexcept {
  return g_space << 32 | static_cast<std::uint32_t>(g_pid);
}

Process* claim() noexcept {
  for (Process& process : g_table->processes) {
    Owner none = 0;
    if (process.owner.load(std::memory_order_relaxed) == 0 &&
        process.owner.compare_exchange_strong(none, own_name(), std::memory_order_acq_rel)) {
      return &process;
    }
  }
  return nullptr;
}

bool is_dead(Owner owner) noexcept {
  if (g_space == 0 || owner >> 32 != g_space) return false;
  constexpr long kNoSuchProcess = -ESRCH;
  return raw::call(SYS_kill, static_cast<long>(owner & 0xffffffffu), 0) == kNoSuchProcess;
}

bool status_of(int directory, const char* path, long flags, struct statx& status) noexcept {
  constexpr long kAsTheKernelKnowsIt = 0x4000;  // AT_STATX_DONT_SYNC
  return raw::call(SYS_statx, directory, raw::word(path), flags | kAsTheKernelKnowsIt,
                   STATX_BASIC_STATS, raw::word(&status)) == 0;
}

std::uint64_t device_of(const struct statx& status) noexcept {
  return device_number(status.stx_dev_major, status.stx_dev_minor);
}

// The word of what may be cached; files of the table's own storage are in memory anyway.
bool word_of(const struct statx& status, unsigned& word) noexcept {
  if (!S_ISREG(status.stx_mode) || device_of(status) == g_table_device) return false;
  word = word_number(device_of(status), status.stx_ino);
  return true;
}

constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH

void note_writer(int fd) noexcept {
  struct statx status {};
  unsigned word = 0;
  if (!status_of(fd, "", kEmptyPath, status) || !word_of(status, word)) return;
  add_writer(word);
  if (fd >= kMaxDescriptors) return;
  const auto had = g_writing[fd].exchange(static_cast<std::uint16_t>(word + 1));
  if (had != 0) remove_writer(had - 1u);
  int highest = g_highest.load(std::memory_order_relaxed);
  while (highest < fd && !g_highest.compare_exchange_weak(highest, fd)) {
  }
}

bool may_write(int fd) noexcept {
  const long flags = raw::call(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
}

// What a program finds open when it begins. False where that is not known.
bool note_inherited() noexcept {
  const int directory = open_directory(raw::kAtFdcwd, "/proc/self/fd");
  if (directory < 0) return false;
  alignas(8) char entries[4096] = {};
  const bool all = for_each_entry(directory, entries, [=](const char* name) noexcept {
    if (name[0] < '0' || name[0] > '9') return true;
    const auto fd = static_cast<int>(parse_decimal(name));
    if (fd != directory && may_write(fd)) note_writer(fd);
    return true;
  });
  raw::close(directory);
  return all;
}

std::uint64_t print_of(const char* run_id) noexcept {
  return Fnv1a::of(run_id) | 1;
}

std::int64_t ns_of(const statx_timestamp& time) noexcept {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// The child has its parent's descriptors and mappings, and a share of its own in the words.
constinit AfterFork g_after_fork([]() noexcept {
  g_pid = raw::getpid();
  g_own.store(nullptr, std::memory_order_relaxed);
  g_own.store(claim(), std::memory_order_release);
  for (int fd = 0; fd <= g_highest.load(std::memory_order_relaxed); ++fd) {
    const std::uint16_t word = g_writing[fd].load(std::memory_order_relaxed);
    if (word != 0) add_writer(word - 1u);
  }
  for (const std::atomic<std::uint16_t>& place : g_mapped) {
    const std::uint16_t word = place.load(std::memory_order_relaxed);
    if (word != 0) add_writer(word - 1u);
  }
});

}  // namespace

bool stamp_of(int fd, FileStamp& stamp) noexcept {
  struct statx status {};
  if (!status_of(fd, "", kEmptyPath, status) || !S_ISREG(status.stx_mode)) return false;
  stamp = {device_of(status), status.stx_ino, status.stx_size, ns_of(status.stx_mtime),
           ns_of(status.stx_ctime)};
  return true;
}

const char* set_up_written_files(const PrefetchHost& host) noexcept {
  const char* const directory = host.buffer_root();
  if (directory == nullptr) return "there is no private directory for its table";
  // The number is that of the table's form.
  g_path << directory << "/written-files-2";
  if (g_path.cut()) return "the path of its table is too long";
  const SharedTable mapped =
      map_shared_table(g_path.c_str(), sizeof(Table), TableStorage::kMemoryAlone,
                       [](const void*) noexcept { return true; });
  if (mapped.memory == nullptr) return mapped.fault;
  g_table_device = mapped.device;
  g_table_inode = mapped.inode;
  g_table = static_cast<Table*>(mapped.memory);
  host.enlist(g_after_fork);
  g_pid = raw::getpid();
  g_space = process_namespace() & 0xffffffffu;
  forget_dead_writers();
  // A program that was executed has its process's number from the one before: first what it
  // inherited is counted, then what that one had is taken back.
  Process* const own = claim();
  g_own.store(own, std::memory_order_release);
  const bool knows = note_inherited();
  for (Process& process : g_table->processes) {
    if (&process != own && process.owner.load(std::memory_order_acquire) == own_name()) {
      take_back(process);
    }
  }
  return knows ? nullptr : "/proc/self/fd cannot be read";
}

std::uint64_t file_word(const FileStamp& stamp) noexcept {
  if (g_table == nullptr || stamp.device == g_table_device) return 1;
  return g_table->words[word_number(stamp.device, stamp.inode)].load(std::memory_order_seq_cst);
}

bool may_be_written(std::uint64_t word) noexcept {
  return (word & (kOneChange - 1)) != 0;
}

bool table_stands() noexcept {
  struct statx status {};
  constexpr long kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW
  return g_table != nullptr && status_of(raw::kAtFdcwd, g_path.c_str(), kNoFollow, status) &&
         status.stx_ino == g_table_inode && device_of(status) == g_table_device;
}

void forget_dead_writers() noexcept {
  if (g_table == nullptr) return;
  for (Process& process : g_table->processes) {
    Owner owner = process.owner.load(std::memory_order_acquire);
    if (owner == 0 || owner == own_name() || !is_dead(owner)) continue;
    if (process.owner.compare_exchange_strong(owner, own_name(), std::memory_order_acq_rel)) {
      take_back(process);
    }
  }
}

std::uint32_t before_change(int directory, const char* path) noexcept {
  struct statx status {};
  unsigned word = 0;
  if (g_table == nullptr || !status_of(directory, path, 0, status) || !word_of(status, word)) {
    return 0;
  }
  add_writer(word);
  return word + 1;
}

void after_change(std::uint32_t token) noexcept {
  remove_writer(token - 1);
}

void opened(int fd, int flags) noexcept {
  if (g_table == nullptr) return;
  const bool reads_only = flags != -1 ? (flags & (O_ACCMODE | O_PATH)) == O_RDONLY : !may_write(fd);
  if (!reads_only && (flags == -1 || (flags & O_PATH) == 0)) {
    note_writer(fd);
  } else if (const std::uint32_t token = before_any_close(fd)) {
    after_any_close(token);  // it was closed where nobody saw it
  }
}

std::uint32_t before_any_close(int fd) noexcept {
  if (static_cast<unsigned>(fd) >= static_cast<unsigned>(kMaxDescriptors)) return 0;
  if (g_writing[fd].load(std::memory_order_relaxed) == 0) return 0;
  if (raw::getpid() != g_pid) return 0;  // a child of vfork: its parent's stays open
  return g_writing[fd].exchange(0);
}

void after_any_close(std::uint32_t token) noexcept {
  remove_writer(token - 1);
}

void mapped(int fd) noexcept {
  struct statx status {};
  unsigned word = 0;
  if (g_table == nullptr || !may_write(fd) || !status_of(fd, "", kEmptyPath, status) ||
      !word_of(status, word)) {
    return;
  }
  for (std::atomic<std::uint16_t>& place : g_mapped) {
    std::uint16_t now = 0;
    if (place.compare_exchange_strong(now, static_cast<std::uint16_t>(word + 1))) break;
    if (now == word + 1) return;
  }
  // For as long as the process lives: a part of the mapping may be left of any munmap.
  add_writer(word);
}

void register_rank(const char* run_id) noexcept {
  Process* const own = g_own.load(std::memory_order_acquire);
  if (own != nullptr) own->run.store(print_of(run_id), std::memory_order_seq_cst);
}

unsigned registered_ranks(const char* run_id) noexcept {
  if (g_table == nullptr) return 0;
  unsigned count = 0;
  for (const Process& process : g_table->processes) {
    if (process.owner.load(std::memory_order_acquire) != 0 &&
        process.run.load(std::memory_order_seq_cst) == print_of(run_id)) {
      ++count;
    }
  }
  return count;
}

}  // namespace iotune::prefetch
