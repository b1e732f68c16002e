#include "gather/journal/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include "logstore/format.h"
#include "logstore/read/container_files.h"
#include "logstore/read/make_container.h"

namespace iotune::gather {
namespace {

constexpr std::int64_t kFlushIntervalNs = 5'000'000'000;

// Of a container: nobody has a log in it.
bool is_empty(const std::string& place) noexcept {
  logstore::FoundContainer found;
  if (logstore::find_container(place.c_str(), false, found) != 0) return false;
  const auto names = logstore::list_container(found.directory.get(), 1);
  return names && names->writers.empty();
}

}  // namespace

const char* Journal::path_of(const char* name) noexcept {
  struct stat status {};
  const char* const colon = std::strchr(name, ':');
  return colon != nullptr && lstat(name, &status) != 0 ? colon + 1 : name;
}

std::string Journal::place_of(const char* name) {
  const std::string path = path_of(name);
  const std::size_t slash = path.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  std::string place = path.substr(0, begin) + "." + path.substr(begin) + ".iotune";
  return place.size() - begin > NAME_MAX ? std::string() : place;
}

const char* Journal::make(const std::string& place, const char* name) noexcept {
  struct stat file {};
  if (place.empty() || stat(path_of(name), &file) != 0) return "no log can be made beside it";
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const logstore::Description description{logstore::random_id(),
                                          std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
  const int wrong = logstore::make_container(place, description, file.st_mode & 0777, false);
  if (wrong == 0 || (wrong == -EEXIST && is_empty(place))) return nullptr;
  return wrong == -EEXIST
             ? "another run has a log beside it, or left one that `iotune log flatten` "
               "writes into it"
             : "no log can be made beside it";
}

void Journal::remove(const std::string& place) noexcept {
  try {
    if (is_empty(place)) logstore::remove_what_was(place);
  } catch (const std::bad_alloc&) {
    // It stays, empty.
  }
}

std::unique_ptr<Journal> Journal::open(const std::string& place) noexcept {
  logstore::FoundContainer found;
  logstore::Description description{};
  std::uint32_t version = 0;
  if (logstore::find_container(place.c_str(), false, found) != 0 ||
      logstore::read_description(found.head, description, version) !=
          logstore::HeadProblem::kNone) {
    return nullptr;
  }
  // `iotune log flatten` has it alone. A file system without locks knows nobody who has.
  if (flock(found.description.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return nullptr;
  }
  return std::unique_ptr<Journal>(new (std::nothrow) Journal(
      std::move(found.directory), std::move(found.description), description.container_id));
}

bool Journal::add(std::int64_t offset, const void* bytes, std::size_t size) noexcept {
  try {
    if (writer_ == nullptr) {
      struct stat handle {};
      if (logstore::OwnWriter::make(directory_.get(), container_id_, next_number_, handle,
                                    writer_) != 0) {
        return false;
      }
      // Somebody removed the container: nobody would find the log.
      if (writer_->name().empty()) return false;
      flushed_ns_ = writer_->latest_ns();
    }
    for (std::size_t done = 0; done < size;) {
      const std::int64_t some =
          writer_->core().append(offset + static_cast<std::int64_t>(done),
                                 static_cast<const char*>(bytes) + done, size - done);
      if (some <= 0) return false;
      done += static_cast<std::size_t>(some);
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (writer_->latest_ns() - flushed_ns_ <= kFlushIntervalNs) return true;
  flushed_ns_ = writer_->latest_ns();
  return writer_->flush() == 0;
}

void Journal::clear() noexcept {
  if (leaving_ == nullptr) return;
  const std::string& name = leaving_->name();
  try {
    // The index first: a log without one tells nobody anything.
    for (const char* const ending : {logstore::kIndexEnding, logstore::kLogEnding}) {
      unlinkat(directory_.get(), (name + ending).c_str(), 0);
    }
  } catch (const std::bad_alloc&) {
    // What stays is written once more by who flattens it.
  }
  leaving_.reset();
}

}  // namespace iotune::gather
