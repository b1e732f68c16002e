#include "logstore/read/container.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "logstore/read/writer_files.h"

namespace iotune::logstore {
namespace {

// Logs that are held open at a time.
constexpr std::size_t kMostOpenLogs = 128;
// How often a container is read again because somebody compacts it meanwhile.
constexpr int kMostTries = 100;

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

Result<Container> Container::open(const std::string& path, const ReadLimits& limits, Logs logs) {
  Container container;
  container.path_ = path;
  container.logs_ = std::make_unique<OpenLogs>(kMostOpenLogs);
  container.directory_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (container.directory_.get() < 0) return file_error(path, "cannot be opened");
  const auto file = open_regular(container.directory_.get(), kDescriptionName);
  if (!file) return Error{path, "is no container: " + file.error().text()};
  std::array<std::byte, kHeadBytes> head{};
  const ssize_t size = read_at(file->descriptor.get(), head, 0);
  if (size < 0) return file_error(path, "cannot be read");
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

namespace {

// Of the handle, where something was written to it. What was taken in while somebody wrote is left
// there as zeros, of which the file has as many.
std::int64_t bytes_past_logs(int directory, std::int64_t file_size) {
  struct stat about {};
  if (fstatat(directory, kHandleName, &about, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  if (about.st_size == 0 || about.st_size > file_size) return about.st_size;
  const auto handle = open_regular(directory, kHandleName);
  if (!handle) return about.st_size;
  std::array<std::byte, 65536> chunk;
  const int fd = handle->descriptor.get();
  for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
    const ssize_t got = read_at(fd, chunk, at);
    if (got < 0) return about.st_size;
    if (got == 0) return 0;
    const auto read = std::span(chunk).first(static_cast<std::size_t>(got));
    if (std::ranges::any_of(read, [](std::byte one) { return one != std::byte{0}; })) {
      return about.st_size;
    }
    at += got;
  }
  return 0;
}

}  // namespace

std::optional<Error> Container::read_writers(const ReadLimits& limits, Logs logs) {
  compaction_ = {};
  merged_ = merged_identity(directory_.get());
  auto names = list_container(directory_.get(), limits.writers);
  if (!names) return names.error();
  strangers_ = std::move(names->strangers);
  WriterFilesReader files(directory_.get(), limits, *names);
  if (auto wrong = files.read_merged(description_.container_id, compaction_)) return wrong;
  if (auto wrong = files.read_covered(logs == Logs::kLookAtAll, compaction_)) return wrong;
  if (auto wrong = files.read_others(compaction_)) return wrong;
  auto map = LogMap::merge(description_.container_id, files.take_writers(), reports_, limits,
                           files.covered());
  if (!map) return map.error();
  map_ = std::move(*map);
  handle_bytes_ = bytes_past_logs(directory_.get(), map_.size());
  return std::nullopt;
}

std::optional<Error> Container::run(ReadPlan& plan, std::byte* to) const {
  std::optional<Error> unopened;
  ReadPlan::Wrong wrong;
  const std::int64_t right = plan.run(
      to,
      [&](std::uint32_t writer, LogToRead& log) {
        auto opened = logs_->open(directory_.get(), map_.writer_name(writer) + kLogEnding);
        if (!opened) {
          const int number = errno;
          if (!unopened) unopened = Error{"", opened.error().message};
          return -number;
        }
        log = {(*opened)->descriptor.get(), *opened};
        return 0;
      },
      wrong);
  if (right == plan.bytes()) return std::nullopt;
  const std::string path = path_ + "/" + map_.writer_name(wrong.log) + kLogEnding;
  if (unopened) return Error{path, unopened->message};
  if (wrong.error == -EIO) return Error{path, "is shorter than its index says, or cannot be read"};
  errno = -wrong.error;
  return file_error(path, "cannot be read");
}

Error Container::lost_bytes(const LogPiece& piece) const {
  return {path_ + "/" + map_.writer_name(piece.writer) + kLogEnding,
          "has lost bytes that were synced"};
}

Result<std::size_t> Container::read(std::int64_t offset, std::span<std::byte> to) const {
  ReadPlan plan;
  std::size_t done = 0;
  std::optional<Error> wrong;
  const auto run_planned = [&] {
    if (!wrong) wrong = run(plan, to.data() + done);
    done += static_cast<std::size_t>(plan.bytes());
    plan = {};
  };
  const auto most = static_cast<std::int64_t>(
      std::min<std::size_t>(to.size(), static_cast<std::size_t>(kLargestFile)));
  map_.for_each_piece(offset, most, [&](const LogPiece& piece) {
    if (wrong) return;
    switch (piece.kind) {
      case LogPiece::Kind::kHole:
        plan.add_zeros(piece.length);
        break;
      case LogPiece::Kind::kMissing:
        wrong = lost_bytes(piece);
        return;
      case LogPiece::Kind::kData:
        plan.add_data(piece.length, piece.writer, piece.physical);
    }
    if (plan.is_full()) run_planned();
  });
  run_planned();
  if (wrong) return *wrong;
  return done;
}

}  // namespace iotune::logstore
