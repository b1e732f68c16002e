// Operations on open files.
#include <fcntl.h>
#include <fuse.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "fuse/logged_root.h"
#include "fuse/mounted_root.h"
#include "fuse/root_names.h"

namespace iotune::fuse {
namespace {

using recorder::AccessKind;

using prefetch::ReadAheadCache;
using prefetch::ReadStream;
using Change = ReadAheadCache::Change;

ReadAheadCache* read_ahead_cache() {
  prefetch::Prefetching* const prefetching = mounted_root().prefetching.get();
  return prefetching == nullptr ? nullptr : &prefetching->cache;
}

struct OpenFile {
  int fd;            // of a file that is kept as logs: of its handle
  std::string path;  // when it was opened: it may be renamed or removed meanwhile
  int opener;        // the process
  ReadAheadCache::File* ahead = nullptr;  // nullptr: it is no file that could be read ahead
  std::optional<ReadStream> stream{};     // none where it cannot be read
  std::shared_ptr<LoggedFile> logged{};   // nullptr: it is no such file
  bool appends = false;                   // of a logged one
  bool direct = false;                    // of a logged one: past the kernel's cache
};

OpenFile& file_of(const fuse_file_info* info) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): libfuse keeps it as a number
  return *reinterpret_cast<OpenFile*>(info->fh);
}

int opened(const Request& request, int fd, const char* path, fuse_file_info* info) {
  const int error = fd < 0 ? -errno : 0;
  request.answer_metadata();
  if (error != 0) return error;
  std::unique_ptr<OpenFile> file(new OpenFile{fd, path, fuse_get_context()->pid});
  if (prefetch::Prefetching* const prefetching = mounted_root().prefetching.get()) {
    file->ahead = prefetching->cache.enter(fd);
    // O_DIRECT wants buffers that are aligned as its storage has it.
    const bool fit = (info->flags & O_ACCMODE) != O_WRONLY && (info->flags & O_DIRECT) == 0;
    if (fit && file->ahead != nullptr) file->stream.emplace(*prefetching, *file->ahead, fd, path);
    // The name may have become another file's since its Change was begun.
    if ((info->flags & O_TRUNC) != 0) const Change made(&prefetching->cache, file->ahead);
  }
  info->fh = reinterpret_cast<std::uint64_t>(file.release());
  info->direct_io = mounted_root().options.direct;
  request.record(AccessKind::kOpen, path, 0, 0, 0);
  return 0;
}

// The kernel knows the size as it last heard of it, and would place what is appended there. Other
// processes append beside the mount: the file itself knows better, and the pages in the kernel's
// cache would not lie where the bytes are.
int open_kept_as_logs(const Request& request, const std::string& real, const char* path,
                      fuse_file_info* info) {
  std::shared_ptr<LoggedFile> logged;
  int wrong = open_logged(real, logged);
  if (wrong == 0 && (info->flags & O_TRUNC) != 0) wrong = logged->truncate(0);
  const int fd = wrong == 0 ? open_handle(real, info->flags) : -1;
  if (wrong == 0 && fd < 0) wrong = -errno;
  request.answer_metadata();
  if (wrong != 0) return wrong;
  std::unique_ptr<OpenFile> file(new OpenFile{fd, path, fuse_get_context()->pid});
  file->logged = std::move(logged);
  file->appends = (info->flags & O_APPEND) != 0;
  file->direct = mounted_root().options.direct || file->appends;
  info->direct_io = file->direct;
  info->fh = reinterpret_cast<std::uint64_t>(file.release());
  request.record(AccessKind::kOpen, path, 0, 0, 0);
  return 0;
}

int do_open(const char* path, fuse_file_info* info) {
  const Request request;
  const std::string real = mounted_root().real_path(path);
  if (is_logged(real)) return open_kept_as_logs(request, real, path, info);
  std::optional<Change> truncated;
  if ((info->flags & O_TRUNC) != 0) truncated.emplace(read_ahead_cache(), real.c_str());
  // The kernel places what is appended.
  return opened(request, open_real(real, info->flags & ~O_APPEND), path, info);
}

