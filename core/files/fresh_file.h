// A file that takes its name when it is whole: who opens that name finds the file of before, or
// all of the new one. Whatever fails leaves the file of before, and nothing else; a death leaves
// the draft, whose name nobody opens.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstring>

#include "core/files/descriptor.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/size_limit.h"

namespace iotune {

class FreshFile {
 public:
  // kFree: only a name that is not taken, else -EEXIST.
  enum class Name : bool { kReplaced, kFree };

  // Beside `path`; readable by its owner only.
  explicit FreshFile(const char* path) noexcept {
    const char* const slash = std::strrchr(path, '/');
    if (slash != nullptr) draft_.add(path, static_cast<std::size_t>(slash - path) + 1);
    make(".iotune-");
  }
  // In an open folder; the draft's name begins so.
  FreshFile(int folder, const char* begin) noexcept : folder_(folder) { make(begin); }
  ~FreshFile() {
    if (is_draft_) raw::call(SYS_unlinkat, folder_, raw::word(draft_.c_str()), 0);
  }
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  int fd() const noexcept { return file_.get(); }
  // The first failure, as -errno: nothing is done after it.
  long error() const noexcept { return error_; }

  void write(const void* bytes, std::size_t size) noexcept {
    const char* from = static_cast<const char*>(bytes);
    bytes_ += size;
    if (error_ == 0 && !within_size_limit(bytes_)) error_ = -27;  // EFBIG
    while (size > 0 && error_ == 0) {
      const long done = raw::write(fd(), from, size);
      if (done == -4) continue;  // EINTR
      if (done <= 0) {
        error_ = done < 0 ? done : -28;  // ENOSPC
        return;
      }
      from += done;
      size -= static_cast<std::size_t>(done);
    }
  }
  // Before take_name(), where a crash of the node must not leave a name without its bytes.
  void sync() noexcept {
    if (error_ == 0) error_ = raw::call(SYS_fdatasync, fd());
  }
  // What a network file system says of the bytes at the close counts. 0 or -errno, kept but for
  // -EEXIST: another name may be free.
  long take_name(const char* name, Name how = Name::kReplaced) noexcept {
    constexpr long kTaken = -17;  // EEXIST
    if (const long closed = file_.close(); error_ == 0) error_ = closed;
    if (error_ != 0) return error_;
    if (how == Name::kFree) {
      const long linked =
          raw::call(SYS_linkat, folder_, raw::word(draft_.c_str()), folder_, raw::word(name), 0);
      if (linked == 0) return 0;
      // Not every file system has links.
      if (linked == kTaken || raw::call(SYS_faccessat, folder_, raw::word(name), F_OK) == 0) {
        return kTaken;
      }
    }
    error_ =
        raw::call(SYS_renameat2, folder_, raw::word(draft_.c_str()), folder_, raw::word(name), 0);
    is_draft_ = error_ != 0;
    return error_;
  }

 private:
  // Drawn: another node's process may have this one's number. And of a length of its own: the
  // name may be as long as names can be.
  void make(const char* begin) noexcept {
    std::uint64_t drawn = 0;
    error_ = raw::call(SYS_getrandom, raw::word(&drawn), sizeof drawn, 0);
    draft_ << begin;
    draft_.add_hex(drawn) << ".part";
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    if (error_ == sizeof drawn) {
      error_ = raw::call(SYS_openat, folder_, raw::word(draft_.c_str()), kFlags, 0600);
    }
    if (error_ < 0) return;
    file_ = Descriptor(static_cast<int>(error_));
    is_draft_ = true;
    error_ = 0;
  }

  long folder_ = raw::kAtFdcwd;
  ShortText<4096> draft_;
  Descriptor file_;
  bool is_draft_ = false;
  std::uint64_t bytes_ = 0;
  long error_ = 0;
};

}  // namespace iotune
