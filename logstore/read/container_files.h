// Files of a container: opened without following anything, read whole, and kept open.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files/descriptor.h"
#include "logstore/format.h"
#include "recorder/read/result.h"

namespace iotune::logstore {

using recorder::Error;
using recorder::Result;

// What was written to a file that stays open leaves this node, as at a close: NFS's clients keep it
// until then, so that others would not see it, and what went wrong with it would not be reported.
// Where writes go to the storage's own node, it costs two calls that do nothing. 0 or -errno.
int pass_on(int fd) noexcept;

// A container that was found at a path, open: who goes on to open it need not look for it again.
struct FoundContainer {
  Descriptor directory;
  Descriptor description;  // for writing, too, where that is allowed: some locks need it
  std::array<std::byte, kHeadBytes> head{};  // of the description
  bool is_new = false;                       // made just now by this process
};
// 0, and `to` is the container; both descriptors are moved high. -EISDIR: a directory of another
// kind. Else -errno: -ENOENT also for a link that leads nowhere, -ENOTDIR for another file, or a
// link where `follows` is false.
int find_container(const char* path, bool follows, FoundContainer& to) noexcept;
// Its description, as find_container() opens it.
Descriptor open_description(int directory) noexcept;
// The file whose flock(2) is shared by all who have the container open. O_RDWR for who wants it
// alone: some file systems need that.
Descriptor open_openers_lock(int directory, int access) noexcept;

struct OpenFile {
  Descriptor descriptor;
  std::int64_t size = 0;
};

// Nothing but a regular file, and nothing that a link leads to. Where it fails errno is set, too:
// ELOOP for a link, EINVAL for what is no regular file.
Result<OpenFile> open_regular(int directory, const std::string& name);

// Reads until `to` is full or the file ends. -1: errno says why.
ssize_t read_at(int fd, std::span<std::byte> to, std::int64_t offset);

// Writes all of it. False: errno says why.
bool write_at(int fd, std::span<const std::byte> from, std::int64_t offset);

// -1 where there is no such file, or it cannot be looked at.
std::int64_t size_of_file(int directory, const char* name) noexcept;

// Which merged index is in force. Inodes and times alone would not tell: of one after the other,
// made within a tick of the clock, the second may have the inode of the one before the first.
struct MergedIdentity {
  std::uint64_t inode = 0;  // 0: there is none
  std::int64_t size = 0;
  std::uint64_t generation = 0;  // as its head says, right or not

  friend bool operator==(const MergedIdentity&, const MergedIdentity&) = default;
};
MergedIdentity merged_identity(int directory) noexcept;

// What errno says of a file; errno stays.
Error file_error(const std::string& path, const char* what);

// What is in a container's directory. Errors set errno, too; E2BIG: more than `most` names.
struct ContainerNames {
  struct Writer {
    bool log = false;
    bool index = false;
    friend bool operator==(const Writer&, const Writer&) = default;
  };
  std::map<std::string, Writer> writers;
  bool has_merged = false;
  bool has_new_merged = false;         // of a compaction that was cut short
  std::vector<std::string> strangers;  // names that belong to nothing, sorted

  friend bool operator==(const ContainerNames&, const ContainerNames&) = default;
};
Result<ContainerNames> list_container(int directory, std::size_t most);

// Logs that are held open, the least recently used one closed for the next: an eighth of the
// descriptors that the process may have at most. Any thread may ask.
class OpenLogs {
 public:
  // `high`: descriptors are moved high.
  explicit OpenLogs(std::size_t most, bool high = false) noexcept : most_(most), high_(high) {}

  // The file stays open for as long as the caller holds it. As open_regular().
  Result<std::shared_ptr<const OpenFile>> open(int directory, const std::string& name);
  void clear() noexcept;
  // From now on `most` may be open, and none of them is closed for want of descriptors.
  void hold(std::size_t most) noexcept {
    most_ = most;
    holds_ = true;
  }

 private:
  struct Entry {
    std::shared_ptr<const OpenFile> file;
    std::uint64_t used;
  };
  std::mutex mutex_;
  std::size_t most_;
  bool high_;
  bool holds_ = false;
  std::uint64_t clock_ = 0;
  std::map<std::string, Entry> open_;
};

}  // namespace iotune::logstore
