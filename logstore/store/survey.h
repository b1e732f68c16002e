// What a look at a container's directory shows of its other writers, without reading any of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace iotune::logstore {

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
  };

  // Of all writers but `own`. `before`: an earlier survey, which saves the listing of a directory
  // that has not changed, or nullptr. 0 or -errno.
  static int take(int directory, const std::string& own, const Survey* before, Survey& to);

  // Have others told of more since? An index only grows, and files come and go.
  bool differs_from(const Survey& before) const;
  std::int64_t blocks() const;

  std::vector<Writer> others;          // by name
  std::int64_t directory_ns = 0;       // when the directory was changed
  bool names_may_have_changed = true;  // at once, without that its time has
};

}  // namespace iotune::logstore
