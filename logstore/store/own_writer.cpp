#include "logstore/store/own_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <span>

#include "logstore/format.h"
#include "logstore/read/make_container.h"

namespace iotune::logstore {
namespace {

constexpr int kMostTries = 100'000;
constexpr std::size_t kLongestHost = 64;

// As the first part of a writer's name may be.
std::string host_name() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string name = host;
  if (name.size() > kLongestHost) name.resize(kLongestHost);
  for (char& c : name) {
    if (!is_writer_name(&c, 1) && c != '.' && c != '_') c = '-';
  }
  if (name.empty() || !is_writer_name(name.data(), name.size())) name.insert(0, "host");
  return name;
}

// A file in a container that was removed: beside it, as long as its name can be had.
int open_unnamed(int directory) {
  const int made = openat(directory, "..", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made >= 0) return made;
  char name[48];
  std::snprintf(name, sizeof name, "../.iotune-%016llx.log",
                static_cast<unsigned long long>(random_id()));
  const int named = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (named >= 0) unlinkat(directory, name, 0);
  return named;
}

// Who may read the file must be able to read its logs, whatever the umask of this process; and its
// owner must, if it is root that writes for others.
void give_access_of_handle(int directory, int log, int index, struct stat& handle) {
  struct stat description {};
  struct stat made {};
  const bool has_handle = fstatat(directory, kHandleName, &handle, AT_SYMLINK_NOFOLLOW) == 0;
  if (!has_handle) handle = {};
  if (!has_handle && fstatat(directory, kDescriptionName, &description, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  const struct stat& like = has_handle ? handle : description;
  if (fstat(log, &made) != 0) return;
  const mode_t mode = inner_file_mode(like.st_mode);
  const bool is_others =
      geteuid() == 0 && (made.st_uid != like.st_uid || made.st_gid != like.st_gid);
  for (const int fd : {log, index}) {
    if ((made.st_mode & 07777) != mode && fchmod(fd, mode) != 0) {
      // A file system without modes: then nothing depends on them.
    }
    if (is_others && fchown(fd, like.st_uid, like.st_gid) != 0) {
      // A file system that keeps no owners.
    }
  }
}

}  // namespace

OwnWriter::OwnWriter(Descriptor log, Descriptor index, std::string name)
    : log_(std::move(log)),
      index_(std::move(index)),
      name_(std::move(name)),
      buffer_(log_.get()),
      // Not set to anything: pages that are never used are never there.
      arena_(new std::uint64_t[LogWriter::arena_bytes() / sizeof(std::uint64_t) + 1]),
      core_(file_of(buffer_), file_of(index_), clock(),
            std::as_writable_bytes(
                std::span(arena_.get(), LogWriter::arena_bytes() / sizeof(std::uint64_t) + 1))) {}

std::string OwnWriter::name_prefix() {
  return host_name() + "." + std::to_string(getpid()) + ".";
}

int OwnWriter::make(int directory, std::uint64_t container_id, unsigned& number,
                    struct stat& handle, std::shared_ptr<OwnWriter>& to) {
  const std::string prefix = name_prefix();
  Descriptor log;
  Descriptor index;
  std::string name;
  for (int tries = 0; !index; ++tries) {
    if (tries == kMostTries) return -EEXIST;
    name = prefix + std::to_string(number++);
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    log = Descriptor(openat(directory, (name + kLogEnding).c_str(), kFlags, 0666));
    if (!log) {
      if (errno == EEXIST) continue;
      if (errno != ENOENT) return -errno;
      log = Descriptor(open_unnamed(directory));
      index = Descriptor(open_unnamed(directory));
      if (!log || !index) return -errno;
      name.clear();
      break;
    }
    index = Descriptor(openat(directory, (name + kIndexEnding).c_str(), kFlags, 0666));
    if (index) break;
    const int wrong = errno;
    unlinkat(directory, (name + kLogEnding).c_str(), 0);
    if (wrong != EEXIST) return -wrong;
  }
  if (!name.empty()) give_access_of_handle(directory, log.get(), index.get(), handle);
  std::shared_ptr<OwnWriter> made(
      new OwnWriter(moved_high(std::move(log)), moved_high(std::move(index)), std::move(name)));
  const int wrong = made->core_.begin(container_id);
  if (wrong == 0) {
    to = std::move(made);
  } else if (!made->name_.empty()) {
    unlinkat(directory, (made->name_ + kIndexEnding).c_str(), 0);
    unlinkat(directory, (made->name_ + kLogEnding).c_str(), 0);
  }
  return wrong;
}

bool OwnWriter::is_gone() const noexcept {
  struct stat log {};
  return name_.empty() || fstat(log_.get(), &log) != 0 || log.st_nlink == 0;
}

// Data before index: what an index tells of is in the log. Where the log has no room for the last
// bytes, the index tells of more; readers leave that out, and have what came before.
int OwnWriter::flush() noexcept {
  if (lost_ != 0) return lost_;
  const int no_room = buffer_.write_out();
  // What the storage refused now is lost, like after a sync that failed: the kernel reported it
  // once and let go of the bytes. An index that tells of them would make them zeros.
  if (lost_ = pass_on(log_.get()); lost_ != 0) return lost_;
  if (const int wrong = core_.flush(); wrong != 0) return wrong;
  if (core_.index_bytes() != passed_on_) {
    lost_ = pass_on(index_.get());
    if (lost_ != 0) return lost_;
    passed_on_ = core_.index_bytes();
  }
  return no_room;
}

int OwnWriter::sync() noexcept {
  if (lost_ != 0) return lost_;
  if (const int wrong = buffer_.write_out(); wrong != 0) return wrong;
  return core_.sync();
}

LogFile OwnWriter::file_of(LogBuffer& buffer) noexcept {
  return {&buffer,
          [](void* self, const void* from, std::size_t size, std::int64_t offset) noexcept {
            return static_cast<LogBuffer*>(self)->write_at(from, size, offset);
          },
          [](void* self) noexcept { return static_cast<LogBuffer*>(self)->sync(); }};
}

LogFile OwnWriter::file_of(Descriptor& descriptor) noexcept {
  return {&descriptor,
          [](void* self, const void* from, std::size_t size, std::int64_t offset) noexcept {
            const int fd = static_cast<Descriptor*>(self)->get();
            for (;;) {
              const ssize_t some = pwrite(fd, from, size, offset);
              if (some >= 0) return std::int64_t{some};
              if (errno != EINTR) return std::int64_t{-errno};
            }
          },
          [](void* self) noexcept {
            return fdatasync(static_cast<Descriptor*>(self)->get()) != 0 ? -errno : 0;
          }};
}

LogClock OwnWriter::clock() noexcept {
  return {&latest_ns_, [](void* latest) noexcept {
            timespec now{};
            clock_gettime(CLOCK_REALTIME, &now);
            return *static_cast<std::int64_t*>(latest) =
                       std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
          }};
}

}  // namespace iotune::logstore
