#include "logstore/store/survey.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <numeric>

#include "logstore/format.h"
#include "logstore/read/limits.h"
#include "logstore/read/writer_files.h"

namespace iotune::logstore {
namespace {

// A directory that changed less long ago than this may change again and show the same time: times
// of files stand still between ticks of the clock, and servers' clocks differ.
constexpr std::int64_t kSettled = 2'000'000'000;  // ns
// How often a directory is listed again because somebody compacts it meanwhile.
constexpr int kMostLooks = 100;

// As the storage has it now. stat(2) may say what this node learnt a minute ago: NFS's clients
// keep that, and ask only when a file is opened, of which a look at an index is none.
bool ask_storage(int directory, const char* name, Survey::File& to) {
  struct statx fresh {};
  constexpr int kHow = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
  if (statx(directory, name, kHow, STATX_BASIC_STATS, &fresh) == 0) {
    to = {fresh.stx_ino, static_cast<std::int64_t>(fresh.stx_size),
          ns_of({fresh.stx_mtime.tv_sec, fresh.stx_mtime.tv_nsec}),
          static_cast<std::int64_t>(fresh.stx_blocks)};
    return true;
  }
  // A kernel without it, and containers whose filter answers for calls that it does not know.
  if (errno != ENOSYS && errno != EPERM && errno != EINVAL) return false;
  struct stat about {};
  if (fstatat(directory, name, &about, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0) return false;
  to = {about.st_ino, about.st_size, ns_of(about.st_mtim), about.st_blocks};
  return true;
}

bool look_at(int directory, const std::string& name, Survey::File& to) {
  to = {};
  return ask_storage(directory, name.c_str(), to) || errno == ENOENT;
}

bool same(const Survey::File& a, const Survey::File& b) {
  return a.inode == b.inode && a.bytes == b.bytes && a.changed_ns == b.changed_ns;
}

}  // namespace

void Survey::take_names_of(const Survey& before) {
  others = before.others;
  merged_file = before.merged_file;
  merged = before.merged;
  covered_log_bytes = before.covered_log_bytes;
  merged_damage = before.merged_damage;
  listed_ = before.listed_;
}

int Survey::list(int directory, std::uint64_t container_id, const std::string& own,
                 const Survey* before) {
  const ReadLimits limits;
  for (int tries = 0; tries < kMostLooks; ++tries) {
    merged_file = merged_identity(directory);
    auto names = list_container(directory, limits.writers);
    if (!names) return -errno;
    if (before != nullptr && before->merged_file == merged_file && *before->listed_ == *names &&
        merged_identity(directory) == merged_file) {
      take_names_of(*before);
      return 0;
    }
    listed_ = std::make_shared<const ContainerNames>(*names);
    WriterFilesReader files(directory, limits, *names);
    CompactionTraces traces;
    errno = 0;
    auto wrong = files.read_merged(container_id, traces);
    if (!wrong) wrong = files.read_covered(false, traces);
    const int why = errno;
    // What was listed before a compaction must not be read by its merged index.
    if (merged_identity(directory) != merged_file) continue;
    if (wrong) return why != 0 ? -why : -ENOTSUP;
    others.clear();
    for (const auto& [name, of_it] : names->writers) {
      if (name != own) others.push_back({name, {}, {}, 0, {}});
    }
    for (const WriterBytes& grown : files.take_writers()) {
      others.push_back({grown.name, {}, {}, grown.covered_bytes, grown.covered_end});
    }
    std::ranges::sort(others, {}, &Writer::name);
    if (files.covered() != nullptr) covered_log_bytes = files.covered()->log_bytes;
    merged_damage = std::move(traces.merged_damage);
    if (auto found = files.take_merged()) {
      merged = std::make_shared<const MergedIndex>(std::move(*found));
    }
    return 0;
  }
  return -EAGAIN;
}

int Survey::take(int directory, std::uint64_t container_id, const std::string& own,
                 const Survey* before, Survey& to) {
  File of_directory;
  if (!ask_storage(directory, "", of_directory)) return -errno;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  Survey found;
  found.directory_ns = of_directory.changed_ns;
  found.names_may_have_changed = ns_of(now) - found.directory_ns < kSettled;
  if (before != nullptr && !before->names_may_have_changed &&
      before->directory_ns == found.directory_ns) {
    found.take_names_of(*before);
  } else if (const int wrong = found.list(directory, container_id, own, before); wrong != 0) {
    return wrong;
  }
  for (Writer& writer : found.others) {
    const File index = writer.index;
    if (!look_at(directory, writer.name + kIndexEnding, writer.index)) return -errno;
    if (index.inode != 0 && same(index, writer.index)) continue;
    if (!look_at(directory, writer.name + kLogEnding, writer.log)) return -errno;
  }
  to = std::move(found);
  return 0;
}

bool Survey::differs_from(const Survey& before) const {
  if (others.size() != before.others.size() || merged_file != before.merged_file) return true;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (others[i].name != before.others[i].name || !same(others[i].index, before.others[i].index) ||
        others[i].log.inode != before.others[i].log.inode) {
      return true;
    }
  }
  return false;
}

std::int64_t Survey::blocks() const {
  constexpr std::int64_t kBlock = 512;
  std::int64_t sum =
      std::accumulate(covered_log_bytes.begin(), covered_log_bytes.end(), merged_file.size) /
      kBlock;
  for (const Writer& writer : others) sum += writer.log.blocks + writer.index.blocks;
  return sum;
}

}  // namespace iotune::logstore
