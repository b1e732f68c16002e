// The writer of this process in one container: its two files, and the core that fills them.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "logstore/read/container_files.h"
#include "logstore/store/log_buffer.h"
#include "logstore/write/log_writer.h"

namespace iotune::logstore {

// One thread at a time.
class OwnWriter {
 public:
  // Makes both files in the directory; `number` is the next that is tried as the last part of the
  // name. Where the directory was removed, the files have no name and go with the last descriptor.
  // `handle` is what the container's handle looked like meanwhile; without an inode where it has
  // none. 0 or -errno.
  static int make(int directory, std::uint64_t container_id, unsigned& number, struct stat& handle,
                  std::shared_ptr<OwnWriter>& to);
  // What the names of all writers of this process begin with.
  static std::string name_prefix();
  OwnWriter(const OwnWriter&) = delete;
  OwnWriter& operator=(const OwnWriter&) = delete;
  // Closes the files as they are: nothing is flushed.
  ~OwnWriter() = default;

  // Its flush() and sync() are the ones below.
  LogWriter& core() noexcept { return core_; }
  // As LogWriter's, with what is held of the log; other nodes see it. Where the storage refuses
  // what was written before, that is for good, as with a sync.
  int flush() noexcept;
  // Writes that have no room are no failed sync: those are for good.
  int sync() noexcept;
  // Why the storage refused what was written before, as -errno: nothing that is written after that
  // will be reported. 0: it did not.
  int lost() const noexcept { return lost_; }
  // All writes are in the log file, for those who read it; the index stays as it is.
  int write_out() noexcept { return buffer_.write_out(); }
  // After a write_out() that failed: where in the log what is not there begins.
  std::int64_t held_from() const noexcept { return buffer_.held_from(); }
  // Both open for reading, too.
  int log() const noexcept { return log_.get(); }
  int index() const noexcept { return index_.get(); }
  // Empty where the files have none.
  const std::string& name() const noexcept { return name_; }
  // Have the files been removed?
  bool is_gone() const noexcept;
  // What the clock said last, ns since 1970: no later than the end of the latest write.
  std::int64_t latest_ns() const noexcept { return latest_ns_; }

 private:
  OwnWriter(Descriptor log, Descriptor index, std::string name);
  static LogFile file_of(LogBuffer& buffer) noexcept;
  static LogFile file_of(Descriptor& descriptor) noexcept;
  LogClock clock() noexcept;

  Descriptor log_;
  Descriptor index_;
  std::string name_;
  LogBuffer buffer_;
  std::int64_t latest_ns_ = 0;
  std::int64_t passed_on_ = 0;  // bytes of the index that others can see
  int lost_ = 0;                // as lost() says
  std::unique_ptr<std::uint64_t[]> arena_;
  LogWriter core_;
};

}  // namespace iotune::logstore
