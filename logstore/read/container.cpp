#include "logstore/read/container.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "logstore/read/container_reader.h"
#include "logstore/read/listing.h"
#include "logstore/read/writer_files.h"

namespace iotune::logstore {
namespace {

// How often a container is read again because somebody compacts it meanwhile.
constexpr int kMostTries = 100;

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

Result<Container> Container::open(const std::string& path, const ReadLimits& limits, Logs logs) {
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
  auto wrong = container.read_writers(limits, logs);
  // What was listed before a compaction must not be read by its merged index, nor without it.
  for (int tries = 0; tries < kMostTries && container.is_replaced(); ++tries) {
    wrong = container.read_writers(limits, logs);
  }
  if (wrong) {
    wrong->path = wrong->path.empty() ? path : path + "/" + wrong->path;
    return *wrong;
  }
  return container;
}

std::optional<Error> Container::read_writers(const ReadLimits& limits, Logs logs) {
  strangers_.clear();
  compaction_ = {};
  merged_ = identity_of(directory_.get(), kMergedName);
  Listing listing;
  if (auto wrong = list_container(directory_.get(), limits.writers, listing)) return wrong;
  strangers_ = std::move(listing.strangers);
  WriterFilesReader files(directory_.get(), limits, listing);
  if (auto wrong = files.read_merged(description_.container_id, compaction_)) return wrong;
  if (auto wrong = files.read_covered(logs == Logs::kLookAtAll, compaction_)) return wrong;
  if (auto wrong = files.read_others(compaction_)) return wrong;
  auto map = LogMap::merge(description_.container_id, files.take_writers(), reports_, limits,
                           files.covered());
  if (!map) return map.error();
  map_ = std::move(*map);
  return std::nullopt;
}

Result<std::size_t> Container::read(std::int64_t offset, std::span<std::byte> to) const {
  return ContainerReader(*this).read(offset, to);
}

}  // namespace iotune::logstore
