#include "recorder/preload/trace_file.h"

#include <fcntl.h>

#include <cstring>

#include "recorder/format.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/size_limit.h"
#include "recorder/preload/ticks.h"

namespace iotune::recorder {
namespace {

void two_digits(ShortText<4096>& to, std::uint64_t value) noexcept {
  if (value < 10) to << '0';
  to << value;
}

// YYYYmmdd-HHMMSS in UTC. gmtime_r would read the time zone files; the days are counted from
// 1 March 0000, so that the leap day is a year's last.
void add_time_stamp(ShortText<4096>& to) noexcept {
  const std::uint64_t seconds = clock_ns(CLOCK_REALTIME) / 1'000'000'000u;
  const std::uint64_t days = seconds / 86400 + 719468;
  const std::uint64_t era = days / 146097, day_of_era = days % 146097;
  const std::uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::uint64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint64_t shifted_month = (5 * day_of_year + 2) / 153;
  const std::uint64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  to << year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  two_digits(to, month);
  two_digits(to, day_of_year - (153 * shifted_month + 2) / 5 + 1);
  to << '-';
  two_digits(to, seconds / 3600 % 24);
  two_digits(to, seconds / 60 % 60);
  two_digits(to, seconds % 60);
}

}  // namespace

bool trace_directory(ShortText<4096>& path) noexcept {
  if (configuration().trace_path != nullptr) {
    static constinit ShortText<4096> file;
    absolute_path(configuration().trace_path, file);
    const char* const slash = std::strrchr(file.c_str(), '/');
    path.clear();
    if (slash != nullptr) path.add(file.c_str(), static_cast<std::size_t>(slash - file.c_str()));
    return slash != nullptr && !file.cut();
  }
  if (configuration().state_home == nullptr) return false;
  path.clear();
  // The base directories exist as a rule; making each is cheaper than asking.
  const char* const home = configuration().state_home;
  for (const char* at = home + 1; *at != '\0'; ++at) {
    if (*at != '/') continue;
    path.clear();
    path.add(home, static_cast<std::size_t>(at - home));
    raw::mkdir(path.c_str(), 0700);
  }
  path.clear();
  path << home;
  raw::mkdir(path.c_str(), 0700);
  path << "/iotune";
  raw::mkdir(path.c_str(), 0700);
  path << "/traces";
  raw::mkdir(path.c_str(), 0700);
  return !path.cut();
}

bool trace_path(ShortText<4096>& path) noexcept {
  if (configuration().trace_path != nullptr) {
    absolute_path(configuration().trace_path, path);
    return !path.cut();
  }
  if (!trace_directory(path)) return false;
  path << '/';
  add_time_stamp(path);
  const char* const program = program_path();
  const char* const slash = std::strrchr(program, '/');
  path << '-' << (slash == nullptr ? program : slash + 1) << '-' << run_id() << ".iotrace";
  return !path.cut();
}

TraceFile::TraceFile(const char* path) noexcept {
  path_ << path;
  fresh_ << path << '.' << raw::getpid() << ".part";
  fd_ = raw::open(fresh_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) error_ = fd_;
  char head[kTraceHeadBytes];
  static_assert(sizeof kTraceMagic - 1 + sizeof kFormatVersion == sizeof head);
  std::memcpy(head, kTraceMagic, sizeof kTraceMagic - 1);
  std::memcpy(head + sizeof kTraceMagic - 1, &kFormatVersion, sizeof kFormatVersion);
  append(head, sizeof head);
}

TraceFile::~TraceFile() {
  if (fd_ < 0) return;
  raw::close(fd_);
  raw::unlink(fresh_.c_str());
}

void TraceFile::append(const void* bytes, std::size_t size) noexcept {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0 && error_ == 0) {
    const long at = raw::lseek(fd_, 0, SEEK_CUR);
    if (!within_size_limit(static_cast<std::uint64_t>(at) + size)) {
      error_ = -27;  // EFBIG
      return;
    }
    const long done = raw::write(fd_, from, size);
    if (done == -4) continue;  // EINTR
    if (done <= 0) {
      error_ = done == 0 ? -5 : done;
      return;
    }
    from += done;
    size -= static_cast<std::size_t>(done);
  }
}

bool TraceFile::finish() noexcept {
  if (error_ == 0) error_ = raw::rename(fresh_.c_str(), path_.c_str());
  if (error_ != 0) {
    ShortText<1024> text;
    text << path_.c_str() << ": the trace cannot be written (errno " << -error_
         << "); the buffers stay, `iotune show` joins them later";
    say(text.c_str());
    return false;
  }
  raw::close(fd_);
  fd_ = -1;
  return true;
}

}  // namespace iotune::recorder
