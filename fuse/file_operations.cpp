// Operations on open files.
#include <fcntl.h>
#include <fuse.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "fuse/mounted_root.h"

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
  int fd;
  std::string path;  // when it was opened: it may be renamed or removed meanwhile
  int opener;        // the process
  ReadAheadCache::File* ahead = nullptr;  // nullptr: it is no file that could be read ahead
  std::optional<ReadStream> stream{};     // none where it cannot be read
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

int do_open(const char* path, fuse_file_info* info) {
  const Request request;
  const std::string real = mounted_root().real_path(path);
  std::optional<Change> truncated;
  if ((info->flags & O_TRUNC) != 0) truncated.emplace(read_ahead_cache(), real.c_str());
  // The kernel places what is appended.
  return opened(request, ::open(real.c_str(), info->flags & ~O_APPEND), path, info);
}

int do_create(const char* path, mode_t mode, fuse_file_info* info) {
  const Request request;
  const std::string real = mounted_root().real_path(path);
  std::optional<Change> truncated;
  if ((info->flags & O_TRUNC) != 0) truncated.emplace(read_ahead_cache(), real.c_str());
  const int fd = ::open(real.c_str(), info->flags & ~O_APPEND, mode);
  if (fd >= 0 && geteuid() == 0) {
    const fuse_context* const context = fuse_get_context();
    if (fchown(fd, context->uid, context->gid) != 0) {
      // A root that keeps no owners: the file is there all the same.
    }
  }
  return opened(request, fd, path, info);
}

int do_read(const char* /*path*/, char* buffer, std::size_t size, off_t offset,
            fuse_file_info* info) {
  const Request request;
  OpenFile& file = file_of(info);
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
  const int result = answer(request, data_only != 0 ? fdatasync(file.fd) : fsync(file.fd));
  if (result == 0) request.record(AccessKind::kSync, file.path, 0, 0, file.opener);
  return result;
}

int do_fallocate(const char* /*path*/, int mode, off_t offset, off_t length, fuse_file_info* info) {
  const Request request;
  const Change change(read_ahead_cache(), file_of(info).ahead);
  return answer(request, ::fallocate(file_of(info).fd, mode, offset, length));
}

off_t do_lseek(const char* /*path*/, off_t offset, int whence, fuse_file_info* info) {
  const Request request;
  const off_t at = ::lseek(file_of(info).fd, offset, whence);
  const int error = answer(request, at < 0 ? -1 : 0);
  return error != 0 ? error : at;
}

int do_flock(const char* /*path*/, fuse_file_info* info, int operation) {
  const Request request;
  return answer(request, ::flock(file_of(info).fd, operation));
}

int do_getattr(const char* path, struct stat* to, fuse_file_info* info) {
  const Request request;
  return answer(request, info != nullptr ? fstat(file_of(info).fd, to)
                                         : lstat(mounted_root().real_path(path).c_str(), to));
}

int do_truncate(const char* path, off_t size, fuse_file_info* info) {
  const Request request;
  if (info != nullptr) {
    const Change change(read_ahead_cache(), file_of(info).ahead);
    return answer(request, ftruncate(file_of(info).fd, size));
  }
  const std::string real = mounted_root().real_path(path);
  const Change before(read_ahead_cache(), real.c_str());
  const int result = answer(request, ::truncate(real.c_str(), size));
  // The name may have become another file's meanwhile.
  const Change after(read_ahead_cache(), real.c_str());
  return result;
}

int do_utimens(const char* path, const timespec times[2], fuse_file_info* info) {
  const Request request;
  return answer(request, info != nullptr
                             ? futimens(file_of(info).fd, times)
                             : utimensat(AT_FDCWD, mounted_root().real_path(path).c_str(), times,
                                         AT_SYMLINK_NOFOLLOW));
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
