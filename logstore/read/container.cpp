#include "logstore/read/container.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

namespace iotune::logstore {
namespace {

Error failed(const std::string& path, const char* what) {
  return {path, std::string(what) + ": " + std::strerror(errno)};
}

// Logs that one read() holds open at a time.
constexpr std::size_t kMostOpenLogs = 128;

struct OpenFile {
  Descriptor descriptor;
  std::int64_t size = 0;
};

// Nothing but a regular file, and nothing that a link leads to. O_NONBLOCK: a pipe of that name
// would never open.
Result<OpenFile> open_regular(int directory, const std::string& name) {
  OpenFile file;
  file.descriptor =
      Descriptor(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (file.descriptor.get() < 0) {
    if (errno == ELOOP) return Error{name, "is a link; a container has none"};
    return failed(name, "cannot be opened");
  }
  if (fstat(file.descriptor.get(), &about) != 0) return failed(name, "cannot be looked at");
  if (!S_ISREG(about.st_mode)) return Error{name, "is no regular file"};
  file.size = about.st_size;
  return file;
}

// Reads until `to` is full or the file ends. -1: errno says why.
ssize_t read_at(int fd, std::span<std::byte> to, std::int64_t offset) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t some =
        pread(fd, to.data() + done, to.size() - done, offset + static_cast<std::int64_t>(done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return -1;
    if (some == 0) break;
    done += static_cast<std::size_t>(some);
  }
  return static_cast<ssize_t>(done);
}

// The name of a writer, if the file is one of its two.
std::optional<std::string> writer_of(const std::string& name, const std::string& ending) {
  if (name.size() <= ending.size() || !name.ends_with(ending)) return std::nullopt;
  std::string writer = name.substr(0, name.size() - ending.size());
  if (!is_writer_name(writer.data(), writer.size())) return std::nullopt;
  return writer;
}

bool write_whole(int directory, const char* name, std::span<const std::byte> bytes) {
  const Descriptor file(
      openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.get() < 0) return false;
  while (!bytes.empty()) {
    const ssize_t some = write(file.get(), bytes.data(), bytes.size());
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(some));
  }
  return fsync(file.get()) == 0;
}

// rename(2) replaces an empty directory; not all file systems know how not to.
bool rename_to_free_name(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  return (errno == EINVAL || errno == ENOSYS) && rename(from.c_str(), to.c_str()) == 0;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::release() noexcept {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

std::optional<Error> make_container(const std::string& path, const Description& description) {
  const std::size_t slash = path.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string made = path + "." + std::to_string(description.container_id) + ".new";
  if (mkdir(made.c_str(), 0777) != 0) return failed(path, "cannot be made");
  std::array<std::byte, kHeadBytes> head{};
  write_description(description, head);
  const auto readme = std::as_bytes(std::span(kReadmeText, std::strlen(kReadmeText)));
  bool done = false;
  {
    const Descriptor directory(::open(made.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    done = directory.get() >= 0 && write_whole(directory.get(), kReadmeName, readme) &&
           write_whole(directory.get(), kDescriptionName, head) && fsync(directory.get()) == 0 &&
           rename_to_free_name(made, path);
  }
  if (!done) {
    const Error wrong = failed(path, "cannot be made");
    for (const char* name : {kReadmeName, kDescriptionName}) {
      unlink((made + "/" + name).c_str());
    }
    rmdir(made.c_str());
    return wrong;
  }
  const Descriptor above(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (above.get() < 0 || fsync(above.get()) != 0) return failed(parent, "cannot be synced");
  return std::nullopt;
}

bool Container::is_at(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return false;
  const auto file = open_regular(directory.get(), kDescriptionName);
  std::array<std::byte, kHeadBytes> head{};
  if (!file || read_at(file->descriptor.get(), head, 0) != kHeadBytes) return false;
  Description description{};
  std::uint32_t version = 0;
  return read_description(head, description, version) != HeadProblem::kNotOurs;
}

Result<Container> Container::open(const std::string& path, const ReadLimits& limits) {
  Container container;
  container.path_ = path;
  container.directory_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (container.directory_.get() < 0) return failed(path, "cannot be opened");
  const auto file = open_regular(container.directory_.get(), kDescriptionName);
  if (!file) return Error{path, "is no container: " + file.error().text()};
  std::array<std::byte, kHeadBytes> head{};
  const ssize_t size = read_at(file->descriptor.get(), head, 0);
  if (size < 0) return failed(path, "cannot be read");
  std::uint32_t version = 0;
  const HeadProblem problem = size == kHeadBytes
                                  ? read_description(head, container.description_, version)
                                  : HeadProblem::kNotOurs;
  switch (problem) {
    case HeadProblem::kNone:
      break;
    case HeadProblem::kNewer:
      return Error{path, "is a container of version " + std::to_string(version) +
                             "; this iotune reads " + std::to_string(kFormatVersion)};
    case HeadProblem::kUnknownFlags:
      return Error{path, "is a container with flags that this iotune does not know"};
    case HeadProblem::kDamaged:
      return Error{path, "has a damaged description"};
    case HeadProblem::kNotOurs:
      return Error{path, "is no container"};
  }
  if (auto wrong = container.read_writers(limits)) {
    wrong->path = wrong->path.empty() ? path : path + "/" + wrong->path;
    return *wrong;
  }
  return container;
}

std::optional<Error> Container::read_writers(const ReadLimits& limits) {
  // A descriptor of its own: closedir() closes it.
  const int again = openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : fdopendir(again),
                                                    [](DIR* open) { return closedir(open); });
  if (entries == nullptr) return failed("", "cannot be listed");
  struct Files {
    bool log = false;
    bool index = false;
  };
  std::map<std::string, Files> found;
  errno = 0;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (const auto log = writer_of(name, kLogEnding)) {
      found[*log].log = true;
    } else if (const auto index = writer_of(name, kIndexEnding)) {
      found[*index].index = true;
    } else if (name != "." && name != ".." && name != kReadmeName && name != kDescriptionName) {
      strangers_.push_back(name);
    }
    if (found.size() > limits.writers || strangers_.size() > limits.writers) {
      return Error{"", "has more files than the limit allows"};
    }
    errno = 0;
  }
  if (errno != 0) return failed("", "cannot be listed");
  std::ranges::sort(strangers_);

  std::vector<WriterBytes> writers;
  std::vector<std::vector<std::byte>> indexes;
  std::uint64_t index_bytes = 0;
  for (const auto& [name, files] : found) {
    WriterBytes writer{name, {}, 0};
    // The index first: what it tells of is then in the log, should somebody be writing.
    indexes.emplace_back();
    if (files.index) {
      auto index = open_regular(directory_.get(), name + kIndexEnding);
      if (!index) return index.error();
      index_bytes += static_cast<std::uint64_t>(index->size);
      if (index_bytes > limits.index_bytes) {
        return Error{name + kIndexEnding, "makes the indexes larger than the limit allows"};
      }
      indexes.back().resize(static_cast<std::size_t>(index->size));
      const ssize_t size = read_at(index->descriptor.get(), indexes.back(), 0);
      if (size < 0) return failed(name + kIndexEnding, "cannot be read");
      indexes.back().resize(static_cast<std::size_t>(size));
      writer.index = indexes.back();
    }
    if (files.log) {
      auto log = open_regular(directory_.get(), name + kLogEnding);
      if (!log) return log.error();
      writer.log_bytes = log->size;
    }
    writers.push_back(std::move(writer));
  }
  auto map = LogMap::merge(description_.container_id, std::move(writers), reports_, limits);
  if (!map) return map.error();
  map_ = std::move(*map);
  return std::nullopt;
}

Result<std::size_t> Container::read(std::int64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  std::optional<Error> wrong;
  std::map<std::uint32_t, OpenFile> logs;
  const auto most = static_cast<std::int64_t>(
      std::min<std::size_t>(to.size(), static_cast<std::size_t>(kLargestFile)));
  map_.for_each_piece(offset, most, [&](const LogPiece& piece) {
    if (wrong) return;
    const auto part = to.subspan(done, static_cast<std::size_t>(piece.length));
    done += part.size();
    if (piece.kind == LogPiece::Kind::kHole) {
      std::ranges::fill(part, std::byte{0});
      return;
    }
    const std::string name = map_.writer_name(piece.writer) + kLogEnding;
    const std::string where = path_ + "/" + name;
    if (piece.kind == LogPiece::Kind::kMissing) {
      wrong = Error{where, "has lost bytes that were synced"};
      return;
    }
    auto log = logs.find(piece.writer);
    if (log == logs.end()) {
      auto opened = open_regular(directory_.get(), name);
      if (!opened) {
        wrong = Error{where, opened.error().message};
        return;
      }
      if (logs.size() == kMostOpenLogs) logs.clear();
      log = logs.emplace(piece.writer, std::move(*opened)).first;
    }
    const ssize_t size = read_at(log->second.descriptor.get(), part, piece.physical);
    if (size < 0) wrong = failed(where, "cannot be read");
    if (size >= 0 && static_cast<std::size_t>(size) < part.size()) {
      wrong = Error{where, "became shorter while it was read"};
    }
  });
  if (wrong) return *wrong;
  return done;
}

}  // namespace iotune::logstore
