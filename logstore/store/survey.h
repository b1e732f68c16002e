// What a look at a container's directory shows of its other writers, without reading any of them.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "logstore/read/container_files.h"
#include "logstore/read/merged_index.h"

namespace iotune::logstore {

inline std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct Survey {
  struct File {
    ino_t inode = 0;  // 0: there is none
    std::int64_t bytes = 0;
    std::int64_t changed_ns = 0;
    std::int64_t blocks = 0;  // of 512 bytes
  };
  struct Writer {
    std::string name;
    File log;
    File index;
    // Of one that went on after it was covered by the merged index.
    std::int64_t covered_bytes = 0;
    analyzer::StreamEnd covered_end = {};
  };

  // Of all writers but `own`. `before`: an earlier survey, which saves the listing of a directory
  // that has not changed, or nullptr. 0 or -errno; -ENOTSUP for a merged index of a newer version.
  static int take(int directory, std::uint64_t container_id, const std::string& own,
                  const Survey* before, Survey& to);

  // Have others written more since? An index only grows, and files come and go.
  bool differs_from(const Survey& before) const;
  std::int64_t blocks() const;
  // Is there nobody else's index?
  bool is_alone() const { return others.empty() && !merged; }

  std::vector<Writer> others;  // by name; without those that the merged index covers
  MergedIdentity merged_file;
  std::shared_ptr<const MergedIndex> merged;  // nullptr: none, or a damaged one
  std::vector<std::int64_t> covered_log_bytes;
  std::string merged_damage;
  std::int64_t directory_ns = 0;       // when the directory was changed
  bool names_may_have_changed = true;  // at once, without that its time has

 private:
  int list(int directory, std::uint64_t container_id, const std::string& own, const Survey* before);
  // What the names and the merged index say is as it was.
  void take_names_of(const Survey& before);

  std::shared_ptr<const ContainerNames> listed_;
};

}  // namespace iotune::logstore
