// The prefetcher's objects in a program of their own, under whatever sanitizer the build has.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

namespace {

class PrefetchStub : public testing::TestWithParam<const char*> {};

TEST_P(PrefetchStub, ThreadsReadWhileTheHelperServesThem) {
  std::string pattern = (fs::temp_directory_path() / "iotune-stub-XXXXXX").string();
  const fs::path directory = mkdtemp(pattern.data());
  char buffers[] = "/dev/shm/iotune-stub-XXXXXX";  // the cache's table has to be in memory
  ASSERT_NE(mkdtemp(buffers), nullptr);
  const std::string command = "IOTUNE_DB=none IOTUNE_TRACE='" +
                              (directory / "run.iotrace").string() + "' IOTUNE_BUFFER_DIR='" +
                              buffers + "' XDG_STATE_HOME='" + directory.string() + "' " +
                              GetParam() + " '" + PREFETCH_STUB + "' '" + directory.string() +
                              "' 3 12 > '" + (directory / "out").string() + "'";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  int helpers = -1;
  std::ifstream(directory / "out") >> helpers;
  const std::string asked = GetParam();
  if (asked.find("cache") != std::string::npos) {
    EXPECT_GE(helpers, 1);  // and those that fill the cache
  } else {
    // Where there is a budget of the node's, another thread waits for the requests in it.
    EXPECT_EQ(helpers, asked.ends_with("ours") ? 2 : 1);
  }
  fs::remove_all(directory);
  fs::remove_all(buffers);
}

std::string name_of(const testing::TestParamInfo<const char*>& tested) {
  constexpr const char* kNames[] = {"pattern", "markov", "ours", "ppis", "cache", "ppis_cache"};
  return kNames[tested.index];
}

INSTANTIATE_TEST_SUITE_P(Modes, PrefetchStub,
                         testing::Values("IOTUNE_PREFETCH=pattern", "IOTUNE_PREFETCH=markov",
                                         "IOTUNE_PREFETCH=pattern IOTUNE_PREFETCH_SCHEDULE=ours",
                                         "IOTUNE_PREFETCH=pattern IOTUNE_PREFETCH_SCHEDULE=ppis",
                                         "IOTUNE_PREFETCH=pattern IOTUNE_PREFETCH_DELIVERY=cache",
                                         "IOTUNE_PREFETCH=pattern IOTUNE_PREFETCH_SCHEDULE=ppis "
                                         "IOTUNE_PREFETCH_DELIVERY=cache"),
                         name_of);

}  // namespace
