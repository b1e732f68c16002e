#include "logstore/read/listing.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "logstore/format.h"

namespace iotune::logstore {
namespace {

// The name of a writer, if the file is one of its two.
std::optional<std::string> writer_of(const std::string& name, const std::string& ending) {
  if (name.size() <= ending.size() || !name.ends_with(ending)) return std::nullopt;
  std::string writer = name.substr(0, name.size() - ending.size());
  if (!is_writer_name(writer.data(), writer.size())) return std::nullopt;
  return writer;
}

}  // namespace

std::optional<Error> list_container(int directory, std::size_t most, Listing& to) {
  // A descriptor of its own: closedir() closes it.
  const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : fdopendir(again),
                                                    [](DIR* open) { return closedir(open); });
  if (entries == nullptr) return failed("", "cannot be listed");
  errno = 0;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name == kMergedName) {
      to.has_merged = true;
    } else if (name == kNewMergedName) {
      to.has_new_merged = true;
    } else if (const auto log = writer_of(name, kLogEnding)) {
      to.writers[*log].log = true;
    } else if (const auto index = writer_of(name, kIndexEnding)) {
      to.writers[*index].index = true;
    } else if (name != "." && name != ".." && name != kReadmeName && name != kDescriptionName &&
               name != kHandleName) {
      to.strangers.push_back(name);
    }
    if (to.writers.size() > most || to.strangers.size() > most) {
      return Error{"", "has more files than the limit allows"};
    }
    errno = 0;
  }
  if (errno != 0) return failed("", "cannot be listed");
  std::ranges::sort(to.strangers);
  return std::nullopt;
}

}  // namespace iotune::logstore
