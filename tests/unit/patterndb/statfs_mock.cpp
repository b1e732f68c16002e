#include "tests/unit/patterndb/statfs_mock.h"

#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

extern "C" int statfs(const char* path, struct statfs* status) noexcept {
  long done = syscall(SYS_statfs, path, status);
  std::int64_t type = iotune::patterndb::testing::PretendFilesystem::g_type;
  if (done == 0 && type != 0) status->f_type = type;
  return static_cast<int>(done);
}
