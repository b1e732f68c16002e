#include "logstore/store/survey.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>

#include "logstore/format.h"
#include "logstore/read/container_files.h"
#include "logstore/read/limits.h"

namespace iotune::logstore {
namespace {

// A directory that changed less long ago than this may change again and show the same time: times
// of files stand still between ticks of the clock, and servers' clocks differ.
constexpr std::int64_t kSettled = 2'000'000'000;  // ns

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool look_at(int directory, const std::string& name, Survey::File& to) {
  struct stat about {};
  to = {};
  if (fstatat(directory, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  to = {about.st_ino, about.st_size, ns_of(about.st_mtim), about.st_blocks};
  return true;
}

bool same(const Survey::File& a, const Survey::File& b) {
  return a.inode == b.inode && a.bytes == b.bytes && a.changed_ns == b.changed_ns;
}

}  // namespace

int Survey::take(int directory, const std::string& own, const Survey* before, Survey& to) {
  struct stat about {};
  if (fstat(directory, &about) != 0) return -errno;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  Survey found;
  found.directory_ns = ns_of(about.st_mtim);
  found.names_may_have_changed = ns_of(now) - found.directory_ns < kSettled;
  if (before != nullptr && !before->names_may_have_changed &&
      before->directory_ns == found.directory_ns) {
    found.others = before->others;
  } else {
    const auto names = list_container(directory, ReadLimits{}.writers);
    if (!names) return -errno;
    for (const auto& [name, files] : names->writers) {
      if (name != own) found.others.push_back({name, {}, {}});
    }
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
  if (others.size() != before.others.size()) return true;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (others[i].name != before.others[i].name || !same(others[i].index, before.others[i].index) ||
        others[i].log.inode != before.others[i].log.inode) {
      return true;
    }
  }
  return false;
}

std::int64_t Survey::blocks() const {
  std::int64_t sum = 0;
  for (const Writer& writer : others) sum += writer.log.blocks + writer.index.blocks;
  return sum;
}

}  // namespace iotune::logstore
