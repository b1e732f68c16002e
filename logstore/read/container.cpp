#include "logstore/read/container.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace iotune::logstore {
namespace {

Error failed(const std::string& path, const char* what) {
  return {path, std::string(what) + ": " + std::strerror(errno)};
}

// Logs that are held open at a time.
constexpr std::size_t kMostOpenLogs = 128;

}  // namespace

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
  container.logs_ = std::make_unique<OpenLogs>(kMostOpenLogs);
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
  auto names = list_container(directory_.get(), limits.writers);
  if (!names) return names.error();
  strangers_ = std::move(names->strangers);
  struct stat handle {};
  if (fstatat(directory_.get(), kHandleName, &handle, AT_SYMLINK_NOFOLLOW) == 0) {
    handle_bytes_ = handle.st_size;
  }

  std::vector<WriterBytes> writers;
  std::vector<std::vector<std::byte>> indexes;
  std::uint64_t index_bytes = 0;
  for (const auto& [name, files] : names->writers) {
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
    const auto log = logs_->open(directory_.get(), name);
    if (!log) {
      wrong = Error{where, log.error().message};
      return;
    }
    const ssize_t size = read_at((*log)->descriptor.get(), part, piece.physical);
    if (size < 0) wrong = failed(where, "cannot be read");
    if (size >= 0 && static_cast<std::size_t>(size) < part.size()) {
      wrong = Error{where, "became shorter while it was read"};
    }
  });
  if (wrong) return *wrong;
  return done;
}

}  // namespace iotune::logstore