int do_create(const char* path, mode_t mode, fuse_file_info* info) {
  const Request request;
  const std::string real = mounted_root().real_path(path);
  if (mounted_root().options.logstore) {
    const int made = make_logged(real, mode);
    const bool is_there = made == -EEXIST && (info->flags & O_EXCL) == 0;
    if (made == 0 || (is_there && is_logged(real))) {
      return open_kept_as_logs(request, real, path, info);
    }
    if (!is_there) {
      request.answer_metadata();
      return made;
    }
  }
  // Only what this call makes is given away. The kernel knew of no such name: what has it now came
  // from beside the mount, and is opened as what it is, with the rights of the process that asks.
  const int fd = open_real(real, (info->flags & ~O_APPEND) | O_CREAT | O_EXCL, mode);
  if (fd < 0 && errno == EEXIST && (info->flags & O_EXCL) == 0) errno = ESTALE;
  if (fd >= 0) give_away(fd);
  return opened(request, fd, path, info);
}

int do_read(const char* /*path*/, char* buffer, std::size_t size, off_t offset,
            fuse_file_info* info) {
  const Request request;
  OpenFile& file = file_of(info);
  if (file.logged != nullptr) {
    std::int64_t read = file.logged->read(offset, buffer, size);
    // For the kernel fewer bytes are the end of the file. Bytes that are missing are not: it asks
    // again, page by page.
    if (read >= 0 && read < static_cast<std::int64_t>(size) && !file.direct) {
      char next = 0;
      const std::int64_t more = file.logged->read(offset + read, &next, 1);
      if (more != 0) read = more < 0 ? more : -EIO;
    }
    request.answer_transfer(read < 0 ? 0 : static_cast<std::uint64_t>(read));
    if (read >= 0) request.record(AccessKind::kRead, file.path, offset, read, file.opener);
    return static_cast<int>(read);
  }
  ssize_t bytes = file.stream ? file.stream->take(buffer, size, offset) : -1;
  if (bytes < 0) {
    bytes = pread(file.fd, buffer, size, offset);
    const int error = bytes < 0 ? -errno : 0;
    request.answer_transfer(bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
    if (error != 0) return error;
  }
  if (file.stream) file.stream->saw_read(offset, bytes, request.arrived_ns());
  request.record(AccessKind::kRead, file.path, offset, bytes, file.opener);
  return static_cast<int>(bytes);
}

int do_write(const char* /*path*/, const char* buffer, std::size_t size, off_t offset,
             fuse_file_info* info) {
  const Request request;
  const OpenFile& file = file_of(info);
  if (file.logged != nullptr) {
    std::int64_t place = offset;
    const std::int64_t written = file.appends ? file.logged->append(buffer, size, place)
                                              : file.logged->write(offset, buffer, size);
    request.answer_transfer(written < 0 ? 0 : static_cast<std::uint64_t>(written));
    if (written >= 0) request.record(AccessKind::kWrite, file.path, place, written, file.opener);
    return static_cast<int>(written);
  }
  Change change(read_ahead_cache(), file.ahead);
  change.only(offset, size);
  const ssize_t bytes = pwrite(file.fd, buffer, size, offset);
  const int error = bytes < 0 ? -errno : 0;
  request.answer_transfer(bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
  if (error != 0) return error;
  request.record(AccessKind::kWrite, file.path, offset, bytes, file.opener);
  return static_cast<int>(bytes);
}

// One of possibly many closes of a file: errors that its storage kept back show here.
int do_flush(const char* /*path*/, fuse_file_info* info) {
  const Request request;
  if (LoggedFile* const logged = file_of(info).logged.get()) {
    return answered(request, logged->flush());
  }
  return answer(request, ::close(dup(file_of(info).fd)));
}

int do_release(const char* /*path*/, fuse_file_info* info) {
  const Request request;
  const std::unique_ptr<OpenFile> file(&file_of(info));
  file->stream.reset();  // before its descriptor is gone
  if (ReadAheadCache* const cache = read_ahead_cache()) cache->leave(file->ahead);
  ::close(file->fd);
  request.answer_metadata();
  request.record(AccessKind::kClose, file->path, 0, 0, file->opener);
  return 0;
}

int do_fsync(const char* /*path*/, int data_only, fuse_file_info* info) {
  const Request request;
  const OpenFile& file = file_of(info);
  const int result = file.logged != nullptr
                         ? answered(request, file.logged->sync())
                         : answer(request, data_only != 0 ? fdatasync(file.fd) : fsync(file.fd));
  if (result == 0) request.record(AccessKind::kSync, file.path, 0, 0, file.opener);
  return result;
}

int do_fallocate(const char* /*path*/, int mode, off_t offset, off_t length, fuse_file_info* info) {
  const Request request;
  if (LoggedFile* const logged = file_of(info).logged.get()) {
    return answered(request, allocate_logged(*logged, mode, offset, length));
  }
  const Change change(read_ahead_cache(), file_of(info).ahead);
  return answer(request, ::fallocate(file_of(info).fd, mode, offset, length));
}

off_t do_lseek(const char* /*path*/, off_t offset, int whence, fuse_file_info* info) {
  const Request request;
  if (LoggedFile* const logged = file_of(info).logged.get()) {
    const std::int64_t found =
        whence == SEEK_DATA ? logged->next_data(offset) : logged->next_hole(offset);
    request.answer_metadata();
    return found;
  }
  const off_t at = ::lseek(file_of(info).fd, offset, whence);
  const int error = answer(request, at < 0 ? -1 : 0);
  return error != 0 ? error : at;
}

// A program that is interrupted, or ends, waits for this answer: nothing here may wait for a lock
// that this very program has.
int take_lock(int fd, int operation) {
  useconds_t pause = 100;
  while (::flock(fd, operation | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || (operation & LOCK_NB) != 0) return -errno;
    if (fuse_interrupted() != 0) return -EINTR;
    usleep(pause);
    pause = std::min<useconds_t>(pause * 2, 20'000);
  }
  return 0;
}

int do_flock(const char* /*path*/, fuse_file_info* info, int operation) {
  const Request request;
  const OpenFile& file = file_of(info);
  const int result = answered(request, take_lock(file.fd, operation));
  // Who has got a lock sees what was written under it.
  if (result == 0 && file.logged != nullptr) {
    return operation == LOCK_UN ? file.logged->flush() : file.logged->refresh();
  }
  return result;
}

int do_getattr(const char* path, struct stat* to, fuse_file_info* info) {
  const Request request;
  if (info == nullptr) return answered(request, status_of(mounted_root().real_path(path), *to));
  if (LoggedFile* const logged = file_of(info).logged.get()) {
    logged->refresh();
    return answered(request, logged->status(*to));
  }
  return answer(request, fstat(file_of(info).fd, to));
}

int do_truncate(const char* path, off_t size, fuse_file_info* info) {
  const Request request;
  if (info != nullptr) {
    if (LoggedFile* const logged = file_of(info).logged.get()) {
      return answered(request, logged->truncate(size));
    }
    const Change change(read_ahead_cache(), file_of(info).ahead);
    return answer(request, ftruncate(file_of(info).fd, size));
  }
  const std::string real = mounted_root().real_path(path);
  if (is_logged(real)) {
    std::shared_ptr<LoggedFile> logged;
    const int wrong = open_logged(real, logged);
    return answered(request, wrong != 0 ? wrong : logged->truncate(size));
  }
  const HeldFile file(real);
  if (!file.is_there()) return answer(request, -1);
  const std::string held = file.path();
  const Change change(read_ahead_cache(), held.c_str());
  return answer(request, ::truncate(held.c_str(), size));
}

int do_utimens(const char* path, const timespec times[2], fuse_file_info* info) {
  const Request request;
  std::shared_ptr<LoggedFile> logged = info != nullptr ? file_of(info).logged : nullptr;
  if (info == nullptr) {
    const std::string real = mounted_root().real_path(path);
    if (!is_logged(real)) {
      const NameInFolder name(real);
      return answer(request, !name.is_there() ? -1
                                              : utimensat(name.folder(), name.name(), times,
                                                          AT_SYMLINK_NOFOLLOW));
    }
    if (const int wrong = open_logged(real, logged); wrong != 0) return answered(request, wrong);
  }
  return logged != nullptr ? answered(request, logged->set_times(times))
                           : answer(request, futimens(file_of(info).fd, times));
}

}  // namespace

void add_file_operations(fuse_operations& operations) {
  operations.open = do_open;
  operations.create = do_create;
  operations.read = do_read;
  operations.write = do_write;
  operations.flush = do_flush;
  operations.release = do_release;
  operations.fsync = do_fsync;
  operations.fallocate = do_fallocate;
  operations.lseek = do_lseek;
  operations.flock = do_flock;
  operations.getattr = do_getattr;
  operations.truncate = do_truncate;
  operations.utimens = do_utimens;
}

}  // namespace iotune::fuse
