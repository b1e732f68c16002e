#include "logstore/flat/flatten.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "logstore/compact/compaction.h"
#include "logstore/flat/attributes.h"
#include "logstore/flat/flat_copy.h"
#include "logstore/format.h"
#include "logstore/read/container.h"
#include "logstore/read/make_container.h"

namespace iotune::logstore {
namespace {

constexpr std::int64_t kLeastPiece = std::int64_t{1} << 20U;
constexpr std::int64_t kLargestPiece = std::int64_t{64} << 20U;

// Each has one where the file is large enough, and none has more than its share.
std::int64_t piece_bytes(std::int64_t size, int ranks) {
  const std::int64_t share = (size + ranks - 1) / ranks;
  const std::int64_t whole = (share + kLeastPiece - 1) / kLeastPiece * kLeastPiece;
  return std::clamp(whole, kLeastPiece, kLargestPiece);
}

std::string name_of_copy(const Container& container, const std::string& path) {
  return name_beside(container.description().container_id, path, "flat");
}

bool was_synced(const Container& container) {
  return std::ranges::any_of(container.reports(),
                             [](const WriterReport& one) { return one.durable_bytes > 0; });
}

// A process that opened the file and died has left an empty log.
bool is_whole(const Container& container) {
  if (!container.compaction().merged_damage.empty()) return false;
  return std::ranges::all_of(container.reports(), [](const WriterReport& one) {
    return one.is_whole() || (!one.has_index && one.log_bytes == 0 && one.index_bytes_lost == 0);
  });
}

bool has_room(const Container& container) {
  struct statvfs room {};
  if (fstatvfs(container.directory(), &room) != 0) return true;
  const auto free = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  return static_cast<std::uint64_t>(compaction_gain(container).most_live_bytes) <= free;
}

// What goes beyond it is a signal, which ends the program.
bool may_be_so_large(std::int64_t size) {
  struct rlimit limit {};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         static_cast<std::uint64_t>(size) <= limit.rlim_cur;
}

int wrong_or(int other) {
  return -(errno != 0 ? errno : other);
}

int lock_alone(int fd) {
  if (fd < 0) return -errno;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
  return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

int copy_pieces(const std::string& path, int rank, int ranks) {
  errno = 0;
  const auto container = Container::open(path);
  if (!container) return wrong_or(EIO);
  const std::int64_t size = container->map().size();
  if (!may_be_so_large(size)) return -EFBIG;
  Descriptor file(open(name_of_copy(*container, path).c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return -errno;
  const std::int64_t piece = piece_bytes(size, ranks);
  for (std::int64_t at = rank * piece; at < size; at += ranks * piece) {
    errno = 0;
    if (!copy_flat(*container, file.get(), at, piece)) return wrong_or(EIO);
  }
  if (was_synced(*container) && fdatasync(file.get()) != 0) return -errno;
  return file.close();
}

template <class Work>
int guarded_errno(Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return -ENOMEM;
  }
}

}  // namespace

int Flattening::lock() {
  directory_ = moved_high(Descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!directory_) return -errno;
  // First the lock that all who have it open share: who fails holds none, and is in nobody's way.
  // So of ranks that close it at the same time the last one gets both.
  writers_ = open_description(directory_.get());
  if (!writers_) return -errno;
  openers_ = open_openers_lock(directory_.get(), O_RDWR);
  if (const int wrong = lock_alone(openers_.get()); wrong != 0) return wrong;
  if (const int wrong = lock_alone(writers_.get()); wrong != 0) return wrong;
  struct stat about {};
  // Somebody else was first.
  return fstat(writers_.get(), &about) == 0 && about.st_nlink != 0 ? 0 : -EBUSY;
}

int Flattening::make_copy() {
  errno = 0;
  auto container = Container::open(path_);
  if (container && compaction_is_worth_it(compaction_gain(*container))) {
    // Else each rank would read all indexes.
    merge_indexes(path_);
    container = Container::open(path_);
  }
  if (!container) return wrong_or(EIO);
  if (!is_whole(*container)) return -EIO;
  // The next one who opens the file takes them in.
  if (container->handle_bytes() != 0) return -EBUSY;
  const std::int64_t size = container->map().size();
  if (!may_be_so_large(size)) return -EFBIG;
  if (!has_room(*container)) return -ENOSPC;
  syncs_ = was_synced(*container);
  const std::string copy = name_of_copy(*container, path_);
  // What a death left there: nobody else makes one now.
  unlink(copy.c_str());
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  file_ = moved_high(Descriptor(open(copy.c_str(), kFlags, 0600)));
  if (!file_) return -errno;
  copy_ = copy;
  return ftruncate(file_.get(), size) == 0 ? 0 : -errno;
}

int Flattening::begin(const std::string& path, std::unique_ptr<Flattening>& to) noexcept {
  return guarded_errno([&] {
    std::unique_ptr<Flattening> made(new Flattening(path));
    int wrong = made->lock();
    if (wrong == 0) wrong = made->make_copy();
    if (wrong == 0) to = std::move(made);
    return wrong;
  });
}

Flattening::~Flattening() {
  if (!copy_.empty()) unlink(copy_.c_str());
}

int Flattening::take_name() {
  const int at = file_.get();
  if (const int wrong = take_attributes(directory_.get(), at); wrong != 0) return wrong;
  if (syncs_ && fsync(at) != 0) return -errno;
  if (const int wrong = file_.close(); wrong != 0) return wrong;
  std::string container;
  if (const int wrong = take_name_of(copy_, path_, "gone", container); wrong != 0) return wrong;
  remove_what_was(container);  // not remove_container(): its lock is held
  copy_.clear();
  if (!syncs_) return 0;
  const Descriptor above(open(parent_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (above && fsync(above.get()) != 0) {
    // The file is there, under its name.
  }
  return 0;
}

int Flattening::end(bool is_whole) noexcept {
  return guarded_errno([&] { return is_whole ? take_name() : 0; });
}

int copy_share(const std::string& path, int rank, int ranks) noexcept {
  return guarded_errno([&] { return copy_pieces(path, rank, ranks); });
}

}  // namespace iotune::logstore
