#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "patterndb/exchange/record_json.h"
#include "patterndb/store/places.h"
#include "patterndb/store/spool.h"

namespace iotune::patterndb {

namespace {

std::string plain(const std::string& run) {
  std::string text;
  for (char c : run.substr(0, 64)) {
    bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '-' || c == '_' || c == '.';
    text += keep ? c : '_';
  }
  return text;
}

void write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t n = write(descriptor, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Fault{error_text(n < 0 ? errno : ENOSPC)};
    done += static_cast<std::size_t>(n);
  }
}

struct SpoolFile {
  std::string name;
  std::uint64_t bytes;
};

// The oldest first: names begin with the time. Not those that are still being written.
std::vector<SpoolFile> files_in(const std::string& folder) {
  constexpr time_t kDeadSeconds = 3600;
  std::vector<SpoolFile> files;
  const std::unique_ptr<DIR, int (*)(DIR*)> listed(opendir(folder.c_str()), closedir);
  if (!listed) return files;
  const time_t now = time(nullptr);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = readdir(listed.get())) {
    struct stat status;
    const std::string name = entry->d_name;
    if (name.find(kSpoolSuffix) == name.npos ||
        fstatat(dirfd(listed.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (name[0] == '.' && status.st_mtime + kDeadSeconds > now) continue;
    files.push_back({name, static_cast<std::uint64_t>(status.st_size)});
  }
  const auto time_of = [](const std::string& name) {
    return std::string_view(name).substr(name[0] == '.' ? 1 : 0);
  };
  std::sort(files.begin(), files.end(), [&](const SpoolFile& a, const SpoolFile& b) {
    return time_of(a.name) < time_of(b.name);
  });
  return files;
}

// The newest file stays, however large.
void drop_oldest(const std::string& folder) {
  const std::vector<SpoolFile> files = files_in(folder);
  std::uint64_t bytes = 0;
  for (const SpoolFile& file : files) bytes += file.bytes;
  std::size_t left = files.size();
  for (const SpoolFile& file : files) {
    if (left <= 1 || (left <= kMostSpoolFiles && bytes <= kMostSpoolBytes)) return;
    unlink((folder + "/" + file.name).c_str());
    bytes -= file.bytes;
    --left;
  }
}

}  // namespace

std::string spool_name(const std::string& run) {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    random = static_cast<std::uint64_t>(now.tv_nsec);
  }
  char text[64];
  snprintf(text, sizeof text, "%012lld-%ld-%016llx-", static_cast<long long>(time(nullptr)),
           static_cast<long>(getpid()), static_cast<unsigned long long>(random));
  return text + plain(run) + kSpoolSuffix;
}

Result<std::string> leave_in_spool(const Observation& observation, const std::string& folder,
                                   const std::string& given_name) noexcept {
  return guarded<std::string>([&] {
    if (folder.empty()) throw Fault{"no place for the spool: HOME is not set"};
    make_private_folder(folder);
    std::string name = given_name.empty() ? spool_name(observation.run) : given_name;
    std::string hidden = folder + "/." + name;
    std::string path = folder + "/" + name;
    std::string text = dump(to_json(observation));
    text += '\n';
    unlink(hidden.c_str());  // what a death left of the same one
    int descriptor =
        open(hidden.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) throw Fault{folder + ": " + error_text(errno)};
    try {
      write_all(descriptor, text);
    } catch (const Fault& fault) {
      close(descriptor);
      unlink(hidden.c_str());
      throw Fault{folder + ": " + fault.message};
    }
    if (close(descriptor) != 0 || rename(hidden.c_str(), path.c_str()) != 0) {
      int code = errno;
      unlink(hidden.c_str());
      throw Fault{folder + ": " + error_text(code)};
    }
    drop_oldest(folder);
    return path;
  });
}

}  // namespace iotune::patterndb
